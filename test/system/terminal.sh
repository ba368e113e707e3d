#!/bin/bash
# Live tables and bars on emulated terminals of any size, resized while they are shown: what is seen of them.
set -u
folder=$(realpath "$1"); shift
python=${folder%/*}/venv/bin/python
"$python" -c 'import pyte' 2>/dev/null || { echo "pyte is not installed: no index of Python packages was reachable"; exit 77; }
script=$(realpath test/system/terminal.py)
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work" && "$python" "$script" "$folder/bin/rtexec" "$@"
