#!/bin/bash
# rtexec analyze: simulated runs with swaps from their traces, every output, damaged traces, a changed event, samples from a file.
set -u
. test/support/expect.bash
hole=$(realpath config/rt-swap-hole.toml)
enter "$1"
ask() { python3 -c "import json, sys; d = json.load(open('$1')); print($2)"; } # FILE.json EXPRESSION

# A run with swaps that misses: the miss is explained, the sums hold, every decision is the recorded one.
expect 4 ' 0 lost' "$rtexec" simulate "$hole" --trace missed --json simulated.json
expect 4 'job 0 of m8 was .* late \(144 ms of ' "$rtexec" analyze missed --json analyzed.json --csv csv --html page.html --svg gantt.svg --perfetto trace.perfetto
expect 0 '^1 True None None$' ask analyzed.json "d['missed'], d['replay']['inputs'] > 50, d['replay']['difference'], d['replay']['not_replayed']"
expect 0 '^same$' python3 - <<'PY'
import json
simulated, analyzed = (json.load(open(name)) for name in ('simulated.json', 'analyzed.json'))
for a, b in zip(simulated['tasks'], analyzed['tasks']):
    response = b['stages'][-1]
    assert a['name'] == b['name'] and a['released'] == b['released'] and a['missed'] == b['missed'], (a, b)
    if a['completed']: assert a['response_ns']['max'] == response['max_ns'] and a['response_ns']['min'] == response['min_ns'], (a, response)
    assert b['invalid'] is None
print('same')
PY
expect 0 '^[1-9][0-9]* jobs, every sum holds$' python3 - <<'PY'
import csv
rows = list(csv.DictReader(open('csv/jobs.csv')))
plain = {'task', 'job', 'nominal_ns', 'response_ns', 'deadline_ns', 'outcome'}
for row in rows:
    assert sum(int(v) for k, v in row.items() if k not in plain) == int(row['response_ns']), row
print(len(rows), 'jobs, every sum holds')
PY
expect 4 '^Of: task set .*/rt-swap-hole.toml, .* UTC$' "$rtexec" analyze missed
expect 0 '/rt-swap-hole.toml True True$' ask analyzed.json "d['run']['task_set'], d['host'] != '', d['began'].endswith(' UTC')"
expect 0 '^[0-9]+$' wc -c < page.html
expect 0 'svg' head -c 300 gantt.svg
expect 2 'its end must be after its begin' "$rtexec" analyze missed --svg x.svg --window 3s..2s
expect 4 '' "$rtexec" analyze missed --svg part.svg --window 10ms..60ms
expect 5 'no/such' "$rtexec" analyze missed --html no/such/page.html
expect 5 'x.json: error: cannot write it' "$rtexec" analyze missed --json no/such/x.json
expect 2 'no trace' "$rtexec" analyze csv

# No output replaces a file of the trace; a report beside them may be written again.
recorded=$(dirname "$(find missed -name metadata)")
cp -r "$recorded" before
ln -s "$recorded/metadata" link.json
for output in "--html $recorded/metadata" "--svg $recorded/$(ls "$recorded" | grep -m1 _0)" "--json link.json"; do
  expect 2 'it is part of the analyzed trace' "$rtexec" analyze missed $output
done
touch "$recorded/jobs.csv"
expect 2 'it is part of the analyzed trace' "$rtexec" analyze missed --csv "$recorded"
rm "$recorded/jobs.csv"
expect 0 '^$' diff -r before "$recorded"
for again in 1 2; do expect 4 '' "$rtexec" analyze missed --html missed/page.html; done
expect 2 'the recording lasts' "$rtexec" analyze missed --svg x.svg --window 100s..101s
expect 2 'needs --html or --svg' "$rtexec" analyze missed --window 1ms..2ms
expect 2 'requires --to-toml' "$rtexec" analyze missed --pwcet 1e-3
for option in --exceedance --margin --pwcet; do expect 2 "'nan' is not a number" "$rtexec" analyze missed --to-toml x.toml $option nan; done
expect 2 '' "$rtexec" analyze no-such-folder

