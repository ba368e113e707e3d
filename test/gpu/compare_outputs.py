#!/usr/bin/env python3
"""Holds rtexec's outputs against PyTorch's, for the files that export_torchvision.py wrote.

Usage: compare_outputs.py [--board BOARD] [--precisions fp32,tf32,fp16] [--bounds fp32=1e-4,...] --rtexec PROGRAM FOLDER

A line for each network and precision: |a - b| / |b| in the Euclidean norm, max|a - b| / max|b|, and whether both name the same class.
Exit status 0: every relative error is below the bound of its precision; 1: one is not, or a program failed.
"""
import argparse
import pathlib
import shlex
import subprocess
import sys
import tempfile

import numpy

BOUNDS = {"fp32": 1e-4, "tf32": 5e-3, "fp16": 2e-2}
COMMAND = "{rtexec} infer {model} {input} -o {folder} --board {board} --precision {precision}"


def bounds_of(text):
    """"fp32=1e-4,fp16=0.02" beside the defaults."""
    try:
        given = {name: float(value) for name, value in (entry.split("=") for entry in text.split(","))}
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not PRECISION=BOUND,...') from None
    return BOUNDS | given


def infer(command, **values):
    """The only output of the model, and what went wrong where there is none."""
    with tempfile.TemporaryDirectory() as folder:
        words = [word.format(folder=folder, **values) for word in shlex.split(command)]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            return None, f"exit status {done.returncode}: {done.stdout.strip()[-300:]}"
        outputs = [numpy.load(file) for file in pathlib.Path(folder).glob("*.npy")]
        return (outputs[0], "") if len(outputs) == 1 else (None, f"{len(outputs)} outputs instead of one")


def errors(ours, theirs):
    """Of the norms, and of the largest element; infinite where a value is not a number."""
    ours, theirs = ours.astype(numpy.float64), theirs.astype(numpy.float64)
    both = numpy.linalg.norm(ours - theirs) / numpy.linalg.norm(theirs), numpy.abs(ours - theirs).max() / numpy.abs(theirs).max()
    return tuple(error if numpy.isfinite(error) else numpy.inf for error in both)


def compare(arguments, model, precision):
    """Prints the line; true where the bound holds."""
    stem = model.with_name(model.stem.removesuffix("-default"))
    ours, why = infer(arguments.command, rtexec=arguments.rtexec, model=model, input=f"{stem}.input.npy", board=arguments.board, precision=precision)
    theirs = numpy.load(f"{stem}.expected.npy")
    if ours is not None and ours.shape != theirs.shape:
        ours, why = None, f"the output is {ours.shape} instead of {theirs.shape}"
    if ours is None:
        print(f"{model.stem:28} {precision:9}  {why}", flush=True)
        return False
    relative, largest = errors(ours, theirs)
    bound = arguments.bounds[precision]
    agrees = "same" if ours.argmax() == theirs.argmax() else "other"
    print(f"{model.stem:28} {precision:9} {relative:9.1e} {largest:9.1e}  {agrees:5}" + ("" if relative < bound else f"  above {bound:g}"), flush=True)
    return relative < bound


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rtexec", required=True, metavar="PROGRAM")
    parser.add_argument("--board", default="h200")
    parser.add_argument("--networks", type=lambda text: text.split(","), help="file names without .onnx (default: all of the folder)")
    parser.add_argument("--precisions", type=lambda text: text.split(","), default=list(BOUNDS))
    parser.add_argument("--bounds", type=bounds_of, default=BOUNDS, help="largest relative error (default: fp32=1e-4,tf32=5e-3,fp16=2e-2)")
    parser.add_argument("--command", default=COMMAND, help=f"how to run a network (default: {COMMAND})")
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.precisions if name not in arguments.bounds]:
        parser.error(f"no bound is known for precision {unknown[0]}")
    models = [file for file in sorted(arguments.folder.glob("*.onnx")) if not arguments.networks or file.stem in arguments.networks]
    if not models or arguments.networks and len(models) < len(set(arguments.networks)):
        parser.error(f"{arguments.folder}: not every network is there")

    print(f"{'network':28} {'precision':9} {'norm':>9} {'largest':>9}  class")
    held = [compare(arguments, model, precision) for model in models for precision in arguments.precisions]
    print(f"{sum(held)} of {len(held)} within their bounds")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
