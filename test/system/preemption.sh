#!/bin/bash
# Jobs that are preempted on the device between two segments: planned, simulated, run on the host device, recorded and replayed.
set -u
. test/support/expect.bash
. test/support/mixed_set.bash
enter "$1"

# A sixth of the memory is missing.
mixed_set 48MiB > mixed.toml
sed 's/^layers/segments = "none"\nlayers/' mixed.toml > whole.toml
expect 3 'Proved with: segments, which the set forbids' "$rtexec" check whole.toml --json whole.json
expect 0 '^True True 1048576$' ask whole.json "d['in_segments']['proved'], 0 < d['in_segments']['device_time'] < 0.1, d['in_segments']['device_bytes']"
sed 's/^period = "600ms"/period = "160ms"/' whole.toml > infeasible.toml
expect 3 'Not proved with segments either' "$rtexec" check infeasible.toml
expect 0 "slow .* swapped .*level 1, [0-9]* segments of at most" "$rtexec" check mixed.toml --json check.json
expect 0 '^top 1 True True 1048576$' ask check.json "d['tasks'][0]['level'], d['tasks'][0]['segments'], d['tasks'][1]['segments'] > 1, len(d['tasks'][1]['cuts']) + 1 == d['tasks'][1]['segments'] == len(d['tasks'][1]['segment_wcets_ns']), d['tasks'][1]['memory']['carry_bytes']"
expect 0 'Every real-time deadline was kept' "$rtexec" simulate mixed.toml --json simulated.json
expect 0 '^True$' ask simulated.json "d['tasks'][1]['preempted'] > 0 and d['deadlines_kept']"

# Contents of carry, constants and scratch are compared by the tasks themselves.
expect '0 4' 'Preemptions between two segments: ' "$rtexec" run mixed.toml --json run.json --trace run.trace
expect 0 '^True 0$' ask run.json "d['tasks'][1]['preempted'] > 0, sum(t['failed'] for t in d['tasks'])"
expect 0 'segment_end: .*segment = 0' babeltrace2 run.trace
expect '0 4' '' "$rtexec" analyze run.trace --json analyzed.json
expect 0 '^None None$' ask analyzed.json "d['replay']['difference'], d['replay']['not_replayed']"

# The device has the next segment already: it goes on by itself, and who comes waits for one more.
sed 's/^\[device\]/&\nlaunch_ahead = 1/' mixed.toml > ahead.toml
expect 0 'slow .* segments of at most .*, 1 launched ahead' "$rtexec" check ahead.toml --json ahead.json
expect 0 '^1 True$' ask ahead.json "d['launch_ahead'], all(max(map(sum, zip(w, w[1:]))) <= 50e6 for w in [t['segment_wcets_ns'] for t in d['tasks'][1:]])"
expect '0 4' '' "$rtexec" run ahead.toml --json ahead-run.json --trace ahead.trace
expect 0 '^True 0$' ask ahead-run.json "d['tasks'][1]['preempted'] > 0, sum(t['failed'] for t in d['tasks'])"
expect 0 'start-execution.*committed = 1' babeltrace2 ahead.trace
expect '0 4' '' "$rtexec" analyze ahead.trace --json ahead-analyzed.json
expect 0 '^None None$' ask ahead-analyzed.json "d['replay']['difference'], d['replay']['not_replayed']"

# What lies between two segments is measured, and goes into the board's file.
expect 0 'wrote' "$rtexec" model resnet18 --size 64 -o net.onnx
expect 0 'wrote cut = .* to board.toml' "$rtexec" calibrate cut net.onnx -o board.toml --jobs 3 --json cut.json
expect 0 '^True True$' ask cut.json "d['cut_ns'] >= 0, d['measured'][0]['segments'] == 8"
expect 0 '^cut = "' grep '^cut' board.toml
sed 's/^dispatch = .*/dispatch = "500ms"/' board.toml > slow.toml
expect 2 'too little for 8 segments of at least two dispatches' "$rtexec" calibrate cut net.onnx ./slow.toml

# What cannot be done is refused.
sed 's/^layers = 50/layers = 50\nmemory = "whole"\nlevel = "top"/' mixed.toml > top.toml
expect '2 3' '' "$rtexec" check top.toml
exit $bad
