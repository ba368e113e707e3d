#!/bin/bash
# pytorch.sh RTEXEC [FOLDER]: torchvision's networks on the GPU against PyTorch: outputs, then latency. BOARD=h200 RUNS=2000
# NETWORKS, PRECISIONS and OPTIONS (as --no-compile) narrow the latency comparison. FOLDER keeps the exported files and PyTorch's times.
set -u
rtexec=$(realpath "$1"); folder=${2:-}
here=$(dirname "$(realpath "$0")")
[ -n "$folder" ] || { folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; }
python3 -c 'import sys, torch, torchvision, onnx; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
  { echo "PyTorch, torchvision and onnx with a CUDA device are not there"; exit 77; }
board=${BOARD:-h200}
python3 -W ignore "$here/export_torchvision.py" "$folder" || exit 1
python3 "$here/compare_outputs.py" --rtexec "$rtexec" --board "$board" "$folder"; outputs=$?
# shellcheck disable=SC2086  # OPTIONS are words
python3 -W ignore "$here/compare_latency.py" --bench "$(dirname "$rtexec")/../test/cuda-bench" --runs "${RUNS:-2000}" ${NETWORKS:+--networks "$NETWORKS"} \
  ${PRECISIONS:+--precisions "$PRECISIONS"} --torch-results "$folder/torch.json" ${OPTIONS:-} "$folder"; latency=$?
[ $outputs = 0 ] && [ $latency = 0 ]
