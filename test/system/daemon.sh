#!/bin/bash
# rtexecd with processes that are not ours, over a driver of CUDA in software: eight of them in less than half of the memory that they take, one of which is
# killed, and a daemon that is started again beneath them: as they come, and with deadlines that they declare. Who is too much is refused.
set -u
. test/support/daemon.bash
python=$(realpath rtexec/bindings/python)
enter "$1"
tests=$folder/test/preload
write_daemon_file 32MiB 2MiB
serve() {
  timeout 600 "$folder/bin/rtexecd" d.toml >> log 2>&1 & daemon=$!
  await 'grep -q listening log' || complain "rtexecd does not listen: $(cat log)"
}
stop() { # SIGNAL
  kill -"$1" $(pgrep -P $daemon); wait $daemon 2>/dev/null
  cat log >> all.log; : > log
}
sample_client() { # NAME MIB JOBS [PERIOD_MS [WCET_MS]]
  as_client "$1" exec timeout 500 "$tests/sample_client" "${@:2}"
}
eight() { # MIB JOBS [PERIOD_MS]: of which t8 is killed, and then the daemon by a signal
  pids=()
  for i in 1 2 3 4 5 6 7; do sample_client "t$i" "$@" & pids+=($!); done
  sample_client t8 "$1" 100000 "${@:3}" & pids+=($!) # it is there until it is killed
  await '[ "$(grep -c " is client " log)" -ge 8 ]'
  sleep 0.3
  kill -KILL "$(sed -n 's/^rtexecd: t8 (\([0-9]*\)) is client.*/\1/p' log)" || complain "nobody was there to be killed"
}
seven_ended_well() {
  local ended=0
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || ended=$((ended + 1)); done
  [ $ended = 1 ] || complain "$ended of 8 ended otherwise than they should: $(cat ./*.err ./*.out)"
}
trap 'kill $daemon 2>/dev/null; rm -rf "$work"' EXIT

echo "-- as they come"
LD_LIBRARY_PATH=$tests "$tests/sample_client" 8 300 > alone
serve
eight 8 300
stop TERM
serve
seven_ended_well
same=$(for i in 1 2 3 4 5 6 7 8; do cmp -s alone "t$i.out" && echo; done | wc -l)
[ "$same" = 7 ] || complain "$same of 7 have the results that they have alone"
stop TERM

echo "-- before the daemon"
(sample_client early 4 10) & early=$!
sleep 0.5
serve
wait $early || complain "it failed: $(cat early.*)"
stop TERM
grep -q '^rtexecd: early .* is client' all.log || complain "it was no client: $(cat early.*)"

echo "-- with deadlines, and a daemon that is killed"
serve
eight 8 4 5000
sleep 7
stop KILL
serve
seven_ended_well
stop TERM
for i in 1 2 3 4 5 6 7; do
  awk -v t="t$i" '$1 == "longest" { print t ": " $0 " of 5000"; late = $2 > 5000; told = 1 } END { exit late || !told }' "t$i.out" || complain "t$i was late by its own clock"
done
grep 'has ended' all.log | grep -v ' 0 too late, .* 0 failed' && complain "the daemon counts deadlines missed"
[ "$(grep -c ' is client ' all.log)" -ge 30 ] || complain "not all were clients again: $(cat all.log)"

echo "-- who is too much; cores stay awake"
write_daemon_file 32MiB 2MiB 'keep_awake = true'
printf '[[client]]\nname = "third"\nperiod = "2s"\nwcet = "1200ms"\n' >> d.toml
serve
(sample_client first 4 10 2000 1000) & first=$!
await 'grep -q "first is promised" log'
(sample_client second 4 30 2000 1200); [ $? = 3 ] || complain "the second was not refused: $(cat second.*)"
cat second.out
grep -q "^not declared: task 'second (1)' does not fit: the tasks need .*ms in each second of the device" second.out ||
  complain "it does not say by which numbers: $(cat second.out)"
(sample_client third 4 30) && complain "one that a rule declares and that is refused has the device all the same: $(cat third.*)"
grep -q "does not fit" third.err && grep -q 'neither memory nor time' third.err || complain "it is not told: $(cat third.err)"
grep -qx 'failed: allocate: 800' third.out || complain "it has results: $(cat third.out)"
wait $first || complain "the first one: $(cat first.*)"
stop TERM
grep 'first.*has ended' all.log | grep -q ' 0 too late' || complain "the first one was late: $(grep first all.log)"

echo "-- a program that is started again and again"
serve
(sample_client beside 4 60 200 90) & beside=$!
await 'grep -q "beside is promised" log'
for i in $(seq 20); do
  (sample_client again 4 1 200 70) || complain "the ${i}th time: $(cat again.*)"
done
wait $beside || complain "beside them: $(cat beside.*)"
stop TERM
grep -E '(again|beside) .*has ended' all.log > ended
[ "$(wc -l < ended)" = 21 ] || complain "not all 21 were served: $(grep -E 'again|beside' all.log)"
if grep -v ' 0 overran' ended; then echo "a machine too slow for these WCETs: nothing is promised"
else grep -v ' 0 too late' ended && complain "they were late, though nobody overran"; fi

echo "-- wrong input"
serve
expect 2 'no.toml: error: cannot read it' "$folder/bin/rtexecd" no.toml
printf '[daemon]\nplaces = 0\n' > e.toml
expect 2 'places = 0' "$folder/bin/rtexecd" e.toml
expect 5 'another daemon is using it' timeout 60 "$folder/bin/rtexecd" d.toml
sed 's/"run"/"other"/' d.toml > e.toml
printf '[[client]]\nname = "little"\nmemory = "1MiB"\n' >> e.toml
expect 2 "client 'little': memory = \"1MiB\": less than one chunk, 2MiB" timeout 60 "$folder/bin/rtexecd" e.toml

echo "-- nobody reads what it says"
stop TERM
(timeout 300 "$folder/bin/rtexecd" d.toml | head -1 > first.log) & piped=$!
await_socket; sleep 0.5
for client in one two; do as_client $client timeout 60 "$tests/sample_client" 1 1; done
expect 0 '; 2 came' "$rtexec" ps --daemon run
kill $(pgrep -P $piped -x timeout) 2>/dev/null

echo "-- more chunks than a shell lets programs have files"
write_daemon_file 200MiB 1MiB
sed -i 's/"run"/"many"/' d.toml
(ulimit -Sn 64; exec "$folder/bin/rtexecd" d.toml > many.log 2>&1) & daemon=$!
await 'grep -q listening many.log'
kill $daemon; wait $daemon; status=$?
expect 0 'listening at many/socket, 200 chunks' bash -c "cat many.log; exit $status"

echo "-- a name that no client can have"
for name in "$(printf 'n%.0s' $(seq 64))" $'a\nb' hörer; do
  RTEXEC_CLIENT=$name RTEXEC_DAEMON=$work/run LD_PRELOAD=$folder/lib/librtexec-preload.so LD_LIBRARY_PATH=$tests "$tests/sample_client" 1 1 2>&1 |
    grep -q 'RTEXEC_CLIENT must have at most 63 characters of printable ASCII' || complain "name $name"
done
RTEXEC_CLIENT=hörer RTEXEC_DAEMON=$work/run LD_PRELOAD=$folder/lib/librtexec-preload.so PYTHONPATH=$python python3 -c 'import rtexec_client
try: rtexec_client.begin()
except rtexec_client.Error as error: print(error)' 2> /dev/null | grep -q 'is not a client' || complain "a job of a process that is refused"
exit $bad
