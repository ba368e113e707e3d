#!/bin/bash
# rtexec simulate: exit codes, the hole in RT-Swap from its file, the adversary's releases, recorded executions, pictures.
set -u
. test/support/expect.bash
hole=$(realpath config/rt-swap-hole.toml)
enter "$1"
ask() { python3 -c "import json, sys; d = json.load(open('$1')); print($2)"; } # FILE.json EXPRESSION

# A set that is proved, and one that is not: both are simulated.
{ printf '[executive]\nduration="300ms"\n'; task a 50ms 2ms; task b 80ms 3ms 'wcet_before="1ms"'; } > good.toml
{ printf '[executive]\nduration="300ms"\n'; task a 10ms 8ms; task b 20ms 12ms; } > overload.toml
expect 0 'Verdict: proved' "$rtexec" simulate good.toml --json good.json
expect 0 "^proved 7 True 0 True" ask good.json "d['verdict'], d['tasks'][0]['released'], d['deadlines_kept'], d['trace']['events'], 'completed' in d['tasks'][0]"
expect 0 '^5000000$' ask good.json "max(task['response_ns']['max'] for task in d['tasks'])"
expect 4 'DEADLINE WAS MISSED' "$rtexec" simulate overload.toml
expect 0 '"verdict": "proved"' "$rtexec" simulate good.toml --json -
expect 2 'none.toml' "$rtexec" simulate none.toml
expect 2 '[-][-]duration 5' "$rtexec" simulate good.toml --duration 5
expect 2 '' "$rtexec" simulate good.toml --releases never
expect 2 'from 0 to 1' "$rtexec" simulate good.toml --execution uniform:2
expect 2 'no/such.csv' "$rtexec" simulate good.toml --execution no/such.csv
expect 0 '"verdict"' bash -c "'$rtexec' simulate good.toml --json >(cat >piped.json) >/dev/null; wait \$!; cat piped.json"
expect 5 'x.json: error: cannot write it' "$rtexec" simulate good.toml --json /no/such/folder/x.json
expect 5 'no/such/folder' "$rtexec" simulate good.toml --gantt no/such/folder/x.svg

# Reaction times and data ages, within their bounds under every pattern; timers of a chain keep their grids.
for how in periodic sporadic adversarial; do
  expect 0 'steer +reduced age' "$rtexec" simulate "${hole%/*}/steering-chain.toml" --releases $how --attempts 5 --json chain.json
done
expect 0 'steer +reaction .* 0$' "$rtexec" simulate "${hole%/*}/steering-chain.toml" --execution uniform --json chain.json
expect 0 '^steer True 0$' ask chain.json "d['chains'][0]['name'], 0 < d['chains'][0]['reaction_ns']['max'] <= d['chains'][0]['reaction_ns']['bound'], d['chains'][0]['age_ns']['above_bound']"

# The second hole: proved, and kept, by our rules.
second=${hole%-hole.toml}-second-hole.toml
expect 4 'm7 .* 144 ms .* 1 missed' "$rtexec" simulate "$second"
for policy in serial pipelined; do
  expect 0 'Every real-time deadline was kept' "$rtexec" simulate "$second" --policy $policy
  # `run` takes no listed releases, and so `check` ends as it would.
  expect 2 '^Verdict: proved' "$rtexec" check "$second" --policy $policy
  expect 2 'theorem1 +unsound: yes +0.99' "$rtexec" check "$second" --policy $policy --explain
done

# Where dropping a chunk takes longer than copying it, that is what is charged.
{
  printf '[device]\ncapacity="16MiB"\n[device.swap_cost]\nin_per_chunk="50us"\nout_per_chunk="50us"\ndrop_per_chunk="200us"\nin_fixed="0ns"\nout_fixed="0ns"\n'
  swapped() { printf '[[task]]\nname="%s"\nworkload="synthetic"\nperiod="%s"\nwcet="%s"\nfootprint="%s"\nswap_volume="%s"\nclass="%s"\ncore=%s\n' "$1" "$2" "$3" "$4" "$4" "$5" "$6"; }
  for i in 1 2 3 4; do swapped "t$i" $((2350 + 50 * i))us 250us 8MiB constant $((i + 2)); done
  swapped state 10s 100us 2MiB state 7
} > dear-drop.toml
expect 3 '200 us out, 200 us to drop' "$rtexec" check dear-drop.toml --explain
sed 's/drop_per_chunk="200us"/drop_per_chunk="50us"/' dear-drop.toml > cheap-drop.toml
expect '0 5' '^Verdict: proved' "$rtexec" check cheap-drop.toml
expect 0 'Every real-time deadline was kept' "$rtexec" simulate cheap-drop.toml --duration 2s

