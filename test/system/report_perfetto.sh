#!/bin/bash
# report_perfetto.sh FOLDER: a Perfetto trace, read by the descriptors that Perfetto publishes.
set -u
folder=$(realpath "$1")
python=${folder%/*}/venv/bin/python
"$python" -c 'import perfetto' 2>/dev/null || { echo "perfetto is not installed: no index of Python packages was reachable"; exit 77; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
RTEXEC_REPORT_FOLDER=$work "$folder/test/traces-tests" --gtest_filter=ReportPerfetto.WritesTraceFileForTheExternalDecoder --gtest_brief=1 || exit 1
"$python" test/traces/report_perfetto.py "$work"
