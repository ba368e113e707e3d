#!/bin/bash
# A verdict says in a screen what is promised and on which conditions; a machine says at once what a set lacks on it.
set -u
. test/support/expect.bash
boards=$PWD/boards
enter "$1"; chmod 755 .
task() { printf '[[task]]\nname="%s"\nworkload="synthetic"\nperiod="%s"\nwcet="%s"\nfootprint="16MiB"\nswappable="12MiB"\nclass="constant"\n%s\n' "$1" "$2" "$3" "${4-}"; }
set_of() { # WCET KEYS
  printf '[executive]\nduration="300ms"\n%s\n[device]\ncapacity="64MiB"\nchunk="2MiB"\n' "${2-}"
  for i in 1 2 3 4 5 6; do task "task$i" $((i * 20 + 100))ms "$1" 'wcet_before="1ms"
wcet_after="1ms"'; done
}
expect_not() { # PATTERN COMMAND...
  local pattern=$1; shift
  local out; out=$("$@" 2>&1)
  grep -qE -- "$pattern" <<<"$out" && { echo "did not expect /$pattern/ from: $*"; echo "$out"; bad=1; }
}
first_line() { local out status; out=$("$@" 2>&1); status=$?; head -n 1 <<<"$out"; return $status; }

set_of 2ms > six.toml
set_of 20ms > late.toml
printf '[executive]\nduration="300ms"\n' | tee small.toml nowhere.toml withheld.toml >/dev/null
task a 50ms 2ms >> small.toml
task a 50ms 2ms 'core=1000' >> nowhere.toml
cores=$(nproc)

