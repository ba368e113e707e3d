#!/bin/bash
# rtexec experiment isolation: the thesis's figures on the model, as tables, CSV, JSON and pictures, and what it refuses; the same on this machine, by
# what it counts, with rtexec calibrate bandwidth and what rtexec probe says of counters.
set -u
. test/support/expect.bash
enter "$1"

expect 0 'wrote 17 files to all' "$rtexec" experiment isolation --simulate -o all --json all.json
cat > shapes.py <<'EOP'
import csv, json, statistics
import xml.etree.ElementTree as xml
result = json.load(open("all.json"))
assert result["simulated"] is True and [mode["mode"] for mode in result["modes"]] == ["thesis", "rtexec"]
limits = [10, 100, 512, 1000, 10000]
workloads = ["winograd-256p", "winograd-512p", "winograd-1024p", "winograd-2048p", "yolo", "detectnet"]
best = dict(zip(workloads, [100, 100, 100, 100, 512, 100]))
speedups = {}
for mode in result["modes"]:
    assert [round(each / 1e9, 1) for each in mode["sweeps_bytes_per_second"]] == [11.3, 13.6, 14.4, 14.4, 14.4]
    assert [each["name"] for each in mode["workloads"]] == workloads
    for workload in mode["workloads"]:
        rows = workload["limits"]
        assert [row["limit_bytes_per_second"] for row in rows] == [limit * 1000000 for limit in limits] + [None]
        if mode["mode"] == "thesis": assert workload["best_limit_bytes_per_second"] == best[workload["name"]] * 1000000, workload
        for row in rows:
            performance = [each["performance"] for each in row["measures"]]
            assert [each["corunners"] for each in row["measures"]] == list(range(6))
            assert abs(statistics.fmean(performance) - row["mean"]) < 1e-9
            assert abs(statistics.pvariance(performance) - row["variance"]) < 1e-9
            for each, unlimited in zip(row["measures"], rows[-1]["measures"]):
                assert abs(100 * (each["performance"] / unlimited["performance"] - 1) - each["speedup_percent"]) < 1e-6
            speedups[mode["mode"], workload["name"], row["limit_bytes_per_second"]] = row["measures"][5]["speedup_percent"]
    runs = mode["executions"]
    assert runs["runs"] == 100000 and 0.17 < 1 - runs["with_limit"]["worst_ns"] / runs["without_limit"]["worst_ns"] < 0.23, runs
assert 13 < speedups["thesis", "winograd-256p", 100000000] < 14
assert 83 < speedups["thesis", "detectnet", 100000000] < 89
assert 41 < speedups["thesis", "yolo", 512000000] < 46
for name, collapse in ("detectnet", -70), ("yolo", -90):
    assert abs(speedups["thesis", name, 10000000] - collapse) < 3 and speedups["rtexec", name, 10000000] > 40

table = list(csv.DictReader(open("all/results.csv")))
assert len(table) == 2 * 6 * 6 * 6
for line in table:
    limit = None if line["limit_bytes_per_second"] == "none" else int(line["limit_bytes_per_second"])
    if line["corunners"] == "5": assert abs(float(line["speedup_percent"]) - speedups[line["mode"], line["workload"], limit]) < 1e-9
assert len(list(csv.DictReader(open("all/limits.csv")))) == 2 * 6 * 6
for mode in result["modes"]:
    runs = [line for line in csv.DictReader(open("all/runs.csv")) if line["mode"] == mode["mode"]]
    for key in "without_limit", "with_limit":
        lengths = [int(line[key + "_ns"]) for line in runs]
        expected = mode["executions"][key]
        assert (len(lengths), max(lengths), min(lengths)) == (100000, expected["worst_ns"], expected["least_ns"])
svg = "{http://www.w3.org/2000/svg}"
for workload in workloads:
    picture = xml.parse("all/speedup-" + workload + ".svg").getroot()
    assert len(picture.findall(svg + "polyline")) == 2 * 6
    assert {"solo", "corun5", "10", "10000", "none"} <= {text.text for text in picture.iter(svg + "text")}
    assert len(xml.parse("all/mean-" + workload + ".svg").getroot().findall(svg + "polyline")) == 2 * 2
for mode in "thesis", "rtexec":
    assert len(xml.parse("all/runs-" + mode + ".svg").getroot().findall(svg + "path")) == 2
EOP
python3 shapes.py || bad=1

# The same seed gives the same files, another one other executions and the same speed-ups.
few="--workloads yolo --runs 500"
expect 0 'not a measurement' "$rtexec" experiment isolation --simulate $few -o one
expect 0 '500 executions' "$rtexec" experiment isolation --simulate $few -o again
diff -r one again || bad=1
expect 0 '' "$rtexec" experiment isolation --simulate $few --seed 2 -o other
cmp -s one/runs.csv other/runs.csv && { echo "the seed changes nothing"; bad=1; }
cmp one/results.csv other/results.csv || bad=1

