#!/bin/bash
# theorem1.sh FOLDER: the volumes chosen for theorem1 against a MILP solver's optimum of RT-Swap's (1a) to (1d).
# RTEXEC_THEOREM1_SETS=10000: so many sets.
set -eu
folder=$1
python=$(dirname "$folder")/venv/bin/python
"$python" -c 'import highspy' 2>/dev/null || { echo "highspy is not installed: no index of Python packages was reachable"; exit 77; }
sets=$(mktemp); trap 'rm -f "$sets"' EXIT
RTEXEC_THEOREM1_FILE=$sets "$folder/test/policies-tests" --gtest_filter=VolumesOfTheorem1.AreWrittenForTheSolver --gtest_brief=1
"$python" test/policies/theorem1_milp.py "$sets"
