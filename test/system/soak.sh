#!/bin/bash
# The rule of growth on recorded series, what faults leave behind, and a soak of forty seconds that injects faults and is survived.
set -u
. test/support/expect.bash
folder=$(realpath "$1")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
expect 0 '^OK$' python3 test/soak/growth_test.py
expect 0 '^OK$' python3 test/soak/faults_test.py
expect '0 1' 'hog: 1 times, survived 1' python3 test/soak/soak.py --rtexec "$folder/bin/rtexec" --hours 0.011 \
  --folder "$work/soak" --json "$work/soak.json" --only cpu-hog,session-daemon-killed
expect 0 '^True True$' python3 -c "
import json
told = json.load(open('$work/soak.json'))
print(all(fault['survived'] for fault in told['faults']), len(told['samples']) > 10)"
expect 1 '' grep 'could not be analysed' "$work/soak.json"
exit $bad
