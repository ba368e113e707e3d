#!/bin/bash
# Each network of the list against onnxruntime on the same file and input: relative error below 1e-4, speeds beside each other.
set -eu
folder=$1
python=${folder%/*}/venv/bin/python
"$python" -c 'import numpy, onnxruntime' 2>/dev/null || { echo "onnxruntime is not there (no package index reachable)"; exit 77; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
models=()
for model in yolov3-tiny:320 yolov3:160 yolov2:96 detectnet:160 resnet18:224 resnet50:224 resnet152:160 resnext50:224 \
             resnext101-32x8d:64 resnext152-32x4d:64 densenet201:160 googlenet:224 mobilenet_v3:224 efficientnet_b0:224 lenet5:32; do
  file=$work/${model/:/-}.onnx
  "$folder/bin/rtexec" model "${model%:*}" --size "${model#*:}" -o "$file"
  models+=("$file")
done
"$python" test/tasks/compare_onnxruntime.py --rtexec "$folder/bin/rtexec" "${models[@]}"
