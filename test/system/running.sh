#!/bin/bash
# Commands that run or measure: exit codes, the files that they write or leave alone, and signals.
set -u
. test/support/expect.bash
enter "$1"
. "$OLDPWD/test/support/sets.bash"

"$rtexec" model yolov3-tiny --size 32 -o tiny.onnx >/dev/null

expect 3 '--force' "$rtexec" run overload.toml
expect 4 'MISSED' "$rtexec" run overload.toml --force
expect '0 4' 'Report after' "$rtexec" run good.toml --json report.json
expect 0 '"released"' cat report.json
mkdir outputs && { cat good.toml; printf '[output]\njobs="jobs.csv"\njson="report.json"\n'; } > outputs/set.toml
expect '0 4' 'Report after' "$rtexec" run outputs/set.toml --jobs other.csv
expect 0 '"released"' cat outputs/report.json
expect 0 'a,0,' cat other.csv
[ ! -e outputs/jobs.csv ] || { echo "the command line does not come first"; bad=1; }
expect 5 '/no/such/folder/x.json: error: cannot write' "$rtexec" run good.toml --json /no/such/folder/x.json

# A GPU that is not there.
printf 'board="rtx"\n[device]\ncapacity="1GiB"\n[[task]]\nname="net"\nmodel="tiny.onnx"\nperiod="100ms"\nwcet="1ms"\n' > gpu.toml
if ! "$rtexec" infer tiny.onnx --board rtx >/dev/null 2>&1; then
  expect 5 'driver' "$rtexec" run gpu.toml
  expect 5 'driver' "$rtexec" profile gpu.toml
fi

# Measured on one device, run on another.
printf '[executive]\nduration="300ms"\nallow_degraded=true\n[[task]]\nname="net"\nmodel="tiny.onnx"\nperiod="10s"\n' > measured.toml
expect 0 'wrote measured.profile.toml' "$rtexec" profile measured.toml --jobs 1 --margin 5
expect 0 '^Not settled.{1,69}$' "$rtexec" profile measured.toml --jobs 1 --margin 5
expect 0 '"tuned": false' "$rtexec" check measured.toml --json -
expect '0 4' 'Device memory in use on host' "$rtexec" run measured.toml --json measured.json
expect 0 '"context_bytes": 0' cat measured.json
expect 0 '"device_fault": null' cat measured.json
expect 0 '^Measured on host, .*\(measured.profile.toml\)' "$rtexec" check measured.toml --explain
expect 0 'execution times hold: measured on this machine on 20..-..-.. with margin' "$rtexec" check measured.toml
expect 0 'measured +jobs +first part' "$rtexec" check measured.toml --json checked.json
expect 0 '^growth [1-9]' python3 -c "import json; e = json.load(open('checked.json'))['measured'][0]; print(e['method']['device'], e['samples'])"
expect 0 '^[1-9][0-9]* True' python3 -c "import json; e = json.load(open('checked.json'))['measured'][0]; l = e['layers']; print(l['pieces'], 0 < l['sum_ns'] <= e['wcet']['device_ns'])"
sed 's/^pieces_sum = .*/pieces_sum = "1s"/; s/^method = .*/method = "layers"/; s/^pieces = .*/pieces = 61/; s/^wcet = .*/wcet = "1s"/' measured.profile.toml > layers.toml
expect '0 3' '1\.00 s x[0-9.]+ .61 pieces.' "$rtexec" check measured.toml --wcet layers.toml
cp measured.profile.toml once.profile.toml
sed -n '/^\[\[task/,$ s/^name = "net"/name = "other"/; /^\[\[task/,$ p' once.profile.toml >> measured.profile.toml
expect 0 'and those of the profile before' "$rtexec" profile measured.toml --jobs 2 --margin 5 --add
expect 0 '^1$' grep -c '^name = "other"' measured.profile.toml
expect 0 '^True$' python3 - <<'PY'
import tomllib
once, more = (tomllib.load(open(f'{name}.profile.toml', 'rb'))['task'][0] for name in ('once', 'measured'))
print(more['samples'] >= once['samples'] + 2 and more['tuning' if 'tuning' in once else 'name'] == once['tuning' if 'tuning' in once else 'name']
      and more['longest'][:len(once['longest'])] == once['longest'])
