#!/bin/bash
# rtexec experiment init: the shapes of the paper on its model, as tables, CSV, JSON and pictures; the same on the host device; what a run's trace tells of it; what it refuses.
set -u
. test/support/expect.bash
enter "$1"

for board in tx2 xavier; do
  expect 0 'wrote 8 files to' "$rtexec" experiment init --simulate $board -o $board --json $board.json
done
expect 0 'A model of board tx2 .*not a measurement' "$rtexec" experiment init --simulate tx2
cat > shapes.py <<'EOP'
import csv, json
import xml.etree.ElementTree as xml
printed = {"tx2": {"matrix-add": 76.2, "matrix-multiply": 99.4, "needleman-wunsch": 59.4},
           "xavier": {"matrix-add": 93.4, "matrix-multiply": 97.3, "needleman-wunsch": 87.4}}
svg = "{http://www.w3.org/2000/svg}"
for board in printed:
    result = json.load(open(board + ".json"))
    assert result["simulated"] is True and result["source"] == "model of " + board
    assert len(result["workloads"]) == 4
    for workload in result["workloads"]:
        last = workload["sizes"][-1]["initialisation"][0]
        gained = 100 * (1 - last["enhanced_ns"] / last["host_ns"])
        if workload["name"] in printed[board]: assert abs(gained - printed[board][workload["name"]]) < 2, (board, workload["name"], gained)
        assert last["enhanced_ns"] == min(each["time_ns"] for each in last["tiles"])
        small = workload["small"]
        crossed = [each["bytes"] for each in small if each["one_tile_ns"] < each["host_ns"]]
        assert workload["crossover_bytes"] == crossed[0], (board, workload["name"])
    lanes = result["timeline"]["tiles"]
    assert all(one["make_begin_ns"] >= one["prefetch_end_ns"] for one in lanes), "a tile is there before it is made"
    assert any(one["make_begin_ns"] < after["prefetch_end_ns"] for one, after in zip(lanes, lanes[1:])), "overlap"
    for name in "initialisation", "kernel", "crossover", "timeline":
        lines = list(csv.DictReader(open(f"{board}/{name}.csv")))
        assert lines and {line["source"] for line in lines} == {"model of " + board}
    assert len(list(csv.DictReader(open(board + "/initialisation.csv")))) == 4 * 6 * (2 + 6)
    for name in "initialisation-on-host", "kernel", "crossover", "timeline":
        texts = {text.text for text in xml.parse(f"{board}/{name}.svg").getroot().iter(svg + "text")}
        assert any("model of " + board in text for text in texts if text), name
    assert len(xml.parse(board + "/initialisation-on-host.svg").getroot().findall(svg + "polyline")) == 4 * 3
EOP
python3 shapes.py || bad=1
expect 0 '' "$rtexec" experiment init --simulate tx2 -o again
diff -r tx2 again || bad=1

# The host device: every way is the host's own, and there is nothing to cross over.
small="--workloads matrix-add,random-access --sizes 16KiB,64KiB --tiles 2 --repeat 2"
expect 0 'host device, on which the host initialises in every case' "$rtexec" experiment init $small -o here --json here.json
python3 - <<'EOP' || bad=1
import json, pathlib
result = json.load(open("here.json"))
assert result["simulated"] is False and result["timeline"] is None
assert all(workload["crossover_bytes"] is None and workload["small"] == [] for workload in result["workloads"])
assert all(size["kernel_behind_host_ns"] > 0 for workload in result["workloads"] for size in workload["sizes"])
assert sorted(path.name for path in pathlib.Path("here").iterdir()) == ["initialisation-on-host.svg", "initialisation.csv", "kernel.csv", "kernel.svg"]
EOP

