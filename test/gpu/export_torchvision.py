#!/usr/bin/env python3
"""Writes torchvision's networks as ONNX files (opset 17, batch 1), each with an input and PyTorch's answer to it.

Usage: export_torchvision.py [--networks NAME,...] [--keep-batch-norm] OUT_DIR

For each network NAME.onnx, NAME.input.npy and NAME.expected.npy; the answer is computed on the CPU in double precision. What is
there already is kept. The weights are seeded noise: nothing is downloaded.
"""
import argparse
import copy
import pathlib
import sys
import warnings

import numpy
import torch

import torchvision_networks

OPSET = 17


def export(model, tensor, file, keep_batch_norm):
    """By the exporter that traces, or by its successor where that fails. The former folds batch normalisations unless told not to."""
    options = {"opset_version": OPSET, "input_names": ["input"], "output_names": ["output"]}
    mode = torch.onnx.TrainingMode.PRESERVE if keep_batch_norm else torch.onnx.TrainingMode.EVAL
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            torch.onnx.export(model, (tensor,), file, dynamo=False, training=mode, **options)
        return "traced"
    except Exception as error:  # of any kind: the exporter has no class of its own for all of them
        print(f"{file.name}: the tracing exporter failed ({error}); trying the other one", file=sys.stderr)
        torch.onnx.export(model, (tensor,), file, dynamo=True, external_data=False, **options)
        return "dynamo"


def write(name, size, folder, keep_batch_norm):
    files = [folder / f"{name}{suffix}" for suffix in (".onnx", ".input.npy", ".expected.npy")]
    if all(file.exists() for file in files):
        return "kept"
    model_file, input_file, expected_file = files
    model = torchvision_networks.build(name, size)
    tensor = torchvision_networks.input_of(size)
    with torch.no_grad():
        expected = copy.deepcopy(model).double()(tensor.double())
        rounding = (model(tensor) - expected).norm() / expected.norm()
        how = export(model, tensor, model_file, keep_batch_norm)
    numpy.save(input_file, tensor.numpy())
    numpy.save(expected_file, expected.float().numpy())  # last: an export that was cut short is repeated
    return f"{how}, 1x3x{size}x{size}, largest output {expected.abs().max():.3g}, PyTorch's error in fp32 {rounding:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", help=f"of {','.join(torchvision_networks.NETWORKS)} (default: all)")
    parser.add_argument("--keep-batch-norm", action="store_true", help="leave their folding to the reader")
    parser.add_argument("folder", type=pathlib.Path, metavar="OUT_DIR")
    arguments = parser.parse_args()
    names = arguments.networks.split(",") if arguments.networks else list(torchvision_networks.NETWORKS)
    if unknown := [name for name in names if name not in torchvision_networks.NETWORKS]:
        parser.error(f"{unknown[0]} is not known; known are {', '.join(torchvision_networks.NETWORKS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        print(f"{name:20} {write(name, torchvision_networks.NETWORKS[name], arguments.folder, arguments.keep_batch_norm)}", flush=True)


if __name__ == "__main__":
    main()
