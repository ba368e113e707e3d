#!/bin/bash
# Files that commands write: none is written through a link of another user, in whatever component of the path, and none waits for the other end
# of a named pipe.
set -u
. test/support/expect.bash
enter "$1"
{ printf '[executive]\nduration="100ms"\nallow_degraded=true\n'; task a 50ms 2ms; } > set.toml
"$rtexec" simulate set.toml --trace trace >/dev/null || { echo "no trace to read"; exit 1; }
"$rtexec" model resnet18 --size 32 -o tiny.onnx >/dev/null || { echo "no network"; exit 1; }

# OUT is replaced by the output: `file` where the command writes a file, `folder` where it makes a folder.
files=(
  "check set.toml --json OUT" "simulate set.toml --json OUT" "simulate set.toml --gantt OUT"
  "run set.toml --force --json OUT" "run set.toml --force --jobs OUT" "profile set.toml --jobs 1 --json OUT" "infer tiny.onnx --json OUT"
  "analyze trace --html OUT" "analyze trace --svg OUT" "analyze trace --perfetto OUT" "analyze trace --json OUT" "analyze trace --to-toml OUT"
  "model resnet18 --size 32 -o OUT" "config --json OUT" "probe --json OUT" "restore --json OUT"
  "calibrate cut tiny.onnx host --jobs 3 -o OUT" "bringup identity --html OUT" "sweep --preset rt-swap-fig7a --sets 1 --json OUT"
)
folders=(
  "simulate set.toml --trace OUT" "run set.toml --force --trace OUT" "run set.toml --force --flight-recorder OUT" "analyze trace --csv OUT"
  "infer tiny.onnx -o OUT" "sweep --preset rt-swap-fig7a --sets 1 -o OUT" "experiment init --simulate tx2 -o OUT" "bringup identity --record OUT"
)
said() { # OUT COMMAND, one line: its exit code and what it says
  local out=$1 command=$2
  timeout 60 "$rtexec" ${command//OUT/$out} 2>&1 </dev/null
  echo "exit $?"
}
mkfifo pipe
for command in "${files[@]}"; do
  said pipe "$command" > log
  grep -q 'pipe: error: cannot write it: it is a named pipe' log && grep -qx 'exit 2' log || { echo "a named pipe: $command"; tail -n 3 log; bad=1; }
done
printf 'profile = "pipe"\n' > with; sed '/^\[executive\]/r with' set.toml > piped.toml
expect '2' 'named pipe|must be a file or a pipe|delivers no data' timeout 60 "$rtexec" profile piped.toml --jobs 1
[ -p pipe ] || { echo "the pipe was replaced"; bad=1; }

if [ "$(id -u)" = 0 ]; then
  mkdir -m 1777 shared; mkdir mine; echo old > mine/victim
  ln -s "$work/mine/victim" shared/link; ln -s "$work/mine" shared/folder; ln -s "$work/mine/new" shared/nowhere
  chown -h 12345 shared/*
  for out in shared/link shared/folder/new; do
    for command in "${files[@]}"; do
      said $out "$command" > log
      grep -q 'is a symbolic link of another user' log && grep -qx 'exit 5' log || { echo "$out: $command"; tail -n 3 log; bad=1; }
    done
  done
  for out in shared/folder/new shared/nowhere; do
    for command in "${folders[@]}"; do
      said $out "$command" > log
      grep -q 'is a symbolic link of another user' log && grep -qx 'exit 5' log || { echo "$out: $command"; tail -n 3 log; bad=1; }
    done
  done
  sed 's#footprint=.*#workload="dnn"\nmodel="tiny.onnx"\noutputs=[{to="file:shared/folder/results"}]#; /synthetic/d' set.toml > sink.toml
  expect 5 'is a symbolic link of another user' "$rtexec" run sink.toml --force
  [ "$(ls shared | wc -l)" = 3 ] || { echo "a link was removed or replaced"; bad=1; }
  [ "$(ls mine)" = victim ] && [ "$(cat mine/victim)" = old ] || { echo "what is root's was changed:"; ls -l mine; bad=1; }
  expect 0 '' "$rtexec" config --json mine/other
else
  echo "links of another user: not tried, only root can make them"
fi
for out in /dev/null /dev/stdout /dev/fd/1; do expect 0 '' "$rtexec" config board --json $out; done
expect 0 '"key": "capacity"' bash -c "'$rtexec' config board --json >(cat >&2) 3>&1 >/dev/null; wait \$!"
exit $bad
