#!/bin/bash
# rtexecd with processes that are not ours, over a driver of CUDA in software: eight of them in half of the memory that they take, one of which is
# killed, and a daemon that is started again beneath them.
set -u
. test/support/expect.bash
enter "$1"
tests=$folder/test/preload
complain() { echo "$*"; bad=1; }
cat > d.toml <<'END'
board = "host"
[daemon]
directory = "run"
best_effort_wcet = "20ms"
[device]
capacity = "32MiB"
chunk = "2MiB"
[device.swap_cost]
in_per_chunk = "2ms"
out_per_chunk = "2ms"
END
serve() {
  timeout 90 "$folder/bin/rtexecd" d.toml >> log 2>&1 & daemon=$!
  for _ in $(seq 100); do [ ! -S run/socket ] || return 0; sleep 0.05; done
  complain "rtexecd does not listen: $(cat log)"
}
tenant() { # NAME MIB JOBS
  LD_LIBRARY_PATH=$tests LD_PRELOAD=$folder/lib/librtexec-preload.so RTEXEC_DAEMON=$work/run RTEXEC_CLIENT=$1 \
    timeout 80 "$tests/tenant" "$2" "$3" > "$1.out" 2> "$1.err"
}
trap 'kill $daemon 2>/dev/null; rm -rf "$work"' EXIT

LD_LIBRARY_PATH=$tests "$tests/tenant" 8 150 > alone
serve
pids=()
for i in 1 2 3 4 5 6 7 8; do tenant "t$i" 8 150 & pids+=($!); done
sleep 0.4
kill -KILL "$(sed -n 's/^rtexecd: t8 (\([0-9]*\)) is client.*/\1/p' log)" || complain "nobody was there to be killed"
kill $daemon; wait $daemon || true
serve
ended=0
for pid in "${pids[@]}"; do wait "$pid" || ended=$((ended + 1)); done
[ $ended = 1 ] || complain "$ended of 8 ended otherwise than they should: $(cat ./*.err)"
same=$(for i in 1 2 3 4 5 6 7 8; do cmp -s alone "t$i.out" && echo; done | wc -l)
[ "$same" = 7 ] || complain "$same of 7 have the results that they have alone"
grep -q 'is client 7' log || complain "not all were clients: $(cat log)"

echo "-- wrong input"
expect 2 'no.toml: error: cannot read it' "$folder/bin/rtexecd" no.toml
printf '[daemon]\nplaces = 0\n' > e.toml
expect 2 'places = 0' "$folder/bin/rtexecd" e.toml
expect 5 'another daemon listens there' timeout 10 "$folder/bin/rtexecd" d.toml
exit $bad
