#!/bin/bash
# A step of an LSTM whose task keeps its state: job by job it gives what `infer` gives where somebody hands the state on, bit by
# bit, alone, and beside a network whose memory takes turns with its own.
set -u
. test/support/expect.bash
. test/support/mixed_set.bash
networks=$PWD/test/networks/stored
enter "$1"
cp "$networks"/{lstm_step,gru}.onnx .
python3 - "$networks" <<'PY'
import struct, sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/lstm_step.npz") as file:
    open("x.npy", "wb").write(file.read("in0.npy"))
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 64), }".ljust(117) + "\n"
open("zeros.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + bytes(4 * 64))
PY

# By hand.
h=zeros.npy c=zeros.npy
for job in {0..19}; do
  expect 0 "wrote" "$rtexec" infer lstm_step.onnx input=x.npy onnx::LSTM_1=$h onnx::LSTM_2=$c -o by_hand/$job
  h=by_hand/$job/71.npy c=by_hand/$job/72.npy
done
[ $bad = 0 ] || exit 1
cmp -s by_hand/18/78.npy by_hand/19/78.npy && { echo "the state says nothing"; bad=1; }

# Every job that succeeded, in their order. A busy machine may drop some: the run is made longer until 10 have succeeded.
succeeded() { ls "$1/latest/step" | sed -n 's/\.78\.npy$//p' | sort -n | head -n 20; } # FOLDER
expect_same() { # NAME of the set, of its folder and of its report
  local count=0 duration job name
  for duration in 1900ms 10s 40s; do
    sed -i "s/^duration = .*/duration = \"$duration\"/" "$1.toml"
    expect '0 4' 'Report' "$rtexec" run "$1.toml" --json "$1.json"
    [ "$(succeeded "$1" | wc -l)" -lt 10 ] || break
  done
  for job in $(succeeded "$1"); do
    for name in 71 72 78; do
      cmp "$1/latest/step/$job.$name.npy" "by_hand/$count/$name.npy" || { echo "$1: job $job differs"; bad=1; return; }
    done
    count=$((count + 1))
  done
  [ $count -ge 10 ] || { echo "$1: only $count jobs"; bad=1; }
}

settings='[executive]
duration = "1900ms"
allow_degraded = true'
step() { # FOLDER [LINES]
  printf '[[task]]\nname = "step"\nmodel = "lstm_step.onnx"\ninput = "x.npy"\nperiod = "100ms"\nwcet = "2ms"\nwcet_before = "1ms"\nwcet_after = "1ms"\n'
  printf 'state = { "onnx::LSTM_1" = "71", "onnx::LSTM_2" = "72" }\noutputs = [{ to = "file:%s" }]\n%s\n' "$1" "${2-}"
}
other() { # LINES
  printf '[[task]]\nname = "other"\nmodel = "gru.onnx"\nperiod = "100ms"\nwcet = "4ms"\nwcet_before = "1ms"\n%s\n' "$1"
}

{ echo "$settings"; step alone; } > alone.toml
expect 0 'Verdict: proved' "$rtexec" check alone.toml --json check.json
expect 0 '^1024$' ask check.json "d['tasks'][0]['memory']['state_bytes']"
expect_same alone

# What has no room is its constants and its state.
swapping='[device]
chunk = "64KiB"
capacity = "256KiB"
[device.swap_cost]
in_per_chunk = "100us"
out_per_chunk = "100us"
[swap]
candidates = "largest-first"'
{ echo "$settings"; echo "$swapping"; step swapped 'swap_volume = "192KiB"'; other 'swap_volume = "128KiB"'; } > swapped.toml
expect 0 'Verdict: proved' "$rtexec" check swapped.toml
expect_same swapped
expect 0 '^True 0$' ask swapped.json "d['swap']['out_bytes'] >= 5 * 65536, sum(t['failed'] for t in d['tasks'])"

# What does not fit is told, and an input of the model is no input of the task any more.
sed 's/"71"/"78"/' alone.toml > other_shape.toml
expect 2 'state: "onnx::LSTM_1" = "78": the input is float32 1x1x64, and the output float32 1x1x8' "$rtexec" check other_shape.toml
sed 's/"71"/"70"/' alone.toml > no_output.toml
expect 2 "the network has no output '70'; there are: '78', '71', '72'" "$rtexec" check no_output.toml
sed 's/^input = .*/inputs = [{ tensor = "onnx::LSTM_1", from = "x.npy" }]/' alone.toml > fed.toml
expect 2 'inputs has another source for this input' "$rtexec" check fed.toml
exit $bad