PY
sed 's/^machine = .*/machine = "another"/' once.profile.toml > elsewhere.toml
expect 2 'it was measured on .another' "$rtexec" profile measured.toml -o elsewhere.toml --jobs 1 --add
expect 2 'No such file' "$rtexec" profile measured.toml -o none.toml --jobs 1 --add
mv once.profile.toml whole.profile.toml
cp measured.profile.toml whole.profile.toml
sed -i 's/^workload = "dnn-/&tuned-/' measured.profile.toml
expect 2 "its measurement is out of date" "$rtexec" check measured.toml
cp whole.profile.toml measured.profile.toml
sed -i 's/^device = "host"/device = "NVIDIA H200"/' measured.profile.toml
expect 5 "was measured on device 'NVIDIA H200', but this device is 'host'" "$rtexec" run measured.toml

# What swapping costs goes into a board's file, which then reads.
expect 0 '^wrote swap costs and chunk = .* to calibrated.toml: name it in task sets' "$rtexec" calibrate --chunk 64KiB --volume 256KiB --jobs 3 -o calibrated.toml --json calibration.json
expect 0 'a first estimate: a chunk of 64.0 KiB takes .* to measure 2 chunk sizes in 5 runs will take about .* .--chunk SIZE measures' \
  "$rtexec" calibrate --chunk 64KiB,128KiB --volume 256KiB --jobs 3 -o calibrated.toml
rm calibrated.toml
expect 0 'to measure 1 chunk size in' "$rtexec" calibrate --chunk 64KiB --volume 256KiB --jobs 3 -o calibrated.toml
expect 0 '"in_per_chunk_ns"' cat calibration.json
expect 0 'name = "host"' cat calibrated.toml
expect 0 "device of board 'host': host" "$rtexec" probe --board ./calibrated.toml
expect 0 '^wrote swap costs and chunk = .* to calibrated.toml: name it in task sets' "$rtexec" calibrate ./calibrated.toml --store file:calibration.swap --chunk 128KiB --volume 512KiB --jobs 3 -o calibrated.toml
expect 0 'store = "pinned"' cat calibrated.toml
expect 0 'store = "file"' cat calibrated.toml
expect 0 '^128KiB$' python3 -c "import tomllib; print(tomllib.load(open('calibrated.toml', 'rb'))['chunk'])" # 64KiB has no costs of a file
# What is there already is measured, and keeps its owner's lines and the costs that were not measured anew.
sed -i 's/^capacity = .*/capacity = "1GiB" # mine/' calibrated.toml
expect 0 'measures the board of calibrated.toml' "$rtexec" calibrate host --chunk 256KiB --volume 512KiB --jobs 3 -o calibrated.toml
expect 0 '^capacity = "1GiB" # mine$' cat calibrated.toml
expect 0 '^pinned 64KiB pinned 256KiB .* file 128KiB$' python3 -c "import tomllib
print(*(word for cost in tomllib.load(open('calibrated.toml', 'rb'))['swap_cost'] for word in (cost['store'], cost['chunk'])))"
expect 0 '^wrote swap costs and chunk = .* to host.toml: name it in task sets' "$rtexec" calibrate host --chunk 64KiB --volume 256KiB --jobs 3
echo '# mine' >> host.toml
expect 0 '^wrote swap costs and chunk = .* to host.toml: name it in task sets' "$rtexec" calibrate host --chunk 64KiB --volume 256KiB --jobs 3
expect 0 '^# mine$' tail -n 1 host.toml
rm host.toml
cp broken.toml not-a-board.toml
expect 2 'not-a-board.toml: error: .* is not a board; correct it' "$rtexec" calibrate host --chunk 64KiB --volume 256KiB --jobs 3 -o not-a-board.toml
cmp broken.toml not-a-board.toml || bad=1
expect 2 'calibrated.toml: error: .* with device = "host"' "$rtexec" calibrate h200 -o calibrated.toml
expect 2 'board "nobody": no board has this name' "$rtexec" calibrate --chunk 64KiB nobody
expect 2 '[-][-]chunk 1000B: not a whole number of pages' "$rtexec" calibrate --chunk 1000B -o calibrated.toml
expect 2 '1MiB is larger than the swapped volume' "$rtexec" calibrate --chunk 1MiB --volume 512KiB -o calibrated.toml
expect 2 '[-][-]store tape: use pinned, pageable or file:PATH' "$rtexec" calibrate --store tape -o calibrated.toml
expect 5 'No such file' "$rtexec" calibrate --chunk 64KiB -o no/such/folder/x.toml

