#!/bin/bash
# The demo under both orders, with a trace: admitted, footprints above 400 MB, nothing lost, no page fault, books that add up.
set -eu
folder=$1
build=${folder%/*}
make --no-print-directory BUILD="$build" "$build/demo.profile.toml"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
for order in edf static-priority; do
  "$folder/bin/rtexec" check config/demo.toml --order $order --json "$work/check.json"
  status=0
  "$folder/bin/rtexec" run config/demo.toml --order $order --duration 4s --trace "$work/$order" --json "$work/run.json" || status=$?
  # A machine that was held up may miss a deadline or a bound, and must then say so.
  [ $status = 0 ] || [ $status = 4 ]
  python3 - "$work/check.json" "$work/run.json" $status <<'EOF'
import json, sys
check, run = (json.load(open(f)) for f in sys.argv[1:3])
assert check["verdict"] == "proved", check
footprint = sum(t["memory"]["constant_bytes"] + t["memory"]["scratch_bytes"] for t in check["tasks"])
assert len(check["tasks"]) >= 4 and footprint > 400e6, footprint
assert (sys.argv[3] == "0") == (run["deadlines_kept"] and run["bounds_kept"]), run
assert run["trace"]["events"] > 0 and run["trace"]["lost"] == 0, run["trace"]
assert run["degraded"] or all(t["page_faults"] == 0 for t in run["threads"]), run["threads"]
for t in run["tasks"]:
    assert t["released"] >= 1 and t["failed"] == 0, t
EOF
done