# What may be asked.
expect 0 '"mode": "rtexec"' "$rtexec" experiment isolation --simulate $few --modes rtexec --json -
expect 0 'limit +rtexec: solo +corun2' "$rtexec" experiment isolation --simulate $few --modes rtexec --corunners 2
expect 0 'limit +rtexec: solo +mean' "$rtexec" experiment isolation --simulate --workloads yolo --runs 0 --modes rtexec --corunners 0 -o solo
[ -e solo/runs.csv ] && { echo "runs.csv without runs"; bad=1; }
expect 0 '^ +50MB/s ' "$rtexec" experiment isolation --simulate $few --limits 50MB/s,60MB/s
expect 2 "did you mean 'detectnet'" "$rtexec" experiment isolation --simulate --workloads detecnet
expect 2 'use thesis or rtexec' "$rtexec" experiment isolation --simulate --modes other
expect 2 'does not ascend' "$rtexec" experiment isolation --simulate --limits 100MB/s,10MB/s
expect 2 'limits 100: ' "$rtexec" experiment isolation --simulate --limits 100
expect 2 'at least 1MB/s' "$rtexec" experiment isolation --simulate --runs-limit 0MB/s
expect 2 'there are only 5' "$rtexec" experiment isolation --simulate --corunners 6
expect 2 '' "$rtexec" experiment
expect 2 '' "$rtexec" experiment isolation --simulate --runs -1
expect 5 'cannot make this folder' "$rtexec" experiment isolation --simulate $few -o /dev/null/x
expect 5 'No space left' "$rtexec" experiment isolation --simulate $few --json /dev/full
expect 0 'simulate' "$rtexec" experiment isolation --help
expect 0 '--limits.*at least 1MB/s' bash -c "'$rtexec' experiment isolation --help | tr '\n' ' '"
expect 2 'there are only 5' "$rtexec" experiment isolation --simulate --corunners 6 -o none/of/these
echo 'of an earlier experiment' >earlier.json
"$rtexec" experiment isolation --simulate --runs 10000000 -o none/of/these --json earlier.json >cancelled.log 2>&1 & pid=$!
await 'grep -qs measuring cancelled.log'
[ -d none/of/these ] || { echo "no folder before the first measurement"; bad=1; }
expect_cancelled INT $pid cancelled.log
[ ! -e none ] || { echo "a cancelled experiment leaves a folder behind"; bad=1; }
[ "$(cat earlier.json*)" = 'of an earlier experiment' ] || { echo "a cancelled experiment changes the file of --json"; bad=1; }

# This machine. Where nothing counts memory traffic, all of it is exercised by page faults.
briefly="--corunners 1 --seconds 0.5"
small="$briefly --workloads winograd-256p --limits 20MB/s,100MB/s --runs 3"
expect 0 '\[(ok|note)\] bandwidth counter: core [0-9]+, cache-misses: ' "$rtexec" probe
expect 0 'bandwidth counter: core [0-9]+, page-faults: ' "$rtexec" probe
if "$rtexec" probe | grep -q '^.ok. bandwidth counter: core [0-9]*, cache-misses'; then
  expect '0 5' '^Measured on|no event counts' "$rtexec" experiment isolation $small # on the first core does not mean on all
else
  expect 5 'no event counts .*tried:' "$rtexec" experiment isolation $small
  expect 5 'cannot be counted by cache-misses: ' "$rtexec" experiment isolation $small
  expect 5 'event page-faults .*--simulate' "$rtexec" experiment isolation $small
fi
expect 2 'is not known: use page-faults' "$rtexec" experiment isolation $small --event nonsense
expect 2 'traffic generator causes none' "$rtexec" experiment isolation $small --event context-switches
expect 2 'excludes' "$rtexec" experiment isolation --simulate --event page-faults
expect 2 'did you mean .host' "$rtexec" experiment isolation $small --board hots
"$rtexec" probe > probed
if grep -q '^.ok. bandwidth counter: core [0-9]*, page-faults' probed && grep -qE '^.ok. SCHED_(FIFO|DEADLINE)' probed && [ "$(nproc)" -gt 1 ]; then
  by_pages="$small --event page-faults"
  expect 2 'mode thesis limits; use rtexec' "$rtexec" experiment isolation $by_pages --modes thesis
  expect 2 'less than one line of 4KiB' "$rtexec" experiment isolation $briefly --event page-faults --workloads winograd-256p --limits 1MB/s --runs 0
  expect 2 "did you mean 'winograd-512p'" "$rtexec" experiment isolation $briefly --event page-faults --workloads winograd-51p
  expect 0 'A substitute, not memory traffic' "$rtexec" experiment isolation $by_pages -o machine --json machine.json
  cat > machine.py <<'EOP'
