#!/bin/bash
# A recording that breaks off, since LTTng's consumer daemon is killed in the middle of the run, is not told as whole.
set -u
. test/support/expect.bash
enter "$1"
command -v lttng-sessiond >/dev/null || { echo "skipped: no LTTng"; exit 77; }
{ printf '[executive]\nduration="20s"\nallow_degraded=true\n'; task a 10ms 1ms; } > set.toml
"$rtexec" run set.toml --force --trace broken --json broken.json > log 2>&1 & run=$!
sessiond=
await 'sessiond=$(pgrep -P $run -x lttng-sessiond)' || { echo "skipped: a session daemon runs that is not this test's"; kill $run; exit 77; }
await 'has_released $run' || { echo "it does not run"; cat log; exit 1; }
kill -KILL $(pgrep -P "$sessiond" -x lttng-consumerd)
sleep 2; kill -INT $run
wait $run; status=$?
[[ $status = [45] ]] || { echo "a trace that is incomplete: exit $status"; bad=1; }
grep -q 'the number of lost events is unknown' log || { echo "it does not say that events are lost"; cat log; bad=1; }
expect 0 '^None True True$' python3 -c "import json; t = json.load(open('broken.json'))['trace']; print(t['lost'], 'incomplete' in t['problem'], not t['recorded'])"
expect '0 3 4' 'the end of the run is not in the recording' "$rtexec" analyze broken
sed -i 's/20s/300ms/' set.toml
expect '0 4' 'events recorded, 0 lost' "$rtexec" run set.toml --force --trace whole --json whole.json
expect 0 '^0 None$' python3 -c "import json; t = json.load(open('whole.json'))['trace']; print(t['lost'], t['problem'])"
exit $bad
