#!/bin/bash
# The scripts that compare swap policies on a GPU, in miniature on the host board: every policy runs, tables and pictures are whole. A busy
# machine may miss deadlines here (exit code 1).
set -eu
folder=$(realpath "$1")
here=$PWD
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cat > "$work/set.toml" <<'END'
board = "host"
[executive]
allow_degraded = true
profile = "set.profile.toml"
[device]
capacity = "96MiB"
chunk = "2MiB"
[swap]
policy = "pipelined"
[[task]]
name = "net"
model = "models/yolov3-tiny-32.onnx"
period = "600ms"
footprint = "64MiB"
swappable = "56MiB"
class = "state"
[[task]]
name = "a"
workload = "synthetic"
period = "300ms"
wcet = "5ms"
footprint = "16MiB"
swappable = "12MiB"
[[task]]
name = "b"
workload = "synthetic"
period = "400ms"
wcet = "5ms"
footprint = "30MiB"
swappable = "24MiB"
[[task]]
name = "c"
workload = "synthetic"
period = "400ms"
wcet = "5ms"
footprint = "30MiB"
swappable = "24MiB"
END
script() { # FILE OPTIONS...
  status=0
  python3 "$here/test/gpu/$1" --rtexec "$folder/bin/rtexec" --ballast none "${@:2}" > "$work/log" 2>&1 || status=$?
  cat "$work/log"
  [ $status -le 1 ] || { echo "$1: exit code $status"; exit 1; }
}

script case_study.py --seconds 6 --jobs 3 --output "$work/out" "$work/set.toml"
python3 - "$work/out" <<'END'
import json, pathlib, sys, xml.etree.ElementTree
out = pathlib.Path(sys.argv[1])
rows = json.loads((out / "case-study.json").read_text())["rows"]
assert sorted((row["task"], row["policy"]) for row in rows) == [(task, policy) for task in ("a", "b", "c", "net") for policy in ("pipelined", "rt-swap")]
assert all(row["jobs"] > 1 and 0 < row["latency_max_ms"] <= row["response_max_ms"] for row in rows), rows
assert all(sum(row["swap_volume_mib"] > 0 for row in rows if row["policy"] == policy) > 1 for policy in ("pipelined", "rt-swap")), rows
for picture, shape, least in (("latency.svg", "rect", 1 + 2 + 8), ("response.svg", "polyline", 6)):
    tree = xml.etree.ElementTree.parse(out / picture)
    shapes = tree.findall("{http://www.w3.org/2000/svg}" + shape)
    assert len(shapes) >= least and "nan" not in (out / picture).read_text(), picture
END

count() { script capacity_count.py --board host --cores 0,0 --capacity 96MiB --chunk 2MiB --scale-memory 0.004 --scale-wcet 0.05 --periods 300,500 --most 20 \
  --allow-degraded --seconds 1 --json "$work/counts.json" "$@"; }
count --check-only
python3 - "$work/counts.json" <<'END'
import json, sys
rows = {row["variant"]: row for row in json.load(open(sys.argv[1]))["rows"]}
assert len(rows) == 7 and all(row["proved"] > 4 and "ran" not in row for row in rows.values()), rows
assert rows["classes"]["proved"] == 20 > rows["rt-swap"]["proved"] and "device memory" in rows["rt-swap"]["proved_stopped_by"], rows
END
count --policies classes,rt-swap --budget 60
python3 - "$work/counts.json" <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
assert [row["variant"] for row in rows] == ["classes", "rt-swap"] and all(row["ran_stopped_by"] for row in rows), rows
END