# What memory gives takes long to measure, and ends at once when nobody wants it any more.
for signal in INT TERM; do
  "$rtexec" calibrate bandwidth --seconds 3600 -o cancelled.toml >cancelled.log 2>&1 & pid=$!
  await 'grep -qs corun- /proc/$pid/task/*/comm'
  expect_cancelled $signal $pid cancelled.log
  [ ! -e cancelled.toml ] || { echo "a cancelled calibration was written"; bad=1; }
done

# The same set from somewhere else, and into a trace; a trace is never written over another one.
mkdir elsewhere && (cd elsewhere && expect '0 4' '0 lost' "$rtexec" run ../good.toml --trace t)
expect 2 'elsewhere/t' "$rtexec" run good.toml --trace elsewhere/t
for picture in --html --svg; do expect 5 'No space left' "$rtexec" analyze elsewhere/t $picture /dev/full; done

# One line for each job, as many as the report counts.
expect '0 4' 'Verdict' "$rtexec" run good.toml --jobs jobs.csv --json jobs.json
expect 0 '^task,job,nominal_ns,requested_ns,device_begin_ns,device_end_ns,end_ns,device_executed_ns,outcome$' head -n 1 jobs.csv
expect 0 '^same$' python3 -c "import csv, json
released = sum(task['released'] for task in json.load(open('jobs.json'))['tasks'])
print('same' if released == len(list(csv.DictReader(open('jobs.csv')))) > 0 else 'other')"
expect 5 'no/such/folder' "$rtexec" run good.toml --jobs no/such/folder/jobs.csv

# A profile that is not finished, or cannot be written, leaves the old one as it was, and nothing beside it.
cp measured.profile.toml whole.profile.toml
for signal in INT TERM; do
  rm -f cancelled.log
  output=measured.profile.toml left='measured.profile.toml is unchanged'
  [ $signal = INT ] || output=new.profile.toml left='nothing was written'
  "$rtexec" profile measured.toml -o $output --jobs 1000000 >cancelled.log 2>&1 & pid=$!
  await 'grep -qs measuring cancelled.log'
  kill -$signal $pid; wait $pid; status=$?
  [ $status = 5 ] && grep -q "was cancelled: $left" cancelled.log || { echo "SIG$signal: exit $status"; cat cancelled.log; bad=1; }
done
expect 5 'No such file' "$rtexec" profile measured.toml -o no/such/folder/x.toml
cmp measured.profile.toml whole.profile.toml || bad=1
[ "$(echo *.profile.toml*)" = 'measured.profile.toml whole.profile.toml' ] || { echo "left behind: $(echo *.profile.toml*)"; bad=1; }

# A signal ends the run cleanly, with its report.
for signal in INT TERM; do
  sed 's/300ms/60min/' good.toml > long.toml
  "$rtexec" run long.toml --json "$signal.json" >"$signal.log" 2>&1 & pid=$!
  await 'has_released $pid'; kill -$signal $pid; wait $pid; status=$?
  [ $status = 0 ] || [ $status = 4 ] || { echo "SIG$signal: exit $status"; cat "$signal.log"; bad=1; }
  grep -q '"stopped_by": "request"' "$signal.json" || { echo "SIG$signal: no report"; bad=1; }
done

# Two at once are one request; SIGUSR1 is for flight recorders.
"$rtexec" run long.toml --json echo.json >echo.log 2>&1 & pid=$!
await 'has_released $pid'; kill -USR1 $pid; sleep 0.1; kill -TERM $pid; kill -TERM $pid; wait $pid; status=$?
[ $status = 0 ] || [ $status = 4 ] || { echo "two signals at once: exit $status"; cat echo.log; bad=1; }
grep -q '"stopped_by": "request"' echo.json || { echo "two signals at once: no report"; bad=1; }

# Closed standard streams: a trace is recorded all the same, and what cannot be said is told.
"$rtexec" run good.toml --trace closed.trace --json closed.json <&- >closed.log 2>&1; status=$?
[ $status = 0 ] || [ $status = 4 ] || { echo "without standard input: exit $status"; cat closed.log; bad=1; }
grep -q '"events"' closed.json || { echo "without standard input: no trace"; bad=1; }
"$rtexec" check good.toml >&- 2>closed.log; [ $? = 5 ] && grep -q 'standard output' closed.log || { echo "without standard output:"; cat closed.log; bad=1; }
exit $bad
