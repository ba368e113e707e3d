#!/bin/bash
# A board asked item by item: TAP that prove reads, JSON, a page, what changed, the board's tree, and what ends it early.
set -u
. test/support/expect.bash
assemble=$PWD/test/hal/assemble-root
enter "$1"
read_items="identity kernel real-time clocks thermal power"

# Valid TAP, as prove reads it: a failure of this machine is one of prove's too.
"$rtexec" bringup $read_items > read.tap 2> read.err; status=$?
expect '0 1' "Tests=$(sed -n 's/^1\.\.//p' read.tap)," prove -v --exec cat read.tap
prove -v --exec cat read.tap 2>&1 | grep -E 'Parse errors|No plan|Bad plan|out of sequence' && bad=1
expect '0 1' 'Files=2, Tests=6' prove --exec "$rtexec bringup" kernel identity
failed=$(grep -c '^not ok' read.tap)
[ "$status" = "$([ "$failed" = 0 ] && echo 0 || echo 5)" ] || { echo "exit $status with $failed failures"; bad=1; }
[ "$(head -1 read.tap)" = 'TAP version 13' ] || { echo "no version:"; head -3 read.tap; bad=1; }

# All of it: every item by name, in its JSON too; a failure says what to change, nothing that was skipped passed.
timeout 600 "$rtexec" bringup --json all.json --html all.html > all.tap 2> all.err; status=$?
grep -qw "$status" <<<'0 5' || { echo "exit $status"; cat all.tap all.err; bad=1; }
prove -Q --exec cat all.tap >proved 2>&1; grep -q 'Parse errors' proved && { cat proved; bad=1; }
python3 - all.json all.tap all.html <<'EOP' || bad=1
import json, re, sys
report, tap, page = json.load(open(sys.argv[1])), open(sys.argv[2]).read(), open(sys.argv[3]).read()
for key in ("board", "machine", "version", "time", "emulated", "passed", "failed", "skipped", "items"):
    if key not in report: sys.exit(f"the report has no {key}")
items = report["items"]
lines = re.findall(r"^(ok|not ok) (\d+) - ([^:#\n]*?)(?:: | # (SKIP) )", tap, re.M)
if [(i["name"], i["outcome"]) for i in items] != [(name.strip(), "skipped" if skip else "passed" if ok == "ok" else "failed") for ok, _, name, skip in lines]:
    sys.exit(f"JSON and TAP differ: {lines}")
if [int(number) for _, number, _, _ in lines] != list(range(1, len(items) + 1)) or f"1..{len(items)}\n" not in tap: sys.exit("numbers")
for item in items:
    if not item["state"]: sys.exit(f"{item['name']} says nothing")
    if (item["outcome"] == "failed") != bool(item["advice"]): sys.exit(f"{item['name']} is {item['outcome']} with the advice {item['advice']!r}")
    if item["title"] not in page: sys.exit(f"the page lacks {item['name']}")
for outcome in ("passed", "failed", "skipped"):
    if report[outcome] != sum(i["outcome"] == outcome for i in items): sys.exit(f"{outcome} is miscounted")
if len(items) < 20: sys.exit("items are missing")
if re.search(r"https?://|<script", page): sys.exit("the page needs something else")
EOP
grep -q ' s left' all.err || { echo "no time left:"; cat all.err; bad=1; }

# Against an earlier report: itself, one that passed more, one with better figures, one of another board.
expect '0 5' '# Compared with the report of board .host., [-0-9TZ:]*: nothing changed' "$rtexec" bringup identity real-time --against all.json
sed 's/"outcome": "failed"/"outcome": "passed"/' all.json > better.json
if [ "$(grep -c '^not ok .* - real-time/' all.tap)" != 0 ]; then
  expect 4 '# real-time/[a-z-]*: passed before, fails now' "$rtexec" bringup real-time --against better.json --json changed.json
  expect 0 '"lost": true' cat changed.json
fi
python3 -c '
import json
report = json.load(open("all.json"))
for item in report["items"]:
    for figure in item["figures"]: figure["value"] /= 1000
json.dump(report, open("faster.json", "w"))'
expect '0 5' '# kernel/timers: least oversleep was .*, is .* worse\)' "$rtexec" bringup kernel/timers --against faster.json --html changed.html
expect 0 'Since the earlier report' cat changed.html
sed 's/"board": "host"/"board": "tx2"/' all.json > other.json
expect '0 5' 'Compared with the report of board .tx2., .*another board' "$rtexec" bringup identity --against other.json

