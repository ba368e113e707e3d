#!/usr/bin/env python3
"""Writes torchvision's networks as ONNX files (batch 1), each with an input and PyTorch's answer to it.

Usage: export_torchvision.py [--networks NAME,...] [--exporters traced,default] [--keep-batch-norm] OUT_DIR

For each network NAME.onnx by the exporter that traces (opset 17), NAME-default.onnx with NAME-default.onnx.data by a plain
torch.onnx.export(), NAME.input.npy and NAME.expected.npy; the answer is computed on the CPU in double precision. The default exporter
needs the package onnxscript, and is left out where that is missing. What is there already is kept. The weights are seeded noise: nothing is downloaded.
"""
import argparse
import copy
import importlib.util
import pathlib
import sys
import warnings

import numpy
import torch

import torchvision_networks

OPSET = 17


def export_traced(model, tensor, file, keep_batch_norm):
    """The exporter that traces folds batch normalisations unless told not to."""
    mode = torch.onnx.TrainingMode.PRESERVE if keep_batch_norm else torch.onnx.TrainingMode.EVAL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(model, (tensor,), file, dynamo=False, training=mode, opset_version=OPSET, input_names=["input"], output_names=["output"])


def export_default(model, tensor, file):
    """As most people do: the newest opset that this PyTorch writes, with the weights in a file beside the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (tensor,), file, verbose=False)


def write(name, size, folder, keep_batch_norm, exporters):
    files = [folder / f"{name}{suffix}" for suffix in (".input.npy", ".expected.npy")]
    models = {exporter: folder / f"{name}{torchvision_networks.SUFFIXES[exporter]}.onnx" for exporter in exporters}
    if all(file.exists() for file in [*models.values(), *files]):
        return "kept"
    input_file, expected_file = files
    model = torchvision_networks.build(name, size)
    tensor = torchvision_networks.input_of(size)
    with torch.no_grad():
        expected = copy.deepcopy(model).double()(tensor.double())
        rounding = (model(tensor) - expected).norm() / expected.norm()
        if "traced" in models:
            export_traced(model, tensor, models["traced"], keep_batch_norm)
        if "default" in models:
            export_default(model, tensor, models["default"])
    numpy.save(input_file, tensor.numpy())
    numpy.save(expected_file, expected.float().numpy())  # last: an export that was cut short is repeated
    return f"{' and '.join(models)}, 1x3x{size}x{size}, largest output {expected.abs().max():.3g}, PyTorch's error in fp32 {rounding:.1e}"


def exporters_of(text, parser):
    if text is None:
        has_default = importlib.util.find_spec("onnxscript") is not None
        if not has_default:
            print("the default exporter is left out: onnxscript is not installed", file=sys.stderr)
        return ["traced", "default"] if has_default else ["traced"]
    if unknown := [name for name in text.split(",") if name not in torchvision_networks.SUFFIXES]:
        parser.error(f"{unknown[0]} is not known; known are {', '.join(torchvision_networks.SUFFIXES)}")
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", help=f"of {','.join(torchvision_networks.NETWORKS)} (default: all)")
    parser.add_argument("--keep-batch-norm", action="store_true", help="leave their folding to the reader (traced)")
    parser.add_argument("--exporters", help="of traced,default (default: both)")
    parser.add_argument("folder", type=pathlib.Path, metavar="OUT_DIR")
    arguments = parser.parse_args()
    names = arguments.networks.split(",") if arguments.networks else list(torchvision_networks.NETWORKS)
    if unknown := [name for name in names if name not in torchvision_networks.NETWORKS]:
        parser.error(f"{unknown[0]} is not known; known are {', '.join(torchvision_networks.NETWORKS)}")
    exporters = exporters_of(arguments.exporters, parser)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        print(f"{name:20} {write(name, torchvision_networks.NETWORKS[name], arguments.folder, arguments.keep_batch_norm, exporters)}", flush=True)


if __name__ == "__main__":
    main()
