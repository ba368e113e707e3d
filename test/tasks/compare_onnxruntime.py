#!/usr/bin/env python3
"""Holds rtexec's outputs against onnxruntime's, on the same ONNX file and the same input, with one thread each.

Usage: compare_onnxruntime.py [--runs N] [--json FILE] --rtexec PROGRAM MODEL.onnx[=INPUT.npy]...

Without an input, seeded noise. The error of a network is max|a - b| / max|b| over each output, the worst of its outputs.
Exit status 0: every error is below 1e-4; 1: one is not, or a program failed. Times are medians; they decide nothing.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

MOST_ERROR = 1e-4


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def run_onnxruntime(model, given, runs):
    """The outputs by name, and the median time in ms."""
    session = session_of(model)
    (port,) = session.get_inputs()
    tensor = numpy.load(given) if given else numpy.random.default_rng(1).random(port.shape, dtype=numpy.float32)
    values = session.run(None, {port.name: tensor})
    outputs = {output.name: value for output, value in zip(session.get_outputs(), values)}
    return tensor, outputs, median_ms(session, {port.name: tensor}, runs)


def median_ms(session, inputs, runs):
    """After one run that is not counted."""
    session.run(None, inputs)
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        session.run(None, inputs)
        times.append((time.perf_counter() - begin) * 1e3)
    return float(numpy.median(times))


def run_rtexec(rtexec, model, tensor, folder, runs):
    """The outputs by file name, and the median time in ms."""
    numpy.save(folder / "input.npy", tensor)
    command = [rtexec, "infer", model, folder / "input.npy", "-o", folder / "outputs", "--repeat", runs + 1, "--json", folder / "report.json"]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    report = json.loads((folder / "report.json").read_text())
    outputs = {file.stem: numpy.load(file) for file in (folder / "outputs").iterdir()}
    return outputs, report["execution_ns"]["median"] / 1e6


def relative_error(ours, theirs):
    """NaN on either side, or another shape, is an infinite error."""
    if ours is None or ours.shape != theirs.shape:
        return math.inf
    error = numpy.abs(ours - theirs).max() / numpy.abs(theirs).max()
    return float(error) if numpy.isfinite(error) else math.inf


def compare(rtexec, model, given, runs):
    tensor, theirs, their_time = run_onnxruntime(model, given, runs)
    with tempfile.TemporaryDirectory() as folder:
        ours, our_time = run_rtexec(rtexec, model, tensor, pathlib.Path(folder), runs)
    file_name = lambda name: re.sub(r"[/\0]", "_", name)
    error = max(relative_error(ours.get(file_name(name)), value) for name, value in theirs.items())
    return {"model": pathlib.Path(model).stem, "error": error, "rtexec_ms": our_time, "onnxruntime_ms": their_time}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs of which the median is taken (default: 5)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the table to this file")
    parser.add_argument("--rtexec", required=True, metavar="PROGRAM")
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx[=INPUT.npy]")
    arguments = parser.parse_args()

    print(f"{'network':24} {'error':>9} {'rtexec':>10} {'onnxruntime':>12} {'ratio':>6}   (one thread, median of {arguments.runs})")
    rows = []
    for word in arguments.models:
        model, _, given = word.partition("=")
        row = compare(arguments.rtexec, model, given, arguments.runs)
        rows.append(row)
        verdict = "" if row["error"] < MOST_ERROR else f"  above {MOST_ERROR:g}"
        print(f"{row['model']:24} {row['error']:9.1e} {row['rtexec_ms']:7.1f} ms {row['onnxruntime_ms']:9.1f} ms "
              f"{row['rtexec_ms'] / row['onnxruntime_ms']:6.2f}{verdict}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(row["error"] < MOST_ERROR for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
