#!/bin/bash
# Messages name what is wrong where a trace cannot be recorded: its folder was removed, or the session daemon is in another PID namespace.
set -u
. test/support/expect.bash
enter "$1"
command -v lttng-sessiond >/dev/null || { echo "skipped: no LTTng"; exit 77; }
{ printf '[executive]\nduration="60s"\nallow_degraded=true\n'; task a 50ms 1ms; } > set.toml
begin() { # FOLDER: a run that records there, once it has released jobs
  "$rtexec" run set.toml --force --trace "$1" > log 2>&1 & run=$!
  await 'has_released $run' || { echo "it does not run"; cat log; exit 1; }
}
begin removed
rm -rf removed
kill -INT $run
wait $run; status=$?
[[ $status = [45] ]] && grep -q 'removed was removed during the recording' log || { echo "a removed folder: exit $status"; cat log; bad=1; }

if [ "$(id -u)" = 0 ] && unshare --pid --fork --mount-proc true 2>/dev/null; then
  begin kept
  expect 5 'runs in another PID namespace' unshare --pid --fork --mount-proc timeout 60 "$rtexec" run set.toml --force --trace other
  kill -INT $run
  wait $run
else
  echo "another PID namespace: not tried, none can be made here"
fi
exit $bad
