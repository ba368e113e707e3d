#!/bin/bash
# A short `make check-soundness`: every promise is kept, every deliberate error is seen.
set -eu
SOUNDNESS_SETS=1500 SOUNDNESS_JOBS=0 SOUNDNESS_TINY=150 "$1/test/soundness-tests"
