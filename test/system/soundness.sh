#!/bin/bash
# A short `make check-soundness`, on one machine and in three parts by GNU parallel: every promise is kept, every
# deliberate error is seen, and the parts together are what one machine finds.
set -u
. test/support/expect.bash
enter "$1"; search=$folder/test/soundness-tests

export SOUNDNESS_SETS=500 SOUNDNESS_JOBS=0 SOUNDNESS_TINY=50
expect 0 'every promise was kept; every deliberate error was refuted' "$search" whole.json
expect 0 'part 3/3' parallel --will-cite -j2 SOUNDNESS_THREADS=1 SOUNDNESS_SHARD={}/3 "$search" part{}.json ::: 1 2 3
expect 0 'every promise was kept; every deliberate error was refuted' "$search" merged.json part3.json part1.json part2.json
cmp whole.json merged.json || bad=1
expect 2 'part 2/3 is missing' "$search" x.json part1.json part3.json
expect 2 'part 3/3 is missing' "$search" x.json part1.json part2.json
expect 2 'part 1/3 is given twice: part1.json and part1.json' "$search" x.json part1.json part2.json part1.json
expect 2 'no part of a search' "$search" x.json part1.json whole.json part3.json
sed 's/"seed": 1/"seed": 2/' part2.json > other.json
expect 2 'other.json: error: a part of another search: seed is 2 there and 1 in part1.json' "$search" x.json part1.json other.json part3.json
sed 's,2/3,2/2,' part2.json > other.json
expect 2 'other.json: error: part 2/2, but part1.json is part 1/3' "$search" x.json part1.json other.json
expect 2 'SOUNDNESS_SHARD 4/3: use K/N' env SOUNDNESS_SHARD=4/3 "$search" x.json
expect 2 'at most 61 parts' env SOUNDNESS_SHARD=1/62 "$search" x.json
exit $bad
