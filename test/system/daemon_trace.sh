#!/bin/bash
# A recording of rtexecd: its clients are tasks of rtexec analyze, with as many jobs as the daemon counted, also where one of them was killed.
set -u
. test/support/daemon.bash
enter "$1"
tests=$folder/test/preload
ask() { python3 -c "import json; d = json.load(open('$1')); print($2)"; } # FILE.json EXPRESSION
write_daemon_file 32MiB 2MiB
trap 'kill $daemon ${killed-} 2>/dev/null; wait; rm -rf "$work"' EXIT
timeout 600 "$folder/bin/rtexecd" d.toml --trace recording > log 2>&1 & daemon=$!
await_socket
sample_client() { # NAME MIB JOBS [PERIOD]: in the background its number is that of `timeout`, which hands signals on
  as_client "$1" exec timeout -s KILL 500 "$tests/sample_client" "${@:2}"
}
sample_client front 4 12 100 & front=$!
sample_client rear 8 200 & rear=$!
sample_client side 8 200 & side=$!
sample_client killed 8 100000 & killed=$!
for each in $front $rear $side; do wait $each || { echo "a client failed: $(cat ./*.out ./*.err)"; bad=1; }; done
kill -KILL "$(pgrep -P $killed -x sample_client)" # a child of a child of this script
wait $killed 2>/dev/null
await '[ "$(grep -c "has ended" log)" = 4 ]'
kill $daemon; wait $daemon
expect 0 '^rtexecd: recorded [0-9]+ events, 0 lost: ' cat log

expect '0 4' 'Replay: not done: decisions of a daemon are not recorded' "$rtexec" analyze recording --json a.json --html a.html --svg a.svg --perfetto a.perfetto --csv csv
expect 0 '^0 True$' ask a.json "d['lost']['events'], d['replay']['difference'] is None"
# Each client's jobs, as it is told of in the log, and late ones.
python3 - <<'END' || bad=1
import json, re
found = json.load(open("a.json"))
log = open("log").read()
for name in ("front", "rear", "side", "killed"):
    counted = re.search(rf"^rtexecd: {name} \(\d+\) has ended: (\d+) jobs, (\d+) too late", log, re.M)
    tasks = [t for t in found["tasks"] if t["name"].startswith(name + " (")]
    completed, missed = sum(t["completed"] for t in tasks), sum(t["missed"] for t in tasks)
    invalid = [t["invalid"] for t in tasks if t["invalid"]]
    print(name, len(tasks), "tasks,", completed, "jobs, of", counted[1], "missed", missed, "of", counted[2], invalid)
    aborted = missed - int(counted[2])
    if completed != int(counted[1]) or invalid or aborted not in ((0, 1) if name == "killed" else (0,)):
        raise SystemExit(f"{name}: the recording and the daemon differ")
declared = [t for t in found["tasks"] if t["name"].startswith("front")]
assert len(declared) == 2 and declared[1]["completed"] >= 10, declared
setups = [t["setup"] for t in declared]
assert [s["promised"] for s in setups] == [False, True] and setups[1]["deadline_ns"] == 100_000_000, setups
assert found["swap"]["in"] > 0 and found["swap"]["out"] > 0, found["swap"]
assert next(r for r in found["resources"] if r["name"] == "device")["busy_ns"] > 0
END
for name in front rear side killed; do grep -q "$name (" a.svg && grep -q "$name (" a.html || { echo "$name is in no picture"; bad=1; }; done
[ -s a.perfetto ] && [ "$(wc -l < csv/jobs.csv)" -gt 200 ] || { echo "an export is empty"; bad=1; }
events() { python3 - "$1" <<'END'
import subprocess, sys
text = subprocess.run(["babeltrace2", "recording"], capture_output=True, text=True).stdout
print(sum(f'what = "{sys.argv[1]}' in line for line in text.splitlines() if ":client_change:" in line))
END
}
expect 0 '^4$' events came
expect 0 '^4$' events ended
expect 0 '^1$' events declared

echo "-- a signal before it listens"
write_daemon_file 1GiB 256KiB
timeout 600 "$folder/bin/rtexecd" d.toml --trace early > log 2>&1 & daemon=$!
await '[ -d early/ust/uid ]'
kill $daemon; wait $daemon; status=$?
[ $status = 0 ] && grep -q '^rtexecd: recorded [0-9]* events, 0 lost' log || { echo "it ended with $status: $(cat log)"; bad=1; }

echo "-- a disk that becomes full"
write_daemon_file 32MiB 2MiB
mkdir disk
export -f await
if unshare -m mount -t tmpfs -o size=18m full disk 2>/dev/null; then
  status=$(unshare -m bash -c 'mount -t tmpfs -o size=18m full disk
    timeout 600 "$0" d.toml --trace disk/recording > log 2>&1 & daemon=$!
    await "[ -S run/socket ]"
    head -c 20m /dev/zero > disk/other 2>/dev/null
    kill $daemon; wait $daemon; echo $?' "$folder/bin/rtexecd")
  [ "$status" = 5 ] && grep -q 'the disk of .* is full' log || { echo "it ended with $status: $(cat log)"; bad=1; }
fi

expect 2 'requires|needs' "$folder/bin/rtexecd" d.toml --trace-limit 1MiB
expect 2 'trace-limit much' timeout 60 "$folder/bin/rtexecd" d.toml --trace other --trace-limit much
exit $bad
