#!/bin/bash
# Micro-benchmarks of memory policies, all of them and under every policy, as tasks of a run; what is refused.
set -u
. test/support/expect.bash
enter "$1"

benchmark() { # NAME WORKLOAD SIZE POLICY
  printf '[[task]]\nname="%s"\nworkload="%s"\nsize=%s\nmemory_policy="%s"\nperiod="200ms"\nwcet="3ms"\nwcet_before="2ms"\nwcet_after="1ms"\n' "$@"
}

printf '[executive]\nduration="3s"\nallow_degraded=true\n' >run.toml
cp run.toml refused.toml
policies=(D M H auto)
n=0
for each in vector-add:10000 matrix-add:100 matrix-multiply:100 needleman-wunsch:100 gaussian:50 hotspot:100 pathfinder:500 \
  bfs:1000 nearest-neighbour:10000 random-access:10000 euclidean-clustering:200; do
  benchmark "t$n" "${each%:*}" "${each#*:}" "${policies[n % 4]}" >>run.toml
  n=$((n + 1))
done
expect '0 4' 'Page faults of .* after start: 0' "$rtexec" run run.toml --force --json report.json
expect 0 '^11 True$' python3 -c "
import json
tasks = json.load(open('report.json'))['tasks']
print(len(tasks), all(t['completed'] > 0 for t in tasks))"

expect 0 'wrote .memory_costs. to board.toml' "$rtexec" calibrate memory host -o board.toml --sizes 2 --jobs 3 --json memory.json
expect 0 '^54 True$' python3 -c "
import json
found = json.load(open('memory.json'))
print(len(found['tasks']), found['costs']['mapped_ns_per_byte'] > 0 and found['held_out']['mean_percent'] > 0)"
expect 0 '^mean_error = ' grep -A 20 '^.memory_costs.' board.toml

printf 'board="./board.toml"\n[executive]\nallow_degraded=true\n' >one.toml
benchmark t pathfinder 500 M >>one.toml
expect 0 'wrote|p.toml' "$rtexec" profile one.toml --jobs 3 -o p.toml
expect 0 '^dirty_launches = 1$' grep launches p.toml
expect 0 'estimated' cat p.toml

# A task that leaves its policy open is measured under each, and gets one.
printf '[executive]\nduration="300ms"\nallow_degraded=true\n[[task]]\nname="add"\nworkload="vector-add"\nsize=1000000\nmemory_policy="auto"\nperiod="2s"\n' >open.toml
expect 0 'add \(M\) ' "$rtexec" profile open.toml --jobs 4
expect 0 '^D M H$' python3 -c "
import tomllib
print(*(task['memory_policy'] for task in tomllib.load(open('open.profile.toml', 'rb'))['task']))"
expect 0 'add: [DMH]: .* a job; ' "$rtexec" check open.toml --json check.json
expect 0 '^True True$' python3 -c "
import json
task = json.load(open('check.json'))['tasks'][0]
print(task['memory_policy'] in 'DMH', ' under ' in task['memory_policy_reason'])"
sed 's/^\[\[task/[device]\nmemory_objective="least-memory"\n[[task/' open.toml >least.toml
cp open.profile.toml least.profile.toml
expect 0 'add +H +0 B +11.4 MiB' "$rtexec" check least.toml
expect '0 4' 'add +H +0 B' "$rtexec" run least.toml --json least.json
expect 0 '^H 0 12000000$' python3 -c "
import json
memory = json.load(open('least.json'))['memory'][0]
print(memory['memory_policy'], memory['device_bytes'], memory['host_bytes'])"
expect 0 'and those of the profile before' "$rtexec" profile open.toml --jobs 4 --add --json added.json
expect 0 '^\[.D., .M., .H.\] True$' python3 -c "
import json
tasks = json.load(open('added.json'))['tasks']
print([task['memory_policy'] for task in tasks], all(task['samples'] >= 8 for task in tasks))"

# Jobs in pairs: how long they take and wait is measured and shown, and then how many there are.
printf 'board="./board.toml"\n[executive]\nallow_degraded=true\nduration="1s"\n[device]\nco_run=true\n' >pairs.toml
for each in scan:M:1000000 add:D:1000; do
  printf '[[task]]\nname="%s"\nworkload="vector-add"\nmemory_policy="%s"\nsize=%s\nperiod="100ms"\n' $(tr : ' ' <<<$each) >>pairs.toml
done
sed -i 's/^mapped = .*/mapped = 4.0/' board.toml
in_order() {
  python3 -c "
import json
scan, add = json.load(open('pairs.json'))['tasks']
print(0 < add['co_run_wcet_ns'] < scan['mapping_idle_ns'] < scan['co_run_wcet_ns'], add['mapping_idle_ns'] is None)"
}
for _ in 1 2 3 4 5; do # a busy machine only adds to what a job takes
  expect 0 ' beside +waits$' "$rtexec" profile pairs.toml --jobs 10 --json pairs.json
  [ "$(in_order)" != 'True True' ] || break
done
expect 0 '^True True$' in_order
expect '0 3' ' beside +waits$' "$rtexec" check pairs.toml
expect '0 4' '^Jobs concurrent with a job of another task on the device: [0-9]+ of scan, [0-9]+ of add$' "$rtexec" run pairs.toml --force

benchmark t pathfinder 1000000 M >>refused.toml
expect 2 "task 't': size = 1000000: a pathfinder task computes on 1 to 524288 columns" "$rtexec" run refused.toml
printf '[[task]]\nname="t"\nworkload="synthetic"\nfootprint="1MiB"\nperiod="1s"\nwcet="1ms"\nmemory_policy="M"\n' >refused.toml
expect 2 'only for dnn and winograd tasks and micro-benchmarks of memory policies' "$rtexec" check refused.toml
printf 'board="rtx"\n[device]\ncapacity="1GiB"\n' >gpu.toml
benchmark t vector-add 1000 M >>gpu.toml
expect '0 5' 'proved' "$rtexec" check gpu.toml
exit $bad
