#!/bin/bash
# Regulation by a stand-in event: a greedy thread keeps budgets across two decades within 5 %, and a neighbour on another core notices nothing.
set -eu
folder=$1
"$folder/test/bandwidth-bench" rates --seconds 4