# Where no job came, none was in time.
printf '[[task]]\nname="late"\nworkload="synthetic"\nperiod="1s"\noffset="1s"\nwcet="1ms"\nfootprint="1MiB"\n' > idle.toml
expect 0 '^No real-time job was completed' "$rtexec" simulate idle.toml --duration 500ms
expect 0 '^  late +0 +0 +0( +-){4} ' "$rtexec" simulate idle.toml --duration 500ms

# The events of a run, in virtual time.
expect 4 'Trace: [0-9]+ events recorded, 0 lost' "$rtexec" simulate "$hole" --trace trace --json traced.json
expect 0 '^True 0$' ask traced.json "d['trace']['events'] > 150, d['trace']['lost']"
expect 0 'job_end: .*task = 8, job = 0, at = 174000000, response = 143999000' babeltrace2 trace
expect 2 'trace' "$rtexec" simulate "$hole" --trace trace

# A job under D executes while one under M waits for pages: named by check, seen in the picture, and replayed.
{
  printf '[executive]\nduration="300ms"\n[device]\nco_run=true\n'
  added() { printf '[[task]]\nname="%s"\nworkload="vector-add"\nsize=1000\nmemory_policy="%s"\nperiod="%s"\nwcet="%s"\nco_run_wcet="%s"\n' "$@"; }
  added first D 50ms 5ms 16ms
  added scan M 60ms 9ms 20ms; printf 'mapping_idle="15ms"\n'
  added add D 70ms 5ms 6ms
} > pairs.toml
expect '0 5' 'add .D, 6.00 ms. beside scan .M, 20.0 ms, of which 15.0 ms waiting for pages' "$rtexec" check pairs.toml --explain --json pairs.json
expect '0 5' '^Co-running: add beside scan$' "$rtexec" check pairs.toml
sed 's/mapping_idle=.*/mapping_idle="1ms"/' pairs.toml > apart.toml
expect '0 5' '^Co-running: no pair: the shortest co_run_wcet under D is 6.00 ms .add., and the' "$rtexec" check apart.toml
expect '0 5' 'mapping_idle of others 1.00 ms .scan.$' "$rtexec" check apart.toml
sed 's/memory_policy=.*/memory_policy="D"/; /mapping_idle/d' pairs.toml > copied.toml
expect '0 5' 'M, H or D/H has a mapping_idle' "$rtexec" check copied.toml
expect 0 "^\[{'executes': 'add', 'waits': 'scan'}\] None 15000000$" ask pairs.json "d['pairs'], d['tasks'][0]['co_run'], d['tasks'][1]['co_run']['idle_ns']"
expect 0 'Every real-time deadline was kept' "$rtexec" simulate pairs.toml --gantt pairs.svg --trace pairs
expect 0 '>beside<' cat pairs.svg
expect 0 'scheduler_action: .*beside = 1, as = .*"D"' babeltrace2 pairs
expect 0 'decisions' "$rtexec" analyze pairs --html pairs.html
expect 0 'beside' cat pairs.html
sed 's/co_run=true/co_run=true\ncapacity="4MiB"\nchunk="1MiB"/' pairs.toml > crowded.toml
for name in large larger; do printf '[[task]]\nname="%s"\nworkload="synthetic"\nperiod="1s"\nwcet="1ms"\nfootprint="3MiB"\n' $name; done >> crowded.toml
expect 3 'leave out .device. co_run' "$rtexec" check crowded.toml

# The same seed, the same run.
n=0
for seed in 1 1 2; do expect 0 '' "$rtexec" simulate good.toml --releases sporadic --execution uniform:0.2 --seed $seed --duration 10s --json "seed-$seed.$((++n)).json"; done
cmp -s seed-1.1.json seed-1.2.json || { echo "one seed, two runs"; bad=1; }
cmp -s seed-1.1.json seed-2.3.json && { echo "two seeds, one run"; bad=1; }

