#!/bin/bash
# rtexec sweep: tables, files, going on after a stop, and what it refuses.
set -u
. test/support/expect.bash
enter "$1"
own="--n 4 --utilisation 0.3 --period 100ms..1s --footprint 1GiB..2GiB --swappable 0.8 --capacity 5GiB --chunk 64MiB --in-per-chunk 3ms --out-per-chunk 3ms"

# Every preset, as a table, CSV, JSON and a picture.
for preset in rt-swap-fig7a rt-swap-fig7b rt-swap-fig7c rt-swap-wide; do
  expect 0 'one-process' "$rtexec" sweep --preset $preset --sets 20 -o $preset --json $preset.json
done
cat > shapes.py <<'EOF'
import csv, json, sys
import xml.etree.ElementTree as xml
varied = {"rt-swap-fig7a": ("n", range(4, 14)), "rt-swap-fig7b": ("reduced_percent", range(0, 71, 10)),
          "rt-swap-fig7c": ("high_resolution", range(0, 11)), "rt-swap-wide": ("n", range(7, 21))}
tests = ["theorem1", "baker", "demand", "pipelined-h1", "pipelined", "pipelined-constant", "classes", "one-process"]
for preset, (name, values) in varied.items():
    result = json.load(open(preset + ".json"))
    assert (result["preset"], result["varied"], result["tests"], result["sets"], result["seed"]) == (preset, name, tests, 20, 1), result
    assert [row[name] for row in result["rows"]] == list(values)
    for row in result["rows"]:
        assert set(row) == {name, "sets"} | set(tests) and row["sets"] == 20
        assert all(0 <= row[test] <= 100 and row[test] % 5 == 0 for test in tests)
        assert row["theorem1"] <= row["baker"] + 5 and row["baker"] <= row["demand"]
    table = list(csv.DictReader(open(preset + "/results.csv")))
    assert [{key: float(cell) for key, cell in row.items()} for row in table] == result["rows"]
    raw = open(preset + "/outcomes.csv").read().splitlines()
    assert raw[0].startswith("# rtexec = ") and raw[1] == ",".join([name, "set", *tests]) and len(raw) == 2 + 20 * len(values)
    picture = xml.parse(preset + "/results.svg").getroot()
    svg = "{http://www.w3.org/2000/svg}"
    assert len(picture.findall(svg + "polyline")) == len(tests)
    assert {"theorem1 (not sound)", *tests[1:]} <= {text.text for text in picture.iter(svg + "text")}
EOF
python3 shapes.py || bad=1

# The same on any number of threads, and to be continued.
expect 0 'wrote results' "$rtexec" sweep --preset rt-swap-fig7a --sets 20 --jobs 1 -o alone
expect 0 'wrote results' "$rtexec" sweep --preset rt-swap-fig7a --sets 20 --jobs 3 -o three
diff -r alone three || bad=1
head -n 50 alone/outcomes.csv > stopped; printf '7,1' >> stopped
mkdir halfway && mv stopped halfway/outcomes.csv
expect 0 'halfway has 48 of 200 sets already' "$rtexec" sweep --preset rt-swap-fig7a --sets 20 -o halfway
diff -r alone halfway || bad=1
expect 0 'alone has 200 of 300' "$rtexec" sweep --preset rt-swap-fig7a --sets 30 -o alone
expect 2 'outcomes of another study: seed = 1, not 2; name another folder' "$rtexec" sweep --preset rt-swap-fig7a --sets 20 --seed 2 -o alone
expect 2 'another study: tasks = rt-swap-fig7a, not rt-swap-wide' "$rtexec" sweep --preset rt-swap-wide --sets 20 -o alone
mkdir pipe && mkfifo pipe/outcomes.csv
expect 5 'pipe/outcomes.csv: error: is no regular file' timeout 120 "$rtexec" sweep --preset rt-swap-fig7a --sets 20 -o pipe
for signal in INT TERM; do
  rm -rf "stopped-$signal" cancelled.log
  "$rtexec" sweep --preset rt-swap-fig7a --sets 100000 -o "stopped-$signal" >cancelled.log 2>&1 & pid=$!
  await '[ "$(cat "stopped-$signal/outcomes.csv" 2>/dev/null | wc -l)" -gt 20 ]'
  kill -$signal $pid; wait $pid; status=$?
  [ $status = 5 ] && grep -q 'was cancelled after .* repeat the command to continue' cancelled.log || { echo "SIG$signal: exit $status"; cat cancelled.log; bad=1; }
  [ "$(grep -cvE '^[0-9]+,[0-9]+(,[01]){8}$' "stopped-$signal/outcomes.csv")" = 2 ] || { echo "SIG$signal: broken lines"; bad=1; }
