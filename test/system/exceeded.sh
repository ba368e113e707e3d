#!/bin/bash
# Parts above their WCETs: what the report, traces and exit codes say of them, and what on_wcet_exceeded does, simulated and run.
set -u
. test/support/expect.bash
enter "$1"
ask() { python3 -c "import json, sys; d = json.load(open('$1')); print($2)"; } # FILE.json EXPRESSION
drops() { babeltrace2 "$1" | grep -c 'job_skip: .*wcet-exceeded'; } # TRACE

# Simulated: of three recorded executions in turn the second one is above its WCET of 2 ms.
printf 'task,job,nominal_ns,requested_ns,device_begin_ns,device_end_ns,end_ns,outcome\na,0,0,0,0,1000000,2,in-time\na,1,0,0,0,9000000,2,in-time\na,2,0,0,0,1000000,2,in-time\n' > jobs.csv
for answer in tell skip-next stop; do
  { printf '[executive]\nduration="590ms"\n'; task a 50ms 2ms "on_wcet_exceeded=\"$answer\""; } > $answer.toml
done
expect 4 "Above its WCET.*: the device part of 'a', 4 times: at most 9.00 ms, WCET 2.00 ms" \
  "$rtexec" simulate tell.toml --execution jobs.csv --json tell.json
expect 0 '^12 0 4 duration$' ask tell.json "d['tasks'][0]['released'], d['tasks'][0]['skipped'], d['tasks'][0]['above_wcet']['device'], d['stopped_by']"
expect 4 '' "$rtexec" simulate skip-next.toml --execution jobs.csv --json skip-next.json --trace skip-next.trace
expect 0 '^9 3 3$' ask skip-next.json "d['tasks'][0]['released'], d['tasks'][0]['skipped'], d['tasks'][0]['above_wcet']['device']"
expect 0 '^3$' drops skip-next.trace
expect 4 '^  skipped releases of a: 3 because a part of the previous job exceeded its WCET$' "$rtexec" analyze skip-next.trace --json analyzed.json
expect 0 "^9 {'overrun': 0, 'stale': 0, 'wcet-exceeded': 3} None None None$" ask analyzed.json "d['tasks'][0]['released'], d['tasks'][0]['skipped_by'], d['tasks'][0]['invalid'], d['replay']['difference'], d['replay']['not_replayed']"
sed 's/^a,2,0,0,0,1000000/a,2,0,0,0,61000000/' jobs.csv > late.csv # and the third one lasts beyond the next release
expect 4 '' "$rtexec" simulate skip-next.toml --execution late.csv --trace late.trace
expect 4 '^  skipped releases of a: 2 because the previous job was unfinished, 2 because a part of the previous job exceeded its WCET$' "$rtexec" analyze late.trace
expect 4 'ended by WCET exceeded by a' "$rtexec" simulate stop.toml --execution jobs.csv --json stop.json --trace stop.trace
expect 0 '^2 59000000 True$' ask stop.json "d['tasks'][0]['released'], d['elapsed_ns'], d['deadlines_kept']"
expect 0 'run_end: .*WCET exceeded by a' babeltrace2 stop.trace

# Run: a network that takes longer than it is said to.
"$rtexec" model yolov3-tiny --size 32 -o tiny.onnx >/dev/null
for answer in tell skip-next stop; do
  printf '[executive]\nduration="2s"\nallow_degraded=true\n[[task]]\nname="net"\nmodel="tiny.onnx"\nperiod="50ms"\nwcet="1us"\nwcet_before="10ms"\nwcet_after="10ms"\non_wcet_exceeded="%s"\n' \
    "$answer" > $answer.toml
done
expect '0 4' "Above its WCET.*: the device part of 'net'" "$rtexec" run tell.toml --json tell.json
expect 0 '^True$' ask tell.json "d['tasks'][0]['above_wcet']['device'] == d['tasks'][0]['completed'] > 2"

# Beside the run: top counts what the report counts. The parts on the core have time for a machine that others use.
sed -i 's/^duration=.*/duration="60s"/; s/^period=.*/period="500ms"/; s/"10ms"/"200ms"/' tell.toml
"$rtexec" run tell.toml --json seen.json >seen.log 2>&1 & run=$!
seen_above() { "$rtexec" top $run --once --json top.json >top.txt 2>/dev/null && [ "$(ask top.json "d['tasks'][0]['above_wcet']['device'] > 2")" = True ]; }
await seen_above
await 'grep -q "> WCET" seen.log' # its own table
kill -INT $run; wait $run; status=$?
expect '0 4' 'Above its WCET' bash -c "cat seen.log; exit $status"
expect 0 '^True 0 0$' ask top.json "d['tasks'][0]['above_wcet']['device'] > 2, d['tasks'][0]['above_wcet']['before'], d['tasks'][0]['above_wcet']['after']"
expect 0 '  > WCET +now ' cat top.txt
expect 0 '  > WCET +p50 ' cat seen.log

expect '0 4' 'Above its WCET' "$rtexec" run skip-next.toml --json skip-next.json --trace run.trace
expect 0 '^True$' ask skip-next.json "d['tasks'][0]['skipped'] + 1 >= d['tasks'][0]['released'] > 2"
expect 0 '^[1-9][0-9]*$' drops run.trace
expect 4 '' "$rtexec" analyze run.trace --json analyzed.json
expect 0 '^True None None$' ask analyzed.json "d['tasks'][0]['skipped'] > 0, d['replay']['difference'], d['replay']['not_replayed']"
expect 4 'ended by WCET exceeded by net' "$rtexec" run stop.toml --json stop.json
expect 0 '^True WCET exceeded by net$' ask stop.json "d['tasks'][0]['released'] < 12, d['stopped_by']"

# A flight recorder writes what led to it where it is asked to.
sed -i 's/^duration=.*/duration="2s"/' tell.toml
expect '0 4' 'Snapshot .*: the device part of job [0-9]+ of net took .*, its WCET is 1.00 us' \
  "$rtexec" run tell.toml --flight-recorder snapshots --snapshot-above-wcet --json flight.json
expect 0 'device_end: ' bash -c "babeltrace2 snapshots/snapshot-1-*"
"$rtexec" run tell.toml --flight-recorder none >none.log; status=$?
expect '0 4' '' bash -c "exit $status"
expect 1 '' grep 'Snapshot .* WCET' none.log
expect 2 '[-][-]snapshot-above-wcet requires --flight-recorder' "$rtexec" run tell.toml --snapshot-above-wcet
exit $bad
