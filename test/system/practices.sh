#!/bin/bash
# What frameworks do with a device, under rtexecd with the library that is preloaded, over a driver of CUDA in software: processes that together take
# more memory than there is.
set -u
. test/support/daemon.bash
enter "$1"
tests=$folder/test/preload
daemon=
trap 'kill $daemon 2>/dev/null; rm -rf "$work"' EXIT
serve() { # CAPACITY [CHUNK [STUCK_AFTER]], with chunks as $chunks says
  [ -z "$daemon" ] || { kill $daemon; wait $daemon; }
  write_daemon_file "$1" "${2-1MiB}" "command_timeout = '10s'
stuck_after = '${3-10s}'
chunks = '$chunks'"
  timeout 3000 "$folder/bin/rtexecd" d.toml >> log 2>&1 & daemon=$!
  await_socket
}
client() { # NAME PROGRAM ARGUMENTS...
  as_client "$1" timeout 600 "${@:2}"
}
practice() { # COUNT PRACTICE ARGUMENTS...: as many processes
  local count=$1 pids=() i; shift
  echo "-- $*, $count"
  LD_LIBRARY_PATH=$tests timeout 600 "$tests/practices" "$@" > alone 2>&1 || complain "$*, without the library: $(cat alone)"
  for ((i = 0; i < count; i++)); do client "c$i" "$tests/practices" "$@" & pids+=($!); done
  for ((i = 0; i < count; i++)); do
    wait "${pids[i]}" || complain "$*: process $i ended with $?: $(cat "c$i.out" "c$i.err"; cat log)"
    cmp -s alone "c$i.out" || complain "$*: process $i: $(cat "c$i.out" "c$i.err")"
  done
}

for chunks in shared separate; do
  echo "== $chunks chunks"
  serve 8MiB
  practice 3 stream-order 3 400
  practice 3 graphs 2 6
  practice 3 graph-copies 2 8
  practice 3 graph-memory 20
  [ "$(grep -c 'graph allocates is not managed' c0.err)" = 1 ] || complain "memory of a graph: $(cat c0.err)"
  export STAND_IN_END_MS=300
  for _ in 1 2 3; do practice 3 ends 4 3; done
  unset STAND_IN_END_MS
  practice 2 forks 2
  practice 2 executes 3
  practice 2 resets
  practice 2 destroys
  practice 2 asks
  practice 1 declares
  practice 3 pipeline 3 250
  practice 2 host-waits
  practice 3 contexts 8
  STAND_IN_DEVICES=2 practice 2 devices
  [ "$(grep -c 'devices other than the first' c0.err)" = 1 ] || complain "a second device: $(cat c0.err)"
  practice 2 shares
  [ "$(grep -c 'Run programs that share memory without RTEXEC_CLIENT' c0.err)" = 1 ] && [ "$(grep -c 'managed memory' c0.err)" = 1 ] || complain "handles: $(cat c0.err)"
  export STAND_IN_MEMORY=$((8 << 20))
  practice 1 segments-full
  unset STAND_IN_MEMORY
  serve 20MiB
  practice 3 segments 8 200
  practice 3 segments-hostile
  grep -h 'not managed' ./*.err && complain "chunks that the program maps itself are the driver's"
done
echo "-- who instantiates a large graph does not hold the device"
chunks=shared
serve 8MiB 1MiB 2s
STAND_IN_INSTANTIATE_MS=3000 practice 3 graphs 1 2

echo "-- a daemon with other chunks comes back"
serve 8MiB
mkfifo enough
client r "$tests/practices" restarts 2 < enough & pid=$!
exec 5> enough
await 'grep -qsx "at work" r.out'
serve 8MiB 2MiB
await 'grep -q "chunk = " r.err'
kill -0 $pid || complain "it did not wait: $(cat r.out r.err)"
serve 8MiB 1MiB
echo >&5
wait $pid && grep -qx 'done' r.out || complain "it did not go on: $(cat r.out r.err)"
[ "$(grep -c 'chunk = "2MiB", but .* in chunks of 1MiB' r.err)" = 1 ] || complain "it does not say so: $(cat r.err)"

echo "-- a daemon goes while its clients ask it for memory"
pids=()
for i in 1 2; do client "g$i" "$tests/practices" grows 6 & pids+=($!); done
for _ in 1 2 3; do sleep 0.25; serve 8MiB; done
for i in 1 2; do wait "${pids[i - 1]}" && grep -qx 'done' "g$i.out" || complain "$(cat "g$i.out" "g$i.err")"; done

echo "-- every way to a function, early and late"
for way in linked default handle address address2 entry version own runtime; do
  program=$tests/calls; [ $way != linked ] || program=$tests/calls-linked
  LD_LIBRARY_PATH=$tests timeout 60 "$program" $way > alone
  client c "$program" $way; cmp alone c.out || complain "$way: $(cat c.err)"
done
grep -q 'is ended' log && complain "a process was ended: $(cat log)"
exit $bad
