#!/bin/bash
# The demo under both orders, with a trace: admitted, footprints at least twice the capacity, swapped, nothing lost, no page fault, books that add up.
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
  python3 - "$work/check.json" "$work/run.json" $status <<'EOF'
import json, sys, tomllib
check, run = (json.load(open(f)) for f in sys.argv[1:3])
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
EOF
done
