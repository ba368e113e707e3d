#!/bin/bash
# The demo under both orders, with a trace: admitted, footprints at least twice the capacity, swapped, nothing lost, no page fault, books that add up.
# Its recording replays to the last decision, and every job's causes sum to its response time.
# A machine on which its execution times, with their margin, fill more than three quarters of the device is too slow to ask for the promise.
set -eu
folder=$1
build=${folder%/*}
make --no-print-directory BUILD="$build" "$build/demo-swap.profile.toml"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
for order in edf static-priority; do
  "$folder/bin/rtexec" check config/demo-swap.toml --order $order --json "$work/check.json" || [ $? = 3 ]
  status=0
  "$folder/bin/rtexec" run config/demo-swap.toml --force --order $order --duration 6s --trace "$work/$order" --json "$work/run.json" || status=$?
  # A machine that was held up may miss a deadline or a bound, and must then say so.
  [ $status = 0 ] || [ $status = 4 ]
  "$folder/bin/rtexec" analyze "$work/$order" --json "$work/analysis.json" --csv "$work/$order.csv" || [ $? = 4 ]
  python3 - "$work/check.json" "$work/run.json" $status "$work/analysis.json" "$work/$order.csv/jobs.csv" <<'EOF'
import csv, json, sys, tomllib
check, run, analysis = (json.load(open(f)) for f in (sys.argv[1], sys.argv[2], sys.argv[4]))
periods = [task["period"] for task in tomllib.load(open("config/demo-swap.toml", "rb"))["task"]]
busy = sum(t["wcet"]["device_ns"] / (float(period.removesuffix("ms")) * 1e6 if period.endswith("ms") else float(period.removesuffix("s")) * 1e9)
           for t, period in zip(check["tasks"], periods))
assert check["verdict"] == "proved" or busy > 0.75, (busy, check)
footprint = sum(t["memory"]["constant_bytes"] + t["memory"]["scratch_bytes"] for t in check["tasks"])
assert footprint >= 2 * check["device"]["capacity_bytes"], (footprint, check["device"])
assert check["swap"]["policy"] == "pipelined" and sum(t["swap_volume_bytes"] for t in check["tasks"]) > 0, check
assert run["swap"]["in_bytes"] > 0 and run["swap"]["dropped_bytes"] > 0 and run["swap"]["out_bytes"] == 0, run["swap"]
assert (sys.argv[3] == "0") == (run["deadlines_kept"] and run["bounds_kept"]), run
assert run["trace"]["events"] > 0 and run["trace"]["lost"] == 0, run["trace"]
assert run["degraded"] or all(t["page_faults"] == 0 for t in run["threads"]), run["threads"]
for t in run["tasks"]:
    assert t["released"] >= 1 and t["failed"] == 0, t
replay = analysis["replay"]
assert replay["complete"] and replay["inputs"] > 0 and not replay["difference"] and not replay["not_replayed"], replay
for told, found in zip(run["tasks"], analysis["tasks"]):
    response = found["stages"][-1]
    assert found["invalid"] is None and found["unknown"] == 0, found
    assert (told["released"], told["completed"], told["skipped"]) == (found["released"], found["completed"], found["skipped"]), (told, found)
    assert told["response_ns"]["max"] == response["max_ns"] and told["response_ns"]["min"] == response["min_ns"], (told, response)
jobs = list(csv.DictReader(open(sys.argv[5])))
assert len(jobs) >= sum(t["completed"] for t in run["tasks"]) > 0
plain = {"task", "job", "nominal_ns", "response_ns", "deadline_ns", "outcome"}
for job in jobs:
    assert sum(int(time) for cause, time in job.items() if cause not in plain) == int(job["response_ns"]), job
EOF
done
