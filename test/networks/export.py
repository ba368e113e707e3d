#!/usr/bin/env python3
"""Writes the networks of networks.py as ONNX files, each with its inputs and PyTorch's outputs, for compare.py.

Usage: export.py [--only REGEX] [--exporters traced,dynamo,int8] OUT_DIR
       export.py --stored test/networks/stored

NAME.onnx is written by the exporter that traces (opset 17), NAME-dynamo.onnx by the default one, each where it can. Of tv_resnet18 and ul_yolov8n
onnxruntime's quantization makes, calibrated with seeded noise, NAME-int8-qdq.onnx (QuantizeLinear and DequantizeLinear around each operator),
NAME-int8-qlinear.onnx (QLinearConv, ...: those of ONNX alone) and NAME-int8-microsoft.onnx (with operators of onnxruntime's own).
Beside each file a .npz holds in0, in1, ... and out0, out1, ..., computed in double precision: of an INT8 file onnxruntime's answer, with no node
fused, in place of PyTorch's.
What is there already is kept. A line for each file tells how far onnxruntime is from these outputs, as compare.py counts it: where it is far,
the exporter wrote another network. --stored writes the few small ones that are in git. Nothing is downloaded.
Exit status 0; 1: a network could be exported in no way.
"""
import argparse
import contextlib
import copy
import ctypes
import logging
import os
import pathlib
import re
import sys
import tempfile
import time
import warnings

import numpy
import onnx
import torch

import compare
import networks
import table

OPSET = 17
SAME = 1e-3  # what differs more in double precision is another answer, as where TopK chose other boxes
EXPORTERS = ("traced", "dynamo", "int8")
INT8_NETWORKS = ("tv_resnet18", "ul_yolov8n")
CALIBRATION_INPUTS = 4
QLINEAR = ("Conv", "MatMul")  # whose INT8 forms ONNX has
QUANTISED = (*QLINEAR, "Gemm", "Add", "MaxPool", "GlobalAveragePool")
INT8_FORMS = {"qdq": ("QDQ", QUANTISED), "qlinear": ("QOperator", QLINEAR), "microsoft": ("QOperator", QUANTISED)}


def flat(value):
    """The tensors in it, in the order in which exporters name outputs."""
    if torch.is_tensor(value):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for part in parts for tensor in flat(part)]


def quiet():
    warnings.filterwarnings("ignore")
    for name in ("torch.onnx", "torch.export", "onnxscript", "ultralytics", "transformers", "onnx_ir"):
        logging.getLogger(name).setLevel(logging.ERROR)


@contextlib.contextmanager
def silent():
    """Standard output goes nowhere, that of C++ neither: exporters print whole graphs where they fail."""
    flush = ctypes.CDLL(None).fflush
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        flush(None)
        os.dup2(kept, 1)
        os.close(kept)


def write_model(exporter, module, inputs, file):
    if exporter == "traced":
        torch.onnx.export(module, inputs, file, dynamo=False, opset_version=OPSET)
    else:
        torch.onnx.export(module, inputs, file, dynamo=True, external_data=False, verbose=False)


def write_arrays(file, inputs, outputs, **more):
    arrays = {f"in{number}": value for number, value in enumerate(inputs)} | {f"out{number}": value for number, value in enumerate(outputs)}
    numpy.savez_compressed(file.with_suffix(".npz"), **arrays, **{name: numpy.array(value) for name, value in more.items()})


def in_double(module, inputs):
    """The outputs in double precision, and none of a network that insists on single."""
    try:
        return flat(copy.deepcopy(module).double()(*(value.double() if value.is_floating_point() else value for value in inputs)))
    except (RuntimeError, TypeError):
        return []


def answers(module, inputs, kind):
    """PyTorch's outputs, rounded from double precision where they are the same, and how far those of single precision are from them."""
    single = [tensor.numpy().copy() for tensor in flat(module(*inputs))]
    double = [tensor.numpy().astype(other.dtype) for tensor, other in zip(in_double(module, inputs), single)]
    if len(double) == len(single):
        error = max(compare.ERRORS[kind](ours, theirs) for ours, theirs in zip(single, double))
        if error < SAME:
            return double, error
    return single, 0.0


def written(exporter, name, file):
    """Exports a network that is made anew, since exporters change modules."""
    module, inputs = networks.build(name)
    kind = networks.NETWORKS[name].kind
    with torch.no_grad(), silent():
        outputs, error = answers(module, inputs, kind)
        write_model(exporter, module, inputs, file)
    count = len(onnx.load(file, load_external_data=False).graph.output)
    if count != len(outputs):
        raise ValueError(f"{count} outputs instead of {len(outputs)}")
    write_arrays(file, [value.numpy() for value in inputs], outputs, kind=kind, rounding=error)