done

# Fast tasks beside networks that are cut between layers; likewise tasks of one's own.
expect 0 '^ +n  utilisation +fits  pipelined  segmented-one-level  segmented$' "$rtexec" sweep --preset mixed-rates --n 2..3 --sets 10 -o mixed --json mixed.json
python3 - <<'EOF' || bad=1
import json
rows = json.load(open("mixed.json"))["rows"]
assert [row["n"] for row in rows] == [2, 3] and all(row["pipelined"] == 0 < row["segmented"] for row in rows), rows
assert all(row["segmented-one-level"] <= row["segmented"] <= row["fits"] <= row["utilisation"] for row in rows), rows
assert "capacity = all" in open("mixed/outcomes.csv").readline()
EOF
expect 2 'another study: cut_overhead = 20us, not 100us' "$rtexec" sweep --preset mixed-rates --n 2..3 --sets 10 --cut-overhead 100us -o mixed
expect 0 '^segmented: jobs are cut between layers, 50us a cut' "$rtexec" sweep $own --layers 5..20 --cut-overhead 50us --sets 5
expect 2 '[-][-]layers: only without' "$rtexec" sweep --preset mixed-rates --layers 5
expect 2 '[-][-]layers 0: use a whole number from 1 to 1000' "$rtexec" sweep $own --layers 0..5
expect 2 'needs a preset of RT-Swap' "$rtexec" sweep --preset mixed-rates --high 1

# Three parts, as three machines would make them, are the sweep of one machine.
part() { "$rtexec" sweep --preset rt-swap-fig7c --sets 20 "$@"; }
export -f part; export rtexec
expect 0 'wrote results' part -o whole --json whole.json
expect 0 'part 3/3 is in part3' parallel --will-cite -j2 part --shard {}/3 --jobs 1 -o part{} ::: 1 2 3
expect 0 'wrote results' "$rtexec" sweep --merge part3 part1 part2 -o merged --json merged.json
for file in .json /outcomes.csv /results.csv /results.svg; do cmp whole$file merged$file || bad=1; done
table() { sed -n '/^RT-Swap/,/^one-process/p' <<<"$1"; }
diff <(table "$(part -o whole)") <(table "$("$rtexec" sweep --merge part1 part2 part3)") || bad=1
cp -r part2 stopped && head -n 20 part2/outcomes.csv > stopped/outcomes.csv
expect 2 'stopped: error: part 2/3 is not finished: 18 of 77 sets; repeat its command' "$rtexec" sweep --merge part1 stopped part3
expect 0 'stopped has 18 of 77 sets already' part --shard 2/3 -o stopped
cmp part2/outcomes.csv stopped/outcomes.csv || bad=1
expect 2 'part 2/3 is missing; 2 of 3 are given' "$rtexec" sweep --merge part1 part3
expect 2 'part 3/3 is missing; 1 of 3 are given|part 2/3 is missing; 1 of 3 are given' "$rtexec" sweep --merge part1
expect 2 'part 1/3 is given twice: part1 and part1' "$rtexec" sweep --merge part1 part2 part3 part1
expect 0 'part 3/3 is in other' part --seed 2 --shard 3/3 -o other
expect 2 'other: error: a part of another sweep: --seed is 2 there and 1 in part1' "$rtexec" sweep --merge part1 part2 other
expect 0 'part 1/2 is in half' part --shard 1/2 -o half
expect 2 'part3: error: part 3/3, but half is part 1/2' "$rtexec" sweep --merge half part3
sed 's/"rtexec": ".*"/"rtexec": "0.0"/' part3/part.json > other/part.json
expect 2 'rtexec 0.0 made it, but this is' "$rtexec" sweep --merge part1 part2 other
printf '{"rtexec": 1' > other/part.json
expect 2 'other/part.json: error: it was changed after' "$rtexec" sweep --merge part1 part2 other
cp -r part2 piped && rm piped/outcomes.csv && mkfifo piped/outcomes.csv
expect 5 'piped/outcomes.csv: error: is no regular file' timeout 120 "$rtexec" sweep --merge part1 piped part3
expect 2 'it has no part of a sweep; `rtexec sweep OPTIONS --shard K/N -o FOLDER` makes one' "$rtexec" sweep --merge part1 whole
expect 2 'it has part 1/3, but this is part 2/3; name another folder' part --shard 2/3 -o part1
for wrong in 4/3 0/3 1/0 1 x/3 1/3/3 -1/3; do expect 2 'use K/N' part --shard=$wrong -o wrong; done
expect 2 'needs -o FOLDER' part --shard 1/3
expect 2 '[-][-]merge with --seed: leave it out' "$rtexec" sweep --merge part1 part2 part3 --seed 2
expect 2 'outcomes of another study' "$rtexec" sweep --merge part1 part2 part3 -o alone

