#!/bin/bash
# Constants that come while their jobs execute: planned, simulated, run on the host device, recorded and replayed; of tasks that are larger
# than the device, and of a network whose outputs are the same as with all constants there.
set -u
. test/support/expect.bash
. test/support/mixed_set.bash
enter "$1"

mixed_set 12MiB > stream.toml
sed 's/^class/memory = "whole"\nclass/' stream.toml > whole.toml
expect 3 "task 'slow' alone needs 30MiB of device memory.*or memory = .auto." "$rtexec" check whole.toml
expect 0 'slow .* streamed, [0-9]* of 30 chunks at a time, 1[5-7][0-9] ms in place of 150 ms' "$rtexec" check stream.toml --json check.json
expect 0 '^30 20 True$' ask check.json "*(t['stream']['chunks'] for t in d['tasks'][1:]), all(t['stream']['ring_chunks'] < 12 for t in d['tasks'][1:])"
expect 0 'Every real-time deadline was kept' "$rtexec" simulate stream.toml --json simulated.json
# Contents are compared by the tasks themselves.
expect '0 4' 'Swapped: ' "$rtexec" run stream.toml --json run.json --trace run.trace
expect 0 '^0 True True$' ask run.json "sum(t['failed'] for t in d['tasks']), d['swap']['operations'] > 100, d['device']['used_bytes'] <= 12 << 20"
expect '0 4' '' "$rtexec" analyze run.trace --json analyzed.json
expect 0 '^None None$' ask analyzed.json "d['replay']['difference'], d['replay']['not_replayed']"
sed 's/^class/memory = "stream"\nstream_chunks = 6\nclass/' stream.toml > given.toml
expect 0 'slower .* streamed, 6 of 20 chunks' "$rtexec" check given.toml
expect 0 '^Headroom: ' "$rtexec" check given.toml --headroom

# A network, from page-locked memory and from a file.
expect 0 '' "$rtexec" model resnet18 --size 64
network() { # NAME CAPACITY KEYS SWAP
  cat <<END
[executive]
duration = "7s"
allow_degraded = true
profile = "network.profile.toml"
[device]
capacity = "$2"
chunk = "1MiB"
[device.swap_cost]
in_per_chunk = "1ms"
out_per_chunk = "1ms"
$4
[[task]]
name = "net"
model = "resnet18.onnx"
period = "1s"
outputs = [{ to = "file:$1" }]
$3
END
}
network whole 128MiB '' '' > net-whole.toml
network streamed 24MiB 'memory = "stream"' '' > net-streamed.toml
network filed 24MiB 'memory = "stream"' '[swap]
store = "file:store"' > net-filed.toml
sed '/^memory/d' net-streamed.toml > net-auto.toml
expect '2 3' '' "$rtexec" check net-auto.toml
expect 0 '' "$rtexec" profile net-streamed.toml --jobs 20 --margin 2
expect '0 4' '' "$rtexec" run net-whole.toml --force
same_outputs() { # NAME: of so many jobs of both runs; a busy machine may drop some
  local file count=0
  for file in whole/latest/net/*.npy; do
    [ -e "$1/latest/net/${file##*/}" ] || continue
    cmp "$file" "$1/latest/net/${file##*/}" || return
    count=$((count + 1))
  done
  echo "$count"
}
for name in streamed filed; do
  expect '0 3' 'net .* streamed, [0-9]* of 4[0-9] chunks' "$rtexec" check net-$name.toml
  expect '0 4' '' "$rtexec" run net-$name.toml --force --json $name.json
  expect 0 '^True True$' ask $name.json "d['tasks'][0]['failed'] == 0, d['tasks'][0]['completed'] >= 4"
  expect 0 '^[4-9]$' same_outputs $name
done
exit $bad
