#!/bin/bash
# rtexec experiment memory: the paper's figures on the models of its boards, as tables, CSV, JSON and pictures, and what it refuses; the same on this
# machine's host device.
set -u
. test/support/expect.bash
enter "$1"

expect 0 'wrote 21 files to all' "$rtexec" experiment memory --simulate tx2 -o all --json all.json
cat > shapes.py <<'EOP'
import csv, json, statistics, sys
import xml.etree.ElementTree as xml
folder, simulated, workloads = sys.argv[1], sys.argv[2] == "simulated", int(sys.argv[3])
result = json.load(open(folder + ".json"))
assert result["simulated"] is simulated and result["source"] == ("model-tx2" if simulated else "host"), result["source"]
assert len(result["workloads"]) == workloads and not result["notes"], result["notes"]
table = list(csv.DictReader(open(folder + "/times.csv")))
assert len(table) == workloads * 8 * 3 and {line["source"] for line in table} == {result["source"]}
lines = {(line["workload"], int(line["size"]), line["policy"]): line for line in table}
for workload in result["workloads"]:
    for size in workload["sizes"]:
        for policy in size["policies"]:
            line = lines[workload["workload"], size["size"], policy["policy"]]
            assert statistics.median_low(policy["times_ns"]) == policy["median_ns"] == int(line["median_ns"])
            shortest = min(policy["times_ns"])
            error = 100 * abs(policy["model"]["ns"] - shortest) / shortest
            assert abs(error - policy["model"]["error_percent"]) < 1e-6 and abs(error - float(line["model_error_percent"])) < 1e-6
        memory = {each["policy"]: each["memory_bytes"] for each in size["policies"]}
        # twice, but for what only the device knows: the factors of gaussian, a row of pathfinder
        assert memory["M"] == memory["H"] and 1.9 < memory["D"] / memory["M"] <= 2, (workload["workload"], memory)
for workload in {line["workload"] for line in table}:
    for policy in "DMH":
        errors = [float(line["model_error_percent"]) for line in table if (line["workload"], line["policy"]) == (workload, policy)]
        [line] = [line for line in csv.DictReader(open(folder + "/errors.csv")) if (line["workload"], line["policy"]) == (workload, policy)]
        assert abs(statistics.fmean(errors) - float(line["mean_error_percent"])) < 1e-6 and abs(max(errors) - float(line["worst_error_percent"])) < 1e-6
assert len(result["mixes"]) == 8
for mix in result["mixes"]:
    named = {each["name"]: each for each in mix}
    assert list(named) == ["D", "MO", "CO"]
    for each in mix:
        assert max(task["response_ns"] for task in each["tasks"]) <= each["length_ns"] * 1.5 # medians of their own
        assert abs(each["memory_percent_of_d"] - 100 * each["memory_bytes"] / named["D"]["memory_bytes"]) < 1e-6
    assert named["CO"]["memory_percent_of_d"] <= 60
    if simulated: assert named["CO"]["length_ns"] <= 1.03 * min(named["D"]["length_ns"], named["MO"]["length_ns"])
if simulated:
    assert result["model"]["mean_percent"] <= 9 and result["model"]["worst_percent"] <= 20, result["model"]
    assert {line["workload"]: line["policy"] for line in csv.DictReader(open(folder + "/policies.csv"))} == {
        "bfs": "M", "pathfinder": "M", "needleman-wunsch": "M", "nearest-neighbour": "M", "vector-add": "M", "gaussian": "D", "hotspot": "M"}
svg = "{http://www.w3.org/2000/svg}"
assert len(xml.parse(folder + "/model-gaussian.svg").getroot().findall(svg + "polyline")) == 6
for name in "alone", "mix-memory", "mix-responses":
    picture = xml.parse(folder + "/" + name + ".svg").getroot()
    assert len(picture.findall(svg + "polyline")) == 3
    assert any((text.text or "").endswith("a model of a Jetson TX2" if simulated else "board 'host'") for text in picture.iter(svg + "text"))
EOP
python3 shapes.py all simulated 11 || bad=1

# The same seed gives the same files, another one other times.
expect 0 '^A model of a Jetson AGX Xavier, not a measurement' "$rtexec" experiment memory --simulate xavier -o one
expect 0 'CO takes at most' "$rtexec" experiment memory --simulate xavier -o again
diff -r one again || bad=1
expect 0 '' "$rtexec" experiment memory --simulate xavier --seed 2 -o other
cmp -s one/times.csv other/times.csv && { echo "the seed changes nothing"; bad=1; }
expect 0 '"source": "model-tx2"' "$rtexec" experiment memory --simulate tx2 --workloads bfs --json -

expect 2 "did you mean 'hotspot'" "$rtexec" experiment memory --simulate tx2 --workloads hotpsot
expect 2 'simulate' "$rtexec" experiment memory --simulate orin
expect 2 'excludes' "$rtexec" experiment memory --simulate tx2 --board host
expect 2 'repeats' "$rtexec" experiment memory --simulate tx2 --repeats 0
expect 2 'largest 10: ' "$rtexec" experiment memory --largest 10
expect 2 'at least 1MiB' "$rtexec" experiment memory --largest 1KiB
expect 2 'did you mean .host' "$rtexec" experiment memory --board hots
expect 5 'cannot make this folder' "$rtexec" experiment memory --simulate tx2 -o /dev/null/x

# This machine.
expect 0 '^Measured on core' timeout 1800 "$rtexec" experiment memory --workloads vector-add,gaussian --repeats 1 -o machine --json machine.json
python3 shapes.py machine measured 2 || bad=1
timeout 1800 "$rtexec" experiment memory --repeats 1000 -o none --json none.json >cancelled.log 2>&1 & pid=$!
await '[ -d none ]'
expect_cancelled INT $pid cancelled.log
[ ! -e none ] || { echo "a cancelled experiment leaves a folder behind"; bad=1; }

exit $bad
