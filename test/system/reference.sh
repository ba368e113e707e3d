#!/bin/bash
# The pages of rtexec/docs/reference/ are those that `make reference` writes for this program and this source.
set -eu
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
rtexec/docs/make-reference "$1/bin/rtexec" "$work"
diff -ru rtexec/docs/reference "$work" || { echo "rtexec/docs/reference/ is out of date: run \`make reference\` and commit its pages"; exit 1; }