# A run that keeps its promises, its execution times, and a promise made of them.
{ printf '[executive]\nduration="2s"\n'; task a 50ms 2ms; task b 80ms 3ms 'wcet_before="1ms"'; } > good.toml
expect 0 'proved' "$rtexec" simulate good.toml --execution uniform:0.5 --trace kept
expect 0 'all observed values are within them' "$rtexec" analyze kept --to-toml measured.toml
expect 0 'proved' "$rtexec" check good.toml --wcet measured.toml --json checked.json
expect 0 '^True$' ask checked.json "0 < d['tasks'][0]['wcet']['device_ns'] < 3000001"
{ printf '[executive]\nduration="1s"\n'; task b 80ms 3ms; } > other.toml
expect 0 'proved' "$rtexec" simulate other.toml --trace other
expect 0 'Wrote' "$rtexec" analyze other --to-toml measured.toml --add
expect 0 'proved' "$rtexec" check good.toml --wcet measured.toml
task c 50ms 1ms >> good.toml
expect 2 "task 'c': no measurement" "$rtexec" check good.toml --wcet measured.toml

# Chains: what the simulator measured, and the way of the longest reaction; what is above a bound is a breach.
sed "0,/^core = 0/s//&\ninput_delay = '8ms'/" "${hole%/*}/steering-chain.toml" > from-sampling.toml
for chains in from-sampling.toml "${hole%/*}/steering-chain.toml"; do
rm -rf steered
expect 0 'steer +reaction' "$rtexec" simulate "$chains" --execution uniform --trace steered --json steered.json
expect 0 '^Longest reaction of steer, to an event at .*: .* until job [0-9]+ of [a-z]+ was released$' "$rtexec" analyze steered --json chains.json --html chains.html
expect 0 '^same$' python3 - <<'PY'
import json
(told,), (found,) = (json.load(open(name))['chains'] for name in ('steered.json', 'chains.json'))
for key in ('reaction', 'age', 'reduced_age'):
    a, b = told[key + '_ns'], found[key]
    assert a['count'] > 100, a
    assert (a['count'], a['min'], a['mean'], a['max'], a['bound'], a['above_bound']) == (b['count'], b['min_ns'], b['mean_ns'], b['max_ns'], b['bound_ns'], b['above_bound']), (a, b)
way = found['worst']
pieces = ('until_release_ns', 'until_read_ns', 'core_ns', 'device_ns', 'waited_ns', 'held_ns')
assert [step['task'] for step in way['steps']] == ['camera', 'fusion', 'control'], way
assert sum(step[piece] for step in way['steps'] for piece in pieces) == way['reaction_ns'] == found['reaction']['max_ns'], way
assert told['from_sampling'] == found['from_sampling']
mean = sum(part['waits_ns'] + part['takes_ns'] for part in found['mean']['parts'])
assert found['mean']['reactions'] == found['reaction']['count'] and abs(mean - found['reaction']['mean_ns']) < 10, found
assert found['longest']['parts'][0]['waits_ns'] > found['longest']['parts'][1]['waits_ns'] and found['advice'], found
print('same')
PY
done
{ task a 50ms 10ms; task b 50ms 1ms; printf '[[chain]]\nname="short"\ntasks=["a", "b"]\n'; } > chained.toml
printf 'task,job,nominal_ns,requested_ns,device_begin_ns,device_end_ns,end_ns,outcome\na,0,0,0,0,49000000,2,in-time\nb,0,0,0,0,48000000,2,in-time\n' > long.csv
expect 4 'A BOUND WAS BROKEN' "$rtexec" simulate chained.toml --execution long.csv --trace broken
expect 4 '^BREACH: [0-9]+ of [0-9]+ reactions of chain short were above their bound of ' "$rtexec" analyze broken

# A lower WCET than observed is a breach.
{ printf '[executive]\nduration="1s"\n'; task a 50ms 2ms; } > short.toml
printf 'task,job,nominal_ns,requested_ns,device_begin_ns,device_end_ns,end_ns,outcome\na,0,0,0,0,2500000,2,in-time\n' > jobs.csv
expect 4 'A BOUND WAS BROKEN' "$rtexec" simulate short.toml --execution jobs.csv --trace breach
expect 4 'Valid WCETs need more jobs or a larger margin: rtexec profile' "$rtexec" analyze breach
expect 4 "took 2.50 ms for its part 'device', above its WCET of 2.00 ms" "$rtexec" analyze breach

