#!/bin/bash
# `check` is the gate of `run`: in each situation both end with the same code. What this machine cannot bring about is named and left out.
set -u
. test/support/expect.bash
enter "$1"; chmod 755 .
cp "$rtexec" program; chmod 755 program
count=0

# Whether a run began, not how it went, is the question: its 4, a busy machine's late job, counts as 0.
same() { # SITUATION EXPECTED SET [PREFIX...]: PREFIX is a command that runs a command
  local situation=$1 expected=$2 set=$3; shift 3
  local check run
  "$@" ./program check "$set" > check.log 2>&1; check=$?
  "$@" ./program run "$set" --duration 60ms > run.log 2>&1; run=$?
  [ $run != 4 ] || run=0
  count=$((count + 1))
  [ $check = $run ] && [ $check = "$expected" ] && return
  echo "$situation: check ends with $check, run with $run, expected $expected"; cat check.log run.log; bad=1
}
said() { # PATTERN: in what the last check said, whose lines are wrapped
  tr '\n' ' ' < check.log | sed 's/  */ /g' | grep -qE -- "$1" || { echo "check did not say /$1/:"; cat check.log; bad=1; }
}
skip() { echo "not tried: $1: $2"; }
set_of() { # NAME [TASK_LINES] [LINES]
  { printf '[executive]\n%s\n' "${3-}"; task a 50ms 2ms "${2-}"; } > "$1.toml"
}
degraded='allow_degraded=true'

set_of good
./program probe good.toml > probe.log || { echo "skipped: this machine does not run a small set: $(grep -A1 missing probe.log)"; exit 77; }
same 'nothing is missing' 0 good.toml

# What is wrong with the set.
printf '[[task]]\nname="a"\nperiod=' > broken.toml
same 'the file is no TOML' 2 broken.toml
same 'there is no file' 2 absent.toml
set_of input 'trigger="input"'
same 'an input releases the task, and there is none' 2 input.toml
set_of releases 'releases=["10ms"]'
same 'releases are listed for the simulator' 2 releases.toml
printf '[[task]]\nname="a"\nmodel="absent.onnx"\nperiod="100ms"\nwcet="2ms"\n' > model.toml
same 'the model is missing' 2 model.toml
set_of profile; sed -i '/^wcet/d' profile.toml
same 'no execution time is known' 2 profile.toml
set_of late 'deadline="2ms"'
same 'the set is not proved' 3 late.toml

# Folders and files.
./program model yolov3-tiny --size 32 -o net.onnx > /dev/null
net() { # NAME OUTPUTS [LINES] [SECTIONS]
  printf '[executive]\n%s\n%s\n[[task]]\nname="net"\nmodel="net.onnx"\nperiod="500ms"\nwcet="300ms"\nwcet_before="20ms"\nwcet_after="20ms"\n%s\n' "${3-}" "${4-}" "$2" > "$1.toml"
}
net files 'outputs=[{to="file:results"}]'
same 'results go to a folder' 0 files.toml
same 'results of earlier runs are there' 0 files.toml
set_of traced '' '[output]
trace="traces"'
if grep -q 'ok. LTTng' probe.log; then
  same 'a trace goes to a folder' 0 traced.toml
  same 'traces of earlier runs are there' 0 traced.toml
  expect '0 4' 'all observed values are within|none, since the plan|BREACH' ./program analyze traces/latest
  expect 0 '^3$' bash -c 'ls traces | wc -l'
else skip 'traces' 'LTTng is missing'; fi
expect 0 '^3$' bash -c 'ls results | wc -l' # two runs, and the link
touch file
net below 'outputs=[{to="file:file/results"}]'
same 'the folder would be below a file' 5 below.toml
mkdir -p taken/latest
net taken 'outputs=[{to="file:taken"}]'
same 'latest is a folder of somebody else' 2 taken.toml
net twice 'outputs=[{tensor="detections", to="file:both"}, {to="file:both/"}]'
same 'two outputs of a task in one folder' 2 twice.toml
net camera 'inputs=[{from="v4l2:/dev/no-camera"}]'
same 'the camera is missing' 5 camera.toml
for output in 'json="absent/report.json"' 'jobs="absent/jobs.csv"' 'trace="file/trace"'; do
  set_of output '' "[output]
$output"
  same "[output] $output" 5 output.toml
done
set_of stdout '' '[output]
json="-"
jobs="-"'
same 'two files on standard output' 2 stdout.toml

# Boards.
for board in rtx orin; do
  { printf 'board="%s"\n' $board; cat good.toml; printf '[device]\ncapacity="64MiB"\n'; } > $board.toml
done
if ./program probe --board rtx 2>/dev/null | grep -q 'no NVIDIA driver'; then
  same 'the driver is missing' 5 rtx.toml
  said 'no NVIDIA driver'
  printf 'board="rtx"\n[daemon]\ndirectory="run"\n[device]\ncapacity="64MiB"\nchunk="2MiB"\n' > daemon.toml
  expect 5 'no NVIDIA driver' timeout 60 "$folder/bin/rtexecd" daemon.toml
