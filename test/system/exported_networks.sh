#!/bin/bash
# Networks that PyTorch exported give PyTorch's outputs.
set -eu
folder=$1
python=${folder%/*}/venv/bin/python
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || { echo "onnx and onnxruntime are not there (no package index reachable)"; exit 77; }
"$python" test/networks/compare.py --rtexec "$folder/bin/rtexec" test/networks/stored