class Pictures:
    """What onnxruntime's calibration reads: seeded noise as the network's own input is, for the only input."""

    def __init__(self, model):
        port = onnx.load(model).graph.input[0]
        size = port.type.tensor_type.shape.dim[-1].dim_value
        seeds = range(networks.SEED, networks.SEED + CALIBRATION_INPUTS)
        self.left = [{port.name: networks.torchvision_networks.pictures(1, size, seed).numpy()} for seed in seeds]

    def get_next(self):
        return self.left.pop() if self.left else None


def head_of(model):
    """The nodes of a YOLOv8's last module."""
    return [node.name for node in onnx.load(model).graph.node if node.name.startswith("/model.22/")]


def quantised(source, file, form, operators):
    """Weights of signed bytes by channel, activations of unsigned ones; a detector's head stays in floats, as usual."""
    from onnxruntime import quantization
    with tempfile.TemporaryDirectory() as folder:
        prepared = pathlib.Path(folder) / "prepared.onnx"
        quantization.quant_pre_process(source, prepared, skip_symbolic_shape=True)
        quantization.quantize_static(prepared, file, Pictures(source), quant_format=quantization.QuantFormat[form],
                                     op_types_to_quantize=list(operators), nodes_to_exclude=head_of(prepared), per_channel=True,
                                     activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
    arrays = numpy.load(source.with_suffix(".npz"))
    inputs = [arrays[key] for key in compare.numbered(arrays, "in")]
    outputs = compare.onnxruntime_outputs(file, inputs, fused=False)
    error = compare.worst_error(outputs, arrays, compare.QUANTISED_ERRORS)
    write_arrays(file, inputs, outputs, kind=arrays["kind"], rounding=0.0, quantised=error)


def attempt(file, make):
    """Makes the file, where it is not there, and prints a line; true where it is there then."""
    if file.exists() and file.with_suffix(".npz").exists():
        print(f"{file.stem:40} kept", flush=True)
        return True
    begin = time.monotonic()
    try:
        make()
        arrays = numpy.load(file.with_suffix(".npz"))
        inputs = [arrays[key] for key in compare.numbered(arrays, "in")]
        error = compare.worst_error(compare.onnxruntime_outputs(file, inputs), arrays)
    except Exception as problem:  # exporters raise anything
        file.unlink(missing_ok=True)
        file.with_suffix(".npz").unlink(missing_ok=True)
        first = (str(problem).strip().splitlines() or [""])[0]
        print(f"{file.stem:40} not written: {type(problem).__name__}: {first[:160]}", flush=True)
        return False
    nodes = len(onnx.load(file, load_external_data=False).graph.node)
    print(f"{file.stem:40} {nodes:5} nodes, onnxruntime {error:.1e}, {time.monotonic() - begin:.0f} s", flush=True)
    return True


def write(name, folder, exporters):
    """True where at least one file is there."""
    made = [attempt(file, lambda: written(exporter, name, file)) for exporter in exporters if exporter != "int8"
            for file in [folder / f"{name}{table.SUFFIXES[exporter]}.onnx"]]
    if "int8" in exporters and name in INT8_NETWORKS:
        made += [attempt(file, lambda: quantised(folder / f"{name}.onnx", file, *how)) for suffix, how in INT8_FORMS.items()
                 for file in [folder / f"{name}-int8-{suffix}.onnx"]]
    return any(made) or not made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX", help="networks with such a name")
    parser.add_argument("--exporters", type=lambda text: text.split(","), default=list(EXPORTERS), help=f"of {','.join(EXPORTERS)} (default: all)")
    parser.add_argument("--stored", action="store_true", help="only the networks that are in git, by the exporter that traces")
    parser.add_argument("folder", type=pathlib.Path, metavar="OUT_DIR")
    arguments = parser.parse_args()
    if unknown := set(arguments.exporters) - set(EXPORTERS):
        parser.error(f"{unknown.pop()} is not one of {', '.join(EXPORTERS)}")
    names = [name for name in (networks.STORED if arguments.stored else networks.NETWORKS) if arguments.only.search(name)]
    if not names:
        parser.error("no network has such a name")
    quiet()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    made = [write(name, arguments.folder, ["traced"] if arguments.stored else arguments.exporters) for name in names]
    print(f"{sum(made)} of {len(made)} networks written")
    return 0 if all(made) else 1


if __name__ == "__main__":
    sys.exit(main())
