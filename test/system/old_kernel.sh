#!/bin/bash
# The whole program as on Linux 4.9 (TX2's): what that lacks of system calls is answered as it would be, what is done instead works, and is said.
set -u
. test/support/expect.bash
tool=$PWD/test/support/kernel_4_9.py
enter "$1"
"$tool" true || { echo "skipped: no such filter here"; exit 77; }
old() { timeout 1200 "$tool" "$@"; }
expect 0 '5\.1  io_uring_setup' "$tool" --list
expect 38 '' old python3 -c 'import ctypes, sys; ctypes.CDLL(None).syscall(425, 1, 0); sys.exit(38)'

old "$rtexec" model yolov3-tiny --size 32 -o tiny.onnx > /dev/null || bad=1
{ printf 'board="host"\n[executive]\nduration="1s"\nallow_degraded=true\n[device]\ncapacity="8MiB"\nchunk="1MiB"\n'
  printf '[device.swap_cost]\nin_per_chunk="1ms"\nout_per_chunk="1ms"\n[swap]\npolicy="pipelined"\nverify=true\nstore="file:swap"\n'
  for name in a b; do task $name 300ms 10ms 'swappable="4MiB"' | sed 's/"1MiB"/"5MiB"/'; done
} > swap.toml
printf '[executive]\nduration="1s"\nallow_degraded=true\n[[task]]\nname="net"\nmodel="tiny.onnx"\nperiod="1s"\n' > net.toml

expect 0 'io_uring: Function not implemented' old "$rtexec" probe
expect 0 'page-faults: [0-9]+ counted over' old "$rtexec" probe
expect '0 3' 'Verdict' old "$rtexec" check swap.toml
expect 0 'wrote net.profile.toml' old "$rtexec" profile net.toml --jobs 2 --margin 5
expect '0 4' ' 0 lost' old "$rtexec" run net.toml --force --trace net.trace --json net.json
expect 0 '"released": [1-9]' cat net.json
expect '0 4' 'net' old "$rtexec" analyze net.trace
expect '0 4' 'no io_uring|fell back' old "$rtexec" run swap.toml --force --trace swap.trace --json swap.json
expect 0 '^swapped$' python3 -c "import json
run = json.load(open('swap.json'))
print('swapped' if run['swap']['in_bytes'] > 0 and all(task['failed'] == 0 for task in run['tasks']) else run)"
expect '0 4' 'swap' old "$rtexec" analyze swap.trace
expect 0 '' old "$rtexec" infer tiny.onnx -o out
"$rtexec" infer tiny.onnx -o out-here > /dev/null
diff -r out out-here || { echo "a network computes something else"; bad=1; }
sed 's/^period.*/&\ndeadline="10us"/; s/^duration.*/&\nprofile="net.profile.toml"/' net.toml > late.toml
expect 4 'snapshot-1' old "$rtexec" run late.toml --force --flight-recorder late --json late.json
expect '0 4' 'net' old "$rtexec" analyze late/snapshot-1-*
expect 0 'Nothing to restore' old "$rtexec" restore
# Budgets of memory bandwidth, by a stand-in for its counter.
expect '0 5' 'A substitute, not memory traffic|no event counts|cores' old "$rtexec" experiment isolation --event page-faults --corunners 1 --seconds 0.05 \
  --workloads winograd-256p --limits 20MB/s --runs 3
exit $bad