# A board that is named, and the software device in place of its own.
"$assemble" tx2-r32 tx2-r32
if [ ! -e /proc/device-tree/compatible ]; then
  expect 0 "^ok 1 - identity/board # SKIP no device tree .* taken as board 'tx2'" "$rtexec" bringup identity/board --board tx2
  expect 5 '^not ok 1 - kernel/command-line: lacks isolcpus=1-5' "$rtexec" bringup kernel/command-line --board tx2
  expect 0 "^ok 1 - device/rules # SKIP the software device replaces the device of board 'tx2'" \
    "$rtexec" bringup device --board tx2 --device host
fi
expect 0 '^{' bash -c "'$rtexec' bringup identity --json - 2>/dev/null"
expect 0 '^TAP version 13' bash -c "'$rtexec' bringup identity --json - 2>&1 >/dev/null | cat"

# The tree of this machine stands in for it.
expect 0 '^# recorded [0-9]* files in tree; [0-9]* could not be copied: not-recorded.txt' "$rtexec" bringup identity --record tree
"$rtexec" probe > here.txt; "$rtexec" probe --root tree > there.txt
steady() { grep -vE 'hypervisor|^ *Pin|counted|clock|sensor' "$1"; }
diff <(steady here.txt) <(steady there.txt) || { echo "the recorded tree says something else"; bad=1; }
find tree -type l -o -size +1024k | grep . && bad=1
expect 2 'not empty' "$rtexec" bringup identity --record tree
expect 5 'cannot make this folder' "$rtexec" bringup identity --record /proc/tree

# Ctrl-C ends it within seconds, with TAP that says so; an earlier report stays, and no folder.
cp all.json stopped.json
for signal in INT TERM; do
  rm -f stopped.err
  "$rtexec" bringup real-time/throttling latency deadlines --json stopped.json > stopped.tap 2> stopped.err & pid=$!
  await 'grep -qs "release latency" stopped.err'
  expect_cancelled "$signal" $pid stopped.err
  expect 0 '^Bail out! interrupted' tail -1 stopped.tap
  expect '1 255' 'Bailout called|FAILED' prove --exec cat stopped.tap
done
expect 0 '' cmp all.json stopped.json

# So does one that comes to it alone while a process of its own measures, which leaves this machine as it was.
settings() { cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_{governor,min_freq,max_freq} /sys/devices/system/cpu/cpu*/cpuidle/state*/disable \
  /proc/sys/kernel/sched_rt_{runtime,period}_us 2>/dev/null; ls -d /sys/fs/cgroup/*rtexec* /sys/fs/cgroup/*/*rtexec* 2>/dev/null; }
before=$(settings)
rm -f stopped.err
"$rtexec" bringup deadlines --json stopped.json > stopped.tap 2> stopped.err & pid=$!
await 'child=$(pgrep -P "$pid" -x rtexec)'
sleep 1
expect_cancelled INT $pid stopped.err
[ -n "$child" ] && [ ! -e "/proc/$child" ] || { echo "the process of the item goes on: '$child'"; bad=1; }
[ "$(settings)" = "$before" ] || { echo "settings of this machine are left changed"; diff <(echo "$before") <(settings); bad=1; }

# Nothing is measured beside a run, and what is read may be asked all the same.
{ printf '[executive]\nduration="60s"\nallow_degraded=true\n'; task a 200ms 2ms; } > beside.toml
"$rtexec" run beside.toml --force > beside.log 2>&1 & pid=$!
await 'grep -qs " of 60.0 s" beside.log'
expect 5 'another run of rtexec, process [0-9]*' "$rtexec" bringup latency identity
expect 5 'can run at the same time: rtexec bringup identity kernel real-time clocks thermal power' "$rtexec" bringup
expect 0 '^ok 1 - identity/board' "$rtexec" bringup identity
kill -INT $pid; wait $pid

# What cannot be is told before anything is asked.
expect 2 "'kernel/preemtion': no item has this name; did you mean 'kernel/preemption'" "$rtexec" bringup kernel/preemtion
expect 2 'known: identity, identity/board' "$rtexec" bringup xyzzy
expect 2 'no board has this name' "$rtexec" bringup --board nosuch
expect 2 'not-there' "$rtexec" bringup --against not-there
printf '{"items": 3}' > none.json
expect 2 'none.json: error: not a report of rtexec bringup' "$rtexec" bringup --against none.json
expect 2 'device' "$rtexec" bringup --device cuda
expect 2 'folder' "$rtexec" bringup --folder /not/there
expect 5 'cannot write' "$rtexec" bringup identity --json /not/there.json
expect 5 'cannot write' "$rtexec" bringup identity --html /not/there.html
expect 5 'cannot create a folder in it.*' "$rtexec" bringup identity --folder /proc
expect 5 'cannot write to standard output' bash -c "'$rtexec' bringup identity >/dev/full"
ls -d rtexec-bringup-* 2>/dev/null && { echo "a folder is left"; bad=1; }
exit $bad