# Tasks of one's own, and what may vary.
expect 0 '^ +4 ' "$rtexec" sweep $own --sets 20
expect 0 '"utilisation": 0.3$' "$rtexec" sweep ${own/0.3/0.1..0.9:0.1} --sets 5 --json -
expect 0 '^ +n +rta +pipelined$' "$rtexec" sweep $own --sets 5 --order static-priority --tests rta,pipelined
expect 0 '^ +30 ' "$rtexec" sweep $own --sets 5 --reduced 0..30:10
expect 2 'also needs --utilisation, --period, --footprint' "$rtexec" sweep --n 4..6 --capacity 1GiB
expect 2 'both vary' "$rtexec" sweep ${own/n 4/n 4..6} --reduced 0..10
expect 2 'both vary' "$rtexec" sweep --preset rt-swap-fig7b --n 5..8
expect 2 '3 is not a whole number from 4 to 1024' "$rtexec" sweep --preset rt-swap-fig7a --n 3..5
expect 2 '4.5 is not a whole number' "$rtexec" sweep --preset rt-swap-fig7a --n 4..5:0.5
expect 2 '1.5 is not from' "$rtexec" sweep ${own/0.3/1.5}
expect 2 'use a number, FROM..TO' "$rtexec" sweep --preset rt-swap-fig7a --n 9..7
expect 2 'use a number, FROM..TO' "$rtexec" sweep --preset rt-swap-fig7a --n many
expect 2 'more than 1000 rows' "$rtexec" sweep ${own/0.3/0.1..0.9:0.00001}
expect 2 "did you mean 'pipelined'" "$rtexec" sweep --preset rt-swap-fig7a --tests pipelind
expect 2 'no test for order static-priority' "$rtexec" sweep --preset rt-swap-fig7a --order static-priority --tests demand
expect 2 '[-][-]footprint: only without' "$rtexec" sweep --preset rt-swap-fig7a --footprint 1GiB
expect 2 'give --in-per-chunk and --out-per-chunk as well' "$rtexec" sweep --preset rt-swap-fig7a --chunk 32MiB
expect 2 'needs a preset of RT-Swap' "$rtexec" sweep $own --high 1
expect 2 'the maximum is 7 tasks' "$rtexec" sweep --preset rt-swap-fig7c --n 7
expect 2 'descends' "$rtexec" sweep --preset rt-swap-fig7a --period 5s..3s
expect 2 'set a larger --chunk' "$rtexec" sweep ${own/64MiB/1B}
expect 2 'rt-swap-fig7a' "$rtexec" sweep --preset rt-swap-fig8
expect 5 'cannot make this folder' "$rtexec" sweep --preset rt-swap-fig7a --sets 1 -o /dev/null/x
expect 5 'No space left' "$rtexec" sweep --preset rt-swap-fig7a --sets 1 --json /dev/full
expect 0 'rt-swap-fig7c' "$rtexec" sweep --help
exit $bad
