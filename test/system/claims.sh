#!/bin/bash
# A run on cores that another run has is refused before it records anything and is told who has them; a run that is killed leaves them free; the
# jobs of a run go to standard output alone.
set -u
. test/support/expect.bash
enter "$1"; trap 'kill -KILL "${first-}" 2>/dev/null; rm -rf "$work"' EXIT
printf '[executive]\nduration="60s"\n[[task]]\nname="a"\nworkload="synthetic"\nperiod="50ms"\nwcet="1ms"\nfootprint="1MiB"\n' > set.toml
"$rtexec" check set.toml > /dev/null || { echo "skipped: this machine does not keep the set"; exit 77; }
begin() {
  "$rtexec" run set.toml > first.log 2>&1 & first=$!
  for ((i = 0; i < 300; i++)); do has_released "$first" && return; kill -0 "$first" 2>/dev/null || break; sleep 0.1; done
  echo "skipped: a run does not start here: $(tail -n 3 first.log)"
  exit 77
}
begin
expect 5 "another run of rtexec, process $first of user $(id -u), uses core" "$rtexec" run set.toml --trace refused
[ ! -e refused ] || { echo "a refused run left its trace"; bad=1; }
expect 5 'another run of rtexec' "$rtexec" calibrate host --chunk 2MiB --jobs 3 -o host.toml
expect 5 'another run of rtexec' "$rtexec" calibrate memory host --sizes 2 --jobs 3 -o host.toml
[ ! -e host.toml ] || { echo "a refused calibration left a board"; bad=1; }
kill -KILL "$first"; wait "$first" 2>/dev/null
expect '0 4' 'Unfinished at the end|Report after' "$rtexec" run set.toml --duration 1s
# A check claims cores for a moment, and keeps no run from beginning.
(while :; do "$rtexec" check set.toml > /dev/null; done) & checks=$!
for each in 1 2 3 4 5; do expect '0 4' 'Report after' "$rtexec" run set.toml --duration 100ms; done
kill $checks; wait $checks 2>/dev/null
# What is withdrawn because the run ends is said: b waits for the device while a has it.
sed 's/50ms/4s/; s/1ms/1900ms/' set.toml > long.toml
sed '1,2d; s/"a"/"b"\noffset="200ms"/' long.toml > other.toml; cat other.toml >> long.toml
expect '0 4' "Unfinished at the end of the run.*: 1 job of task 'b'" "$rtexec" run long.toml --force --duration 1s
"$rtexec" run set.toml --duration 1s --jobs - > jobs.csv 2> text.log
expect 0 "^task,job," head -n 1 jobs.csv
expect 1 '' grep -v '^task,job,\|^a,' jobs.csv
expect 0 'Report after' cat text.log
expect 2 'both take standard output' "$rtexec" run set.toml --duration 1s --jobs - --json -
exit $bad