import csv, json
import xml.etree.ElementTree as xml
result = json.load(open("machine.json"))
assert result["simulated"] is False and result["stand_in"] is True and result["event"] == "page-faults", result
assert any("A substitute, not memory traffic" in line for line in result["preface"])
[mode] = result["modes"]
assert mode["mode"] == "rtexec-stand-in" and "page-faults, a substitute" in mode["description"]
assert len(mode["sweeps_bytes_per_second"]) == 1 and mode["sweeps_bytes_per_second"][0] > 0
[workload] = mode["workloads"]
for row in workload["limits"]:
    assert [each["corunners"] for each in row["measures"]] == [0, 1]
    for each in row["measures"]:
        assert each["performance"] > 0 and 0 < each["mean_job_ns"] <= each["worst_job_ns"]
        if each["corunners"] == 0: assert each["corunners_bytes_per_second"] == 0, each
        elif row["limit_bytes_per_second"] is None: assert each["corunners_bytes_per_second"] > 0, each # limited, other programs may use its budget up
assert mode["executions"]["runs"] == 3
assert {line["mode"] for name in ("results", "limits", "runs") for line in csv.DictReader(open(f"machine/{name}.csv"))} == {"rtexec-stand-in"}
text = "{http://www.w3.org/2000/svg}text"
for picture in "speedup-winograd-256p", "mean-winograd-256p", "runs-rtexec-stand-in":
    assert any("rtexec-stand-in" in (each.text or "") for each in xml.parse(f"machine/{picture}.svg").iter(text)), picture
EOP
  python3 machine.py || bad=1
  "$rtexec" model yolov3-tiny --size 32 -o tiny.onnx >/dev/null
  expect 0 '^tiny: speed-up' "$rtexec" experiment isolation $briefly --event page-faults --limits 20MB/s --workloads tiny --model tiny.onnx --runs 0
  expect 0 'nothing is written' "$rtexec" calibrate bandwidth --seconds 0.5 --event page-faults --json pages.json
  python3 -c "
import json; result = json.load(open('pages.json'))
assert result['stand_in'] and all(core['lines'] > 0 and core['accuracy_percent'] > 50 for core in result['alone']) and 'file' not in result, result" || bad=1
  expect 2 'leave out -o' "$rtexec" calibrate bandwidth --seconds 0.05 --event page-faults -o pages.toml
fi

# A job's thread has the priority that the executive gives to it, if the kernel does not stop a thread that never rests; a measurement, however long, ends when nobody wants it any more.
if grep -q '^.ok. bandwidth counter: core [0-9]*, page-faults' probed && grep -qE '^.ok. SCHED_FIFO' probed && [ "$(nproc)" -gt 1 ]; then
  "$rtexec" experiment isolation --event page-faults --seconds 0.3 --limits 100MB/s --workloads winograd-256p --runs 10000000 >cancelled.log 2>&1 & pid=$!
  await 'grep -qsx isolated /proc/$pid/task/*/comm'
  wanted=97; grep -qE '^.(note|unknown). (RT throttling|fair server)' probed && wanted=0
  expect 0 "^$wanted\$" python3 - $pid <<'EOP'
import pathlib, sys
for task in pathlib.Path(f"/proc/{sys.argv[1]}/task").iterdir():
    if (task / "comm").read_text() == "isolated\n": print((task / "stat").read_text().rpartition(")")[2].split()[37])
EOP
  expect_cancelled INT $pid cancelled.log
  "$rtexec" experiment isolation --event page-faults --seconds 3600 >cancelled.log 2>&1 & pid=$!
  await 'grep -qs corun- /proc/$pid/task/*/comm'
  expect_cancelled INT $pid cancelled.log
fi

# What memory gives goes into the board's file, beside what its owner wrote.
printf '# mine\n' > board.toml; sed 's/^name = .*/name = "own" # kept/' "$OLDPWD/boards/host.toml" >> board.toml
expect 0 'wrote .memory. to board.toml' "$rtexec" calibrate bandwidth ./board.toml -o board.toml --seconds 0.5 --demand 1MB/s --json memory.json
expect 0 '^name = "own" # kept$' cat board.toml
python3 - <<'EOP' || bad=1
import json, tomllib
result, board = json.load(open("memory.json")), tomllib.load(open("board.toml", "rb"))
assert set(board["memory"]) == {"core_bandwidth", "saturation"} and result["file"] == "board.toml"
assert result["saturation_bytes_per_second"] >= result["core_bandwidth_bytes_per_second"] >= 1000000
assert len(result["alone"]) == len(result["together_bytes_per_second"]) and result["best_effort_bytes_per_second"] > 0
assert (result["event"] is None) == (result["alone"][0]["lines"] is None) == (result["not_counted"] != ""), result
EOP
expect 0 'wrote .memory. to host.toml' "$rtexec" calibrate bandwidth --seconds 0.05
expect 0 'core_bandwidth' cat host.toml
expect 0 '' "$rtexec" probe --board ./host.toml
expect 2 'excludes' "$rtexec" calibrate --jobs 3 bandwidth
expect 2 'demand 5: ' "$rtexec" calibrate bandwidth --demand 5
expect 2 'no board has this name' "$rtexec" calibrate bandwidth none
expect 5 'No such file' "$rtexec" calibrate bandwidth --seconds 0.05 -o no/such/folder/x.toml
expect 0 'demand' "$rtexec" calibrate bandwidth --help
exit $bad