# What execution times depend on, and what surrounded those above their WCETs; in JSON without being asked.
expect 4 'a device, job 0: 2.50 ms of 2.00 ms \(after: idle for 10.0 ms; beside: nothing\)' "$rtexec" analyze breach --causes --json breach.json
expect 0 "^20 device None idle for 10.0 ms \['beside', 'neighbour', 'pause'\]$" ask breach.json "d['excesses'], d['above_wcet'][0]['part'], d['above_wcet'][0]['pause'], d['above_wcet'][0]['neighbour'], sorted(f['factor'] for f in d['tasks'][0]['stages'][1]['factors'])"
expect 0 'On none of these \(x below 1.1\): .*a device' "$rtexec" analyze kept --causes
expect 0 '^0$' sh -c "'$rtexec' analyze kept | grep -c 'What execution times depend on' || true"
expect 2 'causes needs a trace' sh -c "echo 1ms > one.txt; '$rtexec' analyze one.txt --causes"

# A trace that is cut off, one of which a stream is missing, one of which an event was changed.
stream() { find "$1" -name 'events_*' -size +0 ! -name '*.idx' | sort | head -n 1; }
cp -r missed cut; file=$(stream cut); size=$(stat -c %s "$file"); truncate -s $((size / 2 + 13)) "$file"
expect '0 3 4' 'Note: ' "$rtexec" analyze cut
cp -r missed gone; rm "$(stream gone)"
expect '0 3 4' 'Note: ' "$rtexec" analyze gone
expect 0 '^caught [3-9], not [0-2]$' python3 - "$rtexec" <<'PY'
import pathlib, shutil, struct, subprocess, sys
# The end of m8's execution and job, which several events tell: each of them a nanosecond later. Only that its last part began or that its miss
# was told a little later contradicts nothing.
at, later = (struct.pack('<q', time) for time in (174_000_000, 174_000_001))
caught = unnoticed = 0
for stream in [path for path in pathlib.Path('missed').rglob('events_*') if path.suffix != '.idx']:
    data, place = stream.read_bytes(), -1
    while (place := data.find(at, place + 1)) >= 0:
        shutil.rmtree('changed', ignore_errors=True)
        shutil.copytree('missed', 'changed')
        ('changed' / stream.relative_to('missed')).write_bytes(data[:place] + later + data[place + 8:])
        told = subprocess.run([sys.argv[1], 'analyze', 'changed'], capture_output=True, text=True).stdout
        if 'DIFFERS' in told or 'INVALID' in told: caught += 1
        else: unnoticed += 1
print(f'caught {caught}, not {unnoticed}')
PY

# Samples from a file.
python3 - <<'PY'
import math, random
random.seed(2)
def write(name, values):
    with open(name, 'w') as file: file.writelines(f'{round(1e6 + 1e4 * value)}\n' for value in values)
def gumbel(): return -math.log(-math.log(random.random()))
write('gumbel.txt', [gumbel() for _ in range(20000)])
noise = [random.gauss(0, 1) for _ in range(20000)]
for i in range(1, len(noise)): noise[i] += 0.3 * noise[i - 1]
write('ar1.txt', noise)
write('few.txt', [gumbel() for _ in range(50)])
PY
expect 0 'exceeded with probability 1e-06: [0-9.]+ ms \[' "$rtexec" analyze gumbel.txt --json gumbel.json
expect 0 '^True$' ask gumbel.json "d['pot']['quantiles'][1]['low_ns'] < 1e6 + 1e4 * 13.8155 < d['pot']['quantiles'][1]['high_ns']"
expect 3 'No estimate' "$rtexec" analyze ar1.txt
expect 3 'No estimate' "$rtexec" analyze few.txt
printf '1.5ms\n2000000 # as a number\n\n' > mixed.txt
expect 3 '2 samples' "$rtexec" analyze mixed.txt
printf '12\nfast\n' > wrong.txt
expect 2 "wrong.txt, line 2: expected one execution time per line, .*, got 'fast'" "$rtexec" analyze wrong.txt
for time in nan inf 1e400 -5; do
  printf '12\n%s\n' "$time" > wrong.txt
  expect 2 "wrong.txt, line 2: .*, got '$time'" "$rtexec" analyze wrong.txt
done
expect 2 'wrong.txt is a file of execution times' "$rtexec" analyze wrong.txt --html x.html
exit $bad