# A recorded run tells what loading took: here the host makes first contents.
printf '[executive]\nduration="2s"\nallow_degraded=true\n' > run.toml
printf '[[task]]\nname="conv"\nworkload="winograd"\nresolution=64\nmemory_policy="M"\nperiod="100ms"\nwcet="20ms"\n' >> run.toml
expect '0 4' 'conv' "$rtexec" run run.toml --force --trace run.trace
expect '0 3 4' '^  conv in [0-9.]+ [um]s; first contents of 1 buffer, .* by the host$' "$rtexec" analyze run.trace --json run.json --perfetto run.perfetto
python3 - <<'EOP' || bad=1
import json
run = json.load(open("run.json"))
loading = run["tasks"][0]["loading"]
made = loading["buffers"][0]["made"]
assert loading["loaded"]["begin_ns"] <= made["begin_ns"] <= made["end_ns"] <= loading["loaded"]["end_ns"] < 0 == run["run"]["start_ns"], loading
assert loading["bytes"] == loading["buffers"][0]["bytes"] >= 36 * 1024 and loading["buffers"][0]["by"] == "host", loading
slices = open("run.perfetto", "rb").read()
assert all(name in slices for name in (b"conv: loaded", b"conv, buffer 0: first contents", b"conv, job 0: on the device"))
EOP
# The same of tiles that a GPU in software made, a prefetch and a making each.
if [ -x "$folder/test/rtexec-tests" ]; then
  expect 0 'PASSED' env RTEXEC_TRACE="$work/tiles" "$folder/test/rtexec-tests" --gtest_brief=1 --gtest_filter=Trace.LoadingIsRecordedTileByTile
  expect '0 3 4' '^  sum in .* 2 buffers, 1.53 MiB, in .*: 14 tiles on the device, prefetched for .*, made for .*, both at once for 0 ns$' \
    "$rtexec" analyze tiles --json tiles.json --perfetto tiles.perfetto
  python3 - <<'EOP' || bad=1
import json
loading = json.load(open("tiles.json"))["tasks"][0]["loading"]
slices = open("tiles.perfetto", "rb").read()
for number, buffer in enumerate(loading["buffers"]):
    assert len(buffer["tiles"]) == 7
    for tile, each in enumerate(buffer["tiles"]):
        assert each["prefetched"]["end_ns"] <= each["made"]["begin_ns"] < each["made"]["end_ns"] <= buffer["made"]["end_ns"], each
        assert all(f"sum, buffer {number}, tile {tile}: {what}".encode() in slices for what in ("prefetch", "make"))
EOP
fi

# What it refuses.
expect 2 'does not ascend' "$rtexec" experiment init --simulate tx2 --sizes 2MiB,1MiB
expect 2 'sizes 100TiB: its workloads have at most 2.00 GiB of them' "$rtexec" experiment init --sizes 1MiB,100TiB
expect 2 'at least 4KiB' "$rtexec" experiment init --simulate tx2 --sizes 100B
expect 2 "did you mean 'matrix-add'|use matrix-add" "$rtexec" experiment init --simulate tx2 --workloads matrix-ad
expect 2 '' "$rtexec" experiment init --simulate nano
expect 2 'excludes' "$rtexec" experiment init --simulate tx2 --board host
expect 2 '' "$rtexec" experiment init --simulate tx2 --tiles 65
expect 5 'cannot make this folder' "$rtexec" experiment init --simulate tx2 -o /dev/null/x
expect 2 "board 'host' has no GPU" "$rtexec" experiment init $small --trace init.trace
expect 2 'excludes' "$rtexec" experiment init --simulate tx2 --trace init.trace
expect 2 '' ls init.trace
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  mkdir withheld; chmod 755 . withheld
  expect 5 'withheld: error: cannot write to this folder: Permission denied' setpriv --reuid=65534 --regid=65534 --clear-groups "$rtexec" experiment init --simulate tx2 -o withheld
fi
expect 5 'No space left' "$rtexec" experiment init --simulate tx2 --json /dev/full
"$rtexec" experiment init --repeat 1000 --sizes 64MiB >cancelled.log 2>&1 & pid=$!
await 'grep -qs measuring cancelled.log'
expect_cancelled INT $pid cancelled.log
exit $bad
