#!/bin/bash
# What shells complete on command lines of rtexec. bash is asked; zsh and fish read their scripts, where they are installed.
set -u
. test/support/expect.bash
enter "$1"
mkdir sets sets/deep; touch sets/robot.toml sets/notes.txt my-board.toml picture.png

cat > complete.sh <<'END'
source <("$1" completion bash); shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_rtexec
printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' '
END
completes() { # EXPECTED WORD... (the last one is being typed)
  local expected=$1 got; shift
  got=$(bash complete.sh "$rtexec" "$@" 2>&1)
  [ "$got" = "$expected" ] || { echo "completed to '$got' and not '$expected': $*"; bad=1; }
}
completes 'sets' rtexec check se
completes 'sets/deep sets/robot.toml' rtexec check sets/
completes 'run' rtexec ru
completes 'calibrate check completion config' rtexec c
completes 'bash fish zsh' rtexec completion ''
completes 'edf static-priority' rtexec check --order ''
completes 'static-priority' rtexec check sets/robot.toml --order s
completes 'static-priority' rtexec check --order = s
completes '--margin' rtexec profile --ma
completes '--seconds' rtexec calibrate bandwidth --s
completes '--store' rtexec calibrate --s
completes 'bandwidth' rtexec calibrate ban
completes 'host' rtexec calibrate ho
completes 'host' rtexec probe --board ho
completes 'my-board.toml' rtexec probe --board my
completes 'h200' rtexec calibrate bandwidth h2
completes 'picture.png' rtexec infer --precision fp16 net.onnx pic
completes 'fp16 fp32' rtexec infer --precision fp
completes 'sets' rtexec run --trace ''
completes 'complete.sh my-board.toml picture.png sets' rtexec check --json ''
completes '' rtexec run --duration ''
completes '' rtexec calibrate --chunk ''
completes '' rtexec analyze --window ''
completes 'sets' rtexec analyze se
completes 'resnet50' rtexec model resnet5
completes 'simulate' rtexec help sim

# Every subcommand and option that help shows.
for command in check run analyze top ps simulate sweep experiment 'experiment isolation' 'experiment memory' 'experiment init' profile calibrate 'calibrate bandwidth' 'calibrate memory' 'calibrate cut' model infer config probe bringup restore; do
  shown=$("$rtexec" $command --help | grep -oE '^  (-\w, )?--[a-z-]+|^  -\w, ' | grep -oE -- '-[-a-z]+' | sort -u | paste -sd ' ')
  got=$(bash complete.sh "$rtexec" rtexec $command - | tr ' ' '\n' | sort -u | paste -sd ' ')
  [ "$got" = "$shown" ] || { echo "$command: completed to $got, and help shows $shown"; bad=1; }
done
for shell in bash zsh fish; do
  expect 0 '# Completion of rtexec in' "$rtexec" completion $shell
  command -v $shell >/dev/null || continue
  "$rtexec" completion $shell > script && $shell -n script || { echo "$shell cannot read its script"; bad=1; }
done
if command -v fish >/dev/null; then
  expect 0 '^static-priority' fish --no-config -c "source script; complete -C 'rtexec check --order s'"
  expect 0 '^bandwidth' fish --no-config -c "source script; complete -C 'rtexec calibrate b'"
  expect 0 '^sets/robot.toml' fish --no-config -c "source script; complete -C 'rtexec check sets/r'"
fi
expect 2 'SHELL|shell' "$rtexec" completion tcsh
exit $bad
