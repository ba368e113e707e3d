#!/bin/bash
# Which board a machine is, from trees that were assembled for four boards; clocks that a killed run left locked.
set -u
. test/support/expect.bash
assemble=$PWD/test/hal/assemble-root
enter "$1"

expect 1 'tx2-r32' "$assemble"
for tree in tx2-r32:tx2 xavier-r32:xavier xavier-r35:xavier orin-r36:orin; do
  name=${tree%:*} board=${tree#*:}
  "$assemble" "$name" "$name"
  expect 0 "^\[ok\] board: $board: the device tree says nvidia,p" "$rtexec" probe --root "$name"
  expect 0 '^\[ok\] clock memory: .*/sys/kernel/debug/bpmp/debug/clk/emc/rate' "$rtexec" probe --root "$name"
  expect 0 "^\[[a-z]*\] device of board '$board'" "$rtexec" probe --root "$name"
done
expect 0 '^\[ok\] core kind: Denver 2, cluster 1: cores 1-2' "$rtexec" probe --root tx2-r32
expect 0 "^\[note\] board: this machine is not board 'xavier': its device tree says nvidia,p2771-0000" \
  "$rtexec" probe --root tx2-r32 --board xavier
expect 0 '"subject": "clock GPU"' bash -c "'$rtexec' probe --root xavier-r35 --json probe.json >/dev/null; cat probe.json"
printf 'acme,board\0' > tx2-r32/proc/device-tree/compatible
expect 0 'no known board is named in the device tree as acme,board: taken as board .host.' "$rtexec" probe --root tx2-r32

# A run that was killed left its state file. The machine's own is left alone.
if [ "$(id -u)" = 0 ] && [ ! -e /run/rtexec/clocks ]; then
  install -d -m 755 /run/rtexec
  printf 2035200 > min_freq
  printf 'rtexec clocks 1\n%s\t345600\t2035200\nend 1\n' "$PWD/min_freq" > /run/rtexec/clocks
  expect 0 '^Clocks: 1 file is as before' "$rtexec" restore
  expect 0 '^345600$' cat min_freq
  expect 0 '"clock_files": 0' "$rtexec" restore --json -
  printf 2035200 > min_freq
  printf 'rtexec clocks 1\n%s\t345600\t2035200\n' "$PWD/min_freq" > /run/rtexec/clocks
  expect 0 '^Nothing to restore' "$rtexec" restore
  expect 0 '^2035200$' cat min_freq
  # What no run wrote is somebody's: it stays, and so does what a link leads to.
  printf 'mine\n' > /run/rtexec/clocks
  expect 5 "/run/rtexec/clocks is no state file of locked clocks: it begins with 'mine'" "$rtexec" restore
  expect 0 '^mine$' cat /run/rtexec/clocks
  mv /run/rtexec/clocks mine; ln -s "$PWD/mine" /run/rtexec/clocks
  expect 5 'it is not a regular file' "$rtexec" restore
  expect 0 '^mine$' cat mine
  rm /run/rtexec/clocks
fi

# What cannot be locked is said, and changes nothing.
cat > locked.toml <<'END'
[executive]
lock_clocks = true
allow_degraded = true
duration = "200ms"
[[task]]
name = "a"
workload = "synthetic"
period = "50ms"
wcet = "1ms"
footprint = "1MiB"
END
expect '0 5' 'lock_clocks' "$rtexec" probe locked.toml
expect '0 4' 'Report after' "$rtexec" run locked.toml
expect 2 'No such file' ls /run/rtexec/clocks

# Clocks that are files here: locked while a run lasts, given back at its end, after a kill by the next run or by hand.
clocks=$work/clocks
mkdir "$clocks"
as_before() { printf 345600 > "$clocks/min"; printf 2035200 > "$clocks/max"; printf 2035200 > "$clocks/now"; }
{
  sed '/^\[\[clock\]\]/,$d' "$OLDPWD/boards/host.toml"
  printf '[[clock]]\nname = "cores"\nkind = "cpu"\nrate = ["%s in kHz"]\nlowest = ["%s in kHz"]\nhighest = ["%s in kHz"]\n' \
    "$clocks/now" "$clocks/min" "$clocks/max"
} > own.toml
lasts() { sed "s/200ms/$1/" locked.toml > "$2"; sed -i '1i board = "./own.toml"' "$2"; }
lasts 300ms short.toml
lasts 100s long.toml
if [ "$(id -u)" = 0 ] && [ ! -e /run/rtexec/clocks ]; then
  as_before
  expect '0 5' 'lock_clocks: cores at 2.04 GHz' "$rtexec" probe short.toml
  expect '0 4' 'Report after' "$rtexec" run short.toml
  expect 0 '^345600$' cat "$clocks/min"

  start_long() {
    timeout 120 "$rtexec" run long.toml > long.txt 2>&1 & run=$!
    await '[ "$(cat "$clocks/min")" = 2035200 ]'
    expect 0 '^2035200$' cat "$clocks/min"
  }
  killed() { pkill -KILL -P "$run"; wait "$run" 2>/dev/null; expect 0 '^2035200$' cat "$clocks/min"; }
  start_long
  expect 5 'another run of rtexec, process [0-9]*' bash -c "sed /allow_degraded/d short.toml > strict.toml; '$rtexec' run strict.toml"
  expect 0 'Nothing to restore' "$rtexec" restore
  killed
  expect 0 '1 file is as before' "$rtexec" restore
  expect 0 '^345600$' cat "$clocks/min"
  start_long
  killed
  expect '0 4' 'Report after' "$rtexec" run short.toml
  expect 0 '^345600$' cat "$clocks/min"

  # A locked clock that moves: what was measured is no WCET, says the report, and says the recording.
  lasts 100s moved.toml
  "$rtexec" run moved.toml --trace moved.trace > moved.txt 2>&1 & run=$!
  await 'has_released $run'
  printf 1200000 > "$clocks/now"
  sleep 3; kill -INT "$run"; wait "$run"
  expect 0 'not valid as WCETs: there was a locked clock that moved' cat moved.txt
  if [ -d moved.trace ]; then
    expect '0 4' 'INVALID.*a locked clock that moved' "$rtexec" analyze moved.trace
  fi
fi

exit $bad
