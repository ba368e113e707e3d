#!/bin/bash
# report_page.sh FOLDER: the HTML page of an analysis in headless Chromium: verdict, tasks, zoom, drag, jump to a miss, pictures, no network.
# RTEXEC_PICTURES=FOLDER: keeps the pictures taken.
set -u
folder=$(realpath "$1")
python=${folder%/*}/venv/bin/python
command -v chromium >/dev/null && command -v chromedriver >/dev/null || { echo "chromium is not installed (Debian packages chromium, chromium-driver)"; exit 77; }
"$python" -c 'import selenium, PIL' 2>/dev/null || { echo "selenium is not installed: no index of Python packages was reachable"; exit 77; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
RTEXEC_REPORT_FOLDER=$work "$folder/test/traces-tests" --gtest_filter=ReportHtml.WritesPagesForTheBrowserTest --gtest_brief=1 || exit 1
"$python" test/traces/report_page.py "$work" "${RTEXEC_PICTURES:-$work}"