# Executions as a run recorded them.
printf 'task,job,nominal_ns,requested_ns,device_begin_ns,device_end_ns,end_ns,outcome\na,0,0,0,0,1500000,2,in-time\nb,0,0,0,0,1000000,2,in-time\nb,1,0,0,5,2000005,2,late\n' > jobs.csv
expect 0 '' "$rtexec" simulate good.toml --execution jobs.csv --json recorded.json
expect 0 '^1500000 2000000$' ask recorded.json "d['tasks'][0]['observed']['device_ns'], d['tasks'][1]['observed']['device_ns']"

# The counter-example to RT-Swap's analysis. run does not take listed releases.
expect 4 'm8 .*1 missed' "$rtexec" simulate "$hole" --json hole.json --gantt hole.svg
expect 0 "^\['m8'\] 143999000$" ask hole.json "[t['name'] for t in d['tasks'] if t['missed']], max(t['response_ns']['max'] for t in d['tasks'])"
expect 0 '^True True$' ask hole.json "d['swap']['in_bytes'] > 0 and d['swap']['out_bytes'] > 0, d['swap']['operations'] == (d['swap']['in_bytes'] + d['swap']['out_bytes'] + d['swap']['dropped_bytes']) // (2 << 20)"
expect 0 'deadline was kept' "$rtexec" simulate "$hole" --policy pipelined
expect 2 "releases is only for .rtexec simulate." "$rtexec" run "$hole" --force
expect 0 'svg True True True' python3 -c "
import xml.etree.ElementTree as tree
root = tree.parse('hole.svg').getroot()
text = ''.join(root.itertext())
print(root.tag.split('}')[1], 'DEADLINE MISSED: m8, job 0' in text, 'copies out' in text, 'core' not in text)"
expect 0 '' "$rtexec" simulate good.toml --duration 10min --gantt long.svg
[ "$(stat -c %s long.svg)" -lt 10000000 ] || { echo "long.svg is $(stat -c %s long.svg) bytes"; bad=1; }
expect 0 '' "$rtexec" simulate good.toml --gantt part.svg --from 50ms --to 100ms
expect 0 '50 ms to 100 ms of a simulated run of good.toml|50.0 ms to 100 ms of a simulated run of good.toml' cat part.svg
expect 2 'before it begins' "$rtexec" simulate good.toml --gantt part.svg --from 100ms --to 50ms

# What the adversary finds is repeated by the releases that it lists.
{ printf '[executive]\norder="static-priority"\nduration="1s"\n'; task hi 50ms 10ms; task lo 200ms 45ms 'offset="15ms"'; } > blocked.toml
expect 0 '' "$rtexec" simulate blocked.toml
expect 4 'hi: releases = \[' "$rtexec" simulate blocked.toml --releases adversarial --attempts 60 --json worst.json --gantt worst.svg
python3 - <<'EOF'
import json
worst = json.load(open('worst.json'))['worst_case']
text = open('blocked.toml').read().replace('offset="15ms"', '').replace('duration="1s"', 'duration="%s"' % worst['duration'])
for name, releases in worst['releases'].items():
    text = text.replace('name="%s"' % name, 'name="%s"\nreleases=%s' % (name, json.dumps(releases)))
open('repeated.toml', 'w').write(text)
EOF
expect 4 'MISSED' "$rtexec" simulate repeated.toml --json repeated.json
expect 0 '^True$' python3 -c "
import json
worst = json.load(open('worst.json'))['worst_case']
task = next(t for t in json.load(open('repeated.json'))['tasks'] if t['name'] == worst['task'])
print(task['response_ns']['max'] == worst['response_ns'] > worst['bound_ns'] and worst['repeated_by_releases'])"
expect 2 'chooses execution times itself' "$rtexec" simulate blocked.toml --releases adversarial --execution jobs.csv
expect 4 'the releases alone do not reproduce it' "$rtexec" simulate blocked.toml --releases adversarial --execution uniform --attempts 20
exit $bad