else skip 'a missing driver' 'there is one'; fi
same 'the board is another machine' 5 orin.toml
said 'This machine was not checked|No device tree says that this machine is board .orin.'
./program probe --json here.json > /dev/null
./program check good.toml --machine here.json > check.log || { echo "check --machine fails"; bad=1; }
said 'This machine was not checked .*--machine'

# Cores, memory and limits.
set_of nowhere 'core=1000'
same 'a core that is not there' 5 nowhere.toml
if [ "$(nproc)" -gt 1 ]; then
  same 'one core' 3 good.toml taskset -c 0
  said "board 'host' needs two cores: .* got only core 0"
else skip 'one core' 'there is no other'; fi
limited() { # LIMIT...: of ulimit
  bash -c 'ulimit '"$1"'; exec "${@:2}"' - "$@"
}
same 'few files may be open' 5 good.toml limited '-n 8'
said '`ulimit -n`'
same 'little address space' 5 good.toml limited '-v 200000'
said '`ulimit -v'
printf '[executive]\n[device]\ncapacity="100TiB"\n' > large.toml; task a 50ms 2ms >> large.toml
same 'more memory than the board has' 2 large.toml
{ printf '[executive]\n[bandwidth]\nbest_effort="10MB/s"\nevent="no-such-event"\n'; task a 50ms 2ms; } > budget.toml
same 'an event that no core counts' "$(./program run budget.toml --duration 60ms > /dev/null 2>&1; echo $?)" budget.toml

./program run good.toml --duration 60s > first.log 2>&1 & first=$!
trap 'kill -KILL $first 2>/dev/null; rm -rf "$work"' EXIT
if await "./program top $first --once --json - 2>/dev/null | grep -q '\"released\": [1-9]'"; then same 'another run has the cores' 5 good.toml
else skip 'another run' "it did not start: $(tail -n 1 first.log)"; fi
kill -KILL $first; wait $first 2>/dev/null

# Rights, and what root alone can take away.
set_of may '' "$degraded"
net private 'outputs=[{to="file:private/results"}]' "$degraded"
if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null; then
  nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all bash -c 'ulimit -l 64 -r 0; exec "$@"' - "$@"; }
  without() { # CAPABILITY COMMAND...
    setpriv --bounding-set="-$1" --inh-caps="-$1" bash -c 'ulimit -l 64 -r 0; exec "$@"' - "${@:2}"
  }
  mkdir -m 700 private
  same 'a user without rights' 5 good.toml nobody
  same 'a user without rights, which the set allows' 0 may.toml nobody
  same 'a folder of somebody else' 5 private.toml nobody
  same 'no right to SCHED_FIFO' 5 good.toml without sys_nice
  same 'little locked memory' 5 good.toml without ipc_lock
else skip 'a user without rights' 'needs root and setpriv'; fi

# Control groups, of both versions.
printf '[executive]\n' > busy.toml; task a 100ms 60ms >> busy.toml
quota=/sys/fs/cgroup/cpu/rtexec-gate-$$
if mkdir "$quota" 2>/dev/null; then
  trap 'kill -KILL $first 2>/dev/null; rmdir "$quota"; rm -rf "$work"' EXIT
  throttled() { bash -c 'echo $$ > '"$quota"'/cgroup.procs && exec "$@"' - "$@"; }
  echo 50000 > "$quota/cpu.cfs_quota_us"
  same 'half a core for a set that uses 0.6' 5 busy.toml throttled
  said "cpu quota: 0.5 cores by $quota/cpu.cfs_quota_us; the tasks need 0.6 cores"
  echo -1 > "$quota/cpu.cfs_quota_us"
  same 'a group without a quota' 0 busy.toml throttled
else skip 'a small quota' 'no group of the controller cpu can be made here'; fi
group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
  limit=$root/rtexec-gate-$$/memory.limit_in_bytes; [ $root = /sys/fs/cgroup/memory ] || limit=$root/rtexec-gate-$$/memory.max
  mkdir $root/rtexec-gate-$$ 2>/dev/null || continue
  group=$root/rtexec-gate-$$
  [ -w "$limit" ] && echo 60000000 > "$limit" && break
  rmdir "$group"; group=
done
if [ -n "$group" ]; then
  trap 'kill -KILL $first 2>/dev/null; rmdir "$group" "$quota" 2>/dev/null; rm -rf "$work"' EXIT
  grouped() { bash -c 'echo $$ > '"$group"'/cgroup.procs && exec "$@"' - "$@"; }
  same 'a control group of 60 MB' 5 good.toml grouped
  said "the limit in $limit is 5"
  expect 0 'memory limit: 5.*left .*memory' grouped ./program probe
  same 'a model that has no room in the group' 5 files.toml grouped
else skip 'a small control group' 'none can be made here'; fi

echo "$count situations"
[ $count -ge 20 ] || { echo "fewer than 20 situations were tried"; bad=1; }
exit $bad