# Chains: what they are promised, why a limit is exceeded, and of what a bound is made.
chained() { task camera 40ms 4ms 'core=0'; task fusion 40ms 3ms 'core=0
trigger="after:camera"'; task control 10ms 1ms 'core=0'; printf '[[chain]]\nname="steer"\ntasks=["camera", "fusion", "control"]\n%s\n' "$1"; }
chained 'max_reaction="500ms"' > chain.toml
chained 'max_age="20ms"' > stale.toml
sed 's/trigger=.*/trigger="input"/' chain.toml > waiting.toml
expect '0 5' '^  steer +[0-9.]+ ms +500 ms +[0-9.]+ ms +- ' "$rtexec" check chain.toml --json chain.json
expect 0 '^True True 3 None$' python3 -c "import json; c, = json.load(open('chain.json'))['chains']; print(c['kept'], c['reaction_bound_ns'] == sum(t['waits_ns'] + t['takes_ns'] for t in c['terms']) < c['davare_bound_ns'], len(c['terms']), c['finding'])"
expect '0 5' '^  fusion +0 ns +[0-9.]+ ms$' "$rtexec" check chain.toml --explain
expect 3 "^Verdict: not proved: every deadline would be kept, but the set exceeds the" first_line "$rtexec" check stale.toml
expect 3 "exceeds max_age, 20ms," "$rtexec" check stale.toml
expect 2 "reaction time and its data age: task" "$rtexec" check waiting.toml
expect 2 "needs an input from a camera" "$rtexec" run waiting.toml --force
sed "0,/core=0/s//core=0\ninput_delay='8ms'/" chain.toml > sampled.toml
sed "0,/input_delay/s//trigger='input'\n&/" sampled.toml > seen.toml
expect '0 5' '^  \(sampling\) +8.00 ms +-$' "$rtexec" check sampled.toml --explain
expect '0 5' "^Bounds of chain 'steer' count from the sampling of data read by 'camera', up" "$rtexec" check sampled.toml --json sampled.json
expect 2 '^  - input delays hold, and samples are at least a period apart' "$rtexec" check seen.toml --json seen.json
expect 0 '^8000000 0 True$' python3 -c "import json
bare, sampled, seen = (json.load(open(f + '.json'))['chains'][0] for f in ('chain', 'sampled', 'seen'))
of = lambda chain: chain['reaction_bound_ns']
print(of(sampled) - of(bare), sampled['input_delay_ns'] - seen['input_delay_ns'], of(seen) < of(sampled))"
sed 's/^trigger=.*//; s/max_reaction=.*/communicate="let"/' chain.toml > let.toml
time='[0-9.]+ m?s'
for set in chain let; do # what they really take stands in the report; a machine that stops makes it seconds
  { printf '[executive]\nduration="3s"\nallow_degraded=true\n'; cat $set.toml; } > $set-run.toml
  expect '0 4' "^  steer +reaction +$time / $time / $time +$time +[1-9]" "$rtexec" run $set-run.toml --force
done

# Verdict and plan in a screen, whatever the verdict; all that is behind them on request.
for set in six late; do
  "$rtexec" check $set.toml > $set.txt 2>&1
  [ "$(wc -l < $set.txt)" -le 24 ] || { echo "check $set.toml takes $(wc -l < $set.txt) lines"; cat $set.txt; bad=1; }
  [ "$(wc -L < $set.txt)" -le 80 ] || { echo "check $set.toml takes $(wc -L < $set.txt) columns"; cat $set.txt; bad=1; }
done
[ "$cores" -lt 2 ] || {
  expect 0 '^Verdict: proved: every real-time deadline will be kept if$' first_line "$rtexec" check six.toml
  expect 0 '^  task +deadline +bound +slack +core +memory$' cat six.txt
  expect 0 '^  task3 .* 12.0 MiB swapped$' cat six.txt
  expect 0 'Limit: task .task1., ' cat six.txt
}
expect 3 '^Verdict: not proved: task .[a-z0-9]+. does not fit: the tasks need [0-9.]+' first_line "$rtexec" check late.toml
expect 3 "^No deadline is promised for tasks 'task1', 'task2' and 4 more" "$rtexec" check late.toml
expect 3 '[-][-]headroom' "$rtexec" check late.toml
for text in 'for some lambda' 'R = J \+ w <= D' 'Test end-to-end: ' 'theorem1 +unsound: ' 'wcet cpu\+device\+cpu'; do
  expect_not "$text" "$rtexec" check six.toml
  expect '0 3' "$text" "$rtexec" check six.toml --explain
done
expect '0 3' '"inequality"' "$rtexec" check six.toml --json -
expect '0 3' '^  baker ' "$rtexec" check six.toml --tests baker

# Beside what is proved: what it supposes, and what the machine says of it.
if [ "$cores" -ge 2 ]; then
  for command in check simulate; do
    expect 0 'execution times hold: ' "$rtexec" $command small.toml
    expect 0 'SCHED_(FIFO|DEADLINE) and locked memory: ' "$rtexec" $command small.toml
    expect 0 'nothing preempts the executive on cores ' "$rtexec" $command small.toml
  done
  expect 0 'given by hand' "$rtexec" check small.toml
  expect 0 '"conditions"' "$rtexec" check small.toml --json -
fi
machine() { printf '[{"machine": {"name": "a robot", "cores": [0, 1, 2, 3], "no_fifo": "", "no_deadline": "", "device_memory_bytes": 0%s}}]' "$1"; }
machine '' > old.json
machine ', "disturbances": [{"supposed": "no virtual machine", "standing": "against", "known": "a host that stops it"}]' > robot.json
expect 0 'that machine.s file does not$' "$rtexec" check small.toml --machine old.json
expect 0 'that machine has a host that' "$rtexec" check small.toml --machine robot.json
"$rtexec" probe --json here.json >/dev/null
expect 0 '"disturbances"' cat here.json

# What the machine does not have is told first, and is no bare "proved".
expect 5 'Verdict: proved for a machine with core 1000.*; this one has ' first_line "$rtexec" check nowhere.toml
expect 5 '' "$rtexec" check nowhere.toml
expect 5 'that one has cores 0-3' "$rtexec" check nowhere.toml --machine robot.json
expect 5 'core 1000' "$rtexec" run nowhere.toml
expect_not 'is used instead' "$rtexec" run nowhere.toml
sed 's/^duration.*/&\nallow_degraded=true/' nowhere.toml > degraded.toml
for command in check run; do
  expect '0 4 5' 'Verdict: would be proved, but .* degraded: the promise does not hold' "$rtexec" $command degraded.toml
  expect_not 'Verdict: proved' "$rtexec" $command degraded.toml
done
if [ "$cores" -ge 2 ]; then
  task a 50ms 2ms 'core=0' >> withheld.toml
  { printf 'compute_core = 1\nservice_core = 0\n'; grep -v '_core *=' "$boards/host.toml"; } > two.toml
  sed -i '1i board = "./two.toml"' withheld.toml
  for command in check run probe; do expect 5 'may not use core 0' taskset -c 1 "$rtexec" $command withheld.toml; done
fi

# All that a run lacks, at once, by the list that the run itself refuses by; then mended.
expect '0 5' 'core' "$rtexec" probe small.toml
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || { echo "not root: what a user lacks is not tried"; exit $bad; }
cp "$rtexec" program
user() { setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all bash -c 'ulimit -l 64 -r 0; exec "$@"' - "$@"; }
for command in probe check run; do
  expect 5 'SCHED_(FIFO|DEADLINE)' user ./program $command small.toml
  expect 5 '/etc/security/limits.d/rtexec.conf' user ./program $command small.toml
  expect 5 'nobody - rtprio 99' user ./program $command small.toml
  expect 5 'nobody - memlock unlimited' user ./program $command small.toml
  [ ! -e /dev/cpu_dma_latency ] || [ -n "$(find /dev/cpu_dma_latency -perm -o=rw)" ] ||
    expect 5 '/etc/udev/rules.d/99-rtexec.rules' user ./program $command small.toml
done
expect_not 'failed: Success' user ./program probe small.toml
printf '[[task]]\nname="net"\nmodel="none.onnx"\nperiod="100ms"\n' > absent.toml
expect 2 'none.onnx' user ./program probe absent.toml
expect 2 '.missing. SCHED_FIFO' user ./program probe absent.toml
[ "$(user ./program probe small.toml --json - 2>/dev/null | grep -c '"missing"')" -ge 2 ] || { echo "not all at once"; bad=1; }
sed 's/^duration.*/&\nallow_degraded=true/' small.toml > degraded.toml
expect 0 'a run here is degraded' first_line user ./program check degraded.toml
expect '0 4' 'this run is degraded' user ./program run degraded.toml
expect_not 'Verdict: proved' user ./program run degraded.toml

# A profile remembers what its runs lacked.
"$rtexec" model yolov3-tiny --size 32 -o tiny.onnx > /dev/null
printf '[executive]\nduration="300ms"\nallow_degraded=true\n[[task]]\nname="net"\nmodel="tiny.onnx"\nperiod="1s"\n' > measured.toml
mkdir -m 777 theirs
expect 0 'Measured in a degraded run; execution times may be longer' user ./program profile measured.toml --jobs 1 -o theirs/p.toml
expect 0 '^degraded = ' cat theirs/p.toml
expect 0 'measured in a degraded run: ' tr '\n' ' ' < <("$rtexec" check measured.toml --wcet theirs/p.toml)
exit $bad
