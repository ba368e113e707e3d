#!/bin/bash
# The library that is preloaded into programs that are not ours, over a driver and a runtime of CUDA in software: it is found on every way to a
# function, and without a daemon nobody notices it.
set -eu
. test/support/expect.bash
table=$(realpath rtexec/sharing/preload/call_table.inc)
enter "$1"
library=$folder/lib/librtexec-preload.so tests=$folder/test/preload
export LD_LIBRARY_PATH=$tests
complain() { echo "$*"; bad=1; }
preloaded() { LD_PRELOAD=$library timeout 120 "$@"; }
taking_part() { RTEXEC_CLIENT=test RTEXEC_DAEMON=$work/run preloaded "$@"; }
printf 'board = "host"\n[daemon]\ndirectory = "run"\n[device]\ncapacity = "4MiB"\nchunk = "1MiB"\n' > d.toml
timeout 3000 "$folder/bin/rtexecd" d.toml > log 2>&1 & daemon=$!
trap 'kill $daemon 2>/dev/null; rm -rf "$work"' EXIT
await '[ -S run/socket ]'

echo "-- exported names"
{ echo dlsym; printf 'rtexec_client_%s\n' job_begin job_declare job_end last_error; sed -n 's/^FUNCTION(\([^,]*\),.*/\1/p' "$table"; } | LC_ALL=C sort > named
nm -D --defined-only "$library" | sed 's/.* //' | LC_ALL=C sort > exported
diff named exported || complain "the library exports other names than the table has"
readelf -d "$library" | grep NEEDED | grep -vE 'lib[cm]\.so|ld-linux' && complain "the library needs more than the C library"

echo "-- passed on unchanged, said once"
ways="default handle address address2 entry version own runtime"
for way in linked $ways; do
  program=$tests/calls; [ $way != linked ] || program=$tests/calls-linked
  timeout 120 "$program" $way > alone
  for client in "" unheard-of; do
    RTEXEC_CLIENT=$client RTEXEC_DAEMON=$work/none preloaded "$program" $way > out 2> errors || complain "$way ended with $?"
    cmp alone out || complain "$way gives other results"
    [ "$(grep -c '^rtexec: ' errors)" = 1 ] && [ "$(wc -l < errors)" = 1 ] || { complain "$way, client '$client':"; cat errors; }
  done
  RTEXEC_CLIENT= preloaded "$program" $way tell 2> errors | grep preload | grep -v '^cu.* in librtexec-preload.so$' && complain "$way"
done
RTEXEC_CLIENT= preloaded true 2> errors; [ ! -s errors ] || complain "a program without CUDA hears of the library"

timeout 120 "$tests/sample_client" 16 20 > much
preloaded "$tests/sample_client" 16 20 > out 2> errors; cmp much out || complain "a program with much memory gives other results"

echo "-- found on every way"
for way in linked $ways; do
  [ $way != runtime ] || continue
  program=$tests/calls; [ $way != linked ] || program=$tests/calls-linked
  taking_part "$program" $way tell > out 2> errors
  for name in cuMemAlloc cuMemFree cuMemcpyHtoD cuMemcpyDtoHAsync cuLaunchKernel cuStreamSynchronize cuCtxSynchronize; do
    grep -q "^$name in librtexec-preload.so$" out || complain "$way: $(grep "^$name " out)"
  done
  for name in cuInit cuCtxSetCurrent cuModuleLoadData; do grep -q "^$name in libcuda.so.1$" out || complain "$way: $(grep "^$name " out)"; done
  grep -qx "$(grep ^digest alone)" out || complain "$way gives other results"
done
LD_PRELOAD=$library RTEXEC_CLIENT= timeout 120 "$tests/calls" handle tell 2> /dev/null | grep preload && complain "functions of ours without a daemon"

echo "-- questions that dlsym is asked"
timeout 120 "$tests/questions" > alone
preloaded "$tests/questions" > out 2> errors; diff alone out || complain "other answers without a daemon"
taking_part "$tests/questions" > out 2> errors
sed -E 's/^(cuMemAlloc of (3020|12000|13000)|cuCtxSynchronize of (2000|3020|12000|13000|14000)): 0 .*/\1: 0 librtexec-preload.so/' alone | diff - out ||
  complain "other answers"
grep -q 'cuMemAlloc of CUDA 14.0 is not known' errors || complain "an unknown version is not told of: $(cat errors)"
(export LD_LIBRARY_PATH=; timeout 120 "$tests/questions" > alone; taking_part "$tests/questions" > out 2> errors; diff alone out) || complain "other answers without a driver"

echo "-- weak references: 34 is what a program hears without a driver, and 201 without a context"
[ "$(timeout 120 "$tests/questions" weak)" = "-1, then with a driver -1" ] || complain "alone"
for client in preloaded taking_part; do
  [ "$($client "$tests/questions" weak 2> /dev/null)" = "34, then with a driver 201" ] || complain "$client: $($client "$tests/questions" weak 2>&1)"
  [ "$(LD_LIBRARY_PATH= $client "$tests/questions" weak 2> /dev/null)" = "34, then without a driver 34" ] || complain "$client, without a driver"
done

echo "-- an allocator that asks dlsym"
for both in "$library:$tests/libearly.so" "$tests/libearly.so:$library"; do
  LD_PRELOAD=$both timeout 120 "$tests/calls" handle 2> /dev/null | grep -q '^digest' || complain "LD_PRELOAD=$both"
done

echo "-- what a call costs without a daemon"
least() { for ((i = 0; i < 5; i++)); do "$@" 2> /dev/null; done | sort -n | head -1; }
for ((try = 0; try < 10; try++)); do
  alone=$(least "$tests/calls-linked" cost) with=$(least preloaded "$tests/calls-linked" cost)
  awk -v a="$alone" -v w="$with" 'BEGIN { printf "%s ns alone, %s ns with the library\n", a, w; exit !(w < a * 1.1) }' && break
done
[ $try -lt 10 ] || complain "it costs more than a tenth of a short call"

echo "-- what a launch costs with a daemon, in a job"
export STAND_IN_DROPS=1 RTEXEC_DAEMON=$work/run
of_one_job() { grep -c 'test.* has ended: 1 jobs' log; } # a thread that is held up ends its job early
for ((try = 0; try < 10; try++)); do
  alone=$(least "$tests/calls-linked" launches) with=$(RTEXEC_CLIENT="test" least preloaded "$tests/calls-linked" launches)
  awk -v a="$alone" -v w="$with" 'BEGIN { printf "%s ns alone, %s ns as a client\n", a, w; exit !(w < a + 60) }' && [ "$(of_one_job)" -ge 5 ] && break
done
[ $try -lt 10 ] || complain "it costs more than 60 ns, or they were no clients: $(cat log)"
exit $bad
