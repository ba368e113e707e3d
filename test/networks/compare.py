#!/usr/bin/env python3
"""Runs the networks that export.py wrote by `rtexec infer`, and holds the outputs against PyTorch's.

Usage: compare.py [--board BOARD] [--precision P] [--only REGEX] [--time] [--json FILE] [--list-refused] [--rtexec PROGRAM] FOLDER
       compare.py [--rtexec PROGRAM] [FOLDER] [--markdown] [--write DOCUMENT] [--results FILE...]

The error of a network is max|a - b| / max|b| over each output, the worst of its outputs. It is right below 1e-4 in fp32, 1e-2 in tf32 and 2e-2 in
fp16, or four times what PyTorch's own single precision makes of it, where a network magnifies rounding that much. Of a quantised one the error is
|a - b| / |b| in the Euclidean norm, and right below 1e-1, or below what quantising made of the network, where that is more: a sum that is
rounded the other way moves its place by one step of 255.
Detectors give boxes and scores in one output [1, 4 + scores, places] ("boxes"): each part has an error of its own, lest pixels hide scores.
Those that choose their boxes by TopK give rows ("rows") whose order is open among equals, and so is which of them are the last: each of PyTorch's
rows is held against the row of ours that is nearest, every column as a share of its largest value, and the worst 5 % of the rows do not count.
--markdown, --write: a table of all networks; --results takes in what --json wrote, on this machine or on one that has another board. Without a
folder nothing is run.
--time: the median of 20 executions, beside onnxruntime's with one thread; of three turns of both the least. It decides nothing.
Exit status 0: nothing is wrong (what is refused is not); 1: a network is, or rtexec failed.
"""
import argparse
import json
import math
import pathlib
import re
import sys
import tempfile
import textwrap

import numpy
import onnx
import onnxruntime

import infer
import table
from infer import REFUSED, WRONG

sys.path.append(str(infer.ROOT / "test/tasks"))
import compare_onnxruntime

RIGHT = "right"
BOUNDS = {"fp32": 1e-4, "tf32": 1e-2, "fp16": 2e-2}
QUANTISED_BOUND = 1e-1
ROUNDINGS = 4  # times PyTorch's own error, as above
SKIPPED_ROWS = 0.05
RUNS = 20
TURNS = 3


def numbered(arrays, prefix):
    """The keys in0, in1, ... or out0, out1, ... in their order."""
    return [f"{prefix}{number}" for number in range(len(arrays.files)) if f"{prefix}{number}" in arrays.files]


def graph_of(model):
    return onnx.load(model, load_external_data=False).graph


def ports_of(graph):
    """The names of inputs and outputs."""
    constants = {value.name for value in graph.initializer}
    return [port.name for port in graph.input if port.name not in constants], [port.name for port in graph.output]


def parameters_of(graph):
    return sum(math.prod(value.dims) for value in graph.initializer)


def onnxruntime_outputs(model, inputs, fused=True):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not fused:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip((port.name for port in session.get_inputs()), inputs)))


def fits(ours, theirs):
    return ours is not None and ours.shape == theirs.shape


def relative_error(ours, theirs):
    if not fits(ours, theirs):
        return math.inf
    ours, theirs = ours.astype(numpy.float64), theirs.astype(numpy.float64)
    return 0.0 if numpy.array_equal(ours, theirs) else compare_onnxruntime.relative_error(ours, theirs)


def error_of_norm(ours, theirs):
    if not fits(ours, theirs):
        return math.inf
    error = numpy.linalg.norm(ours.astype(numpy.float64) - theirs) / numpy.linalg.norm(theirs)
    return float(error) if numpy.isfinite(error) else math.inf


def error_of_rows(ours, theirs):
    """Of lists whose order is open: see above."""
    if not fits(ours, theirs):
        return math.inf
    ours, theirs = (values.reshape(-1, values.shape[-1]).astype(numpy.float64) for values in (ours, theirs))
    largest = numpy.abs(theirs).max(axis=0)
    scale = numpy.where(largest > 0, largest, 1)
    nearest = numpy.sort([numpy.abs((ours - row) / scale).max(axis=1).min() for row in theirs])
    error = float(nearest[:math.ceil(len(nearest) * (1 - SKIPPED_ROWS))].max())
    return error if math.isfinite(error) else math.inf


def error_of_boxes(ours, theirs, error=relative_error):
    if not fits(ours, theirs) or theirs.ndim != 3:
        return error(ours, theirs)
    return max(error(ours[:, :4], theirs[:, :4]), error(ours[:, 4:], theirs[:, 4:]))


ERRORS = {"plain": relative_error, "boxes": error_of_boxes, "rows": error_of_rows}
QUANTISED_ERRORS = {"plain": error_of_norm, "boxes": lambda ours, theirs: error_of_boxes(ours, theirs, error_of_norm)}


def worst_error(outputs, arrays, errors=None):
    """Of outputs in the order of the file; `arrays` is the .npz beside it."""
    error = (errors or (QUANTISED_ERRORS if "quantised" in arrays.files else ERRORS))[str(arrays["kind"])]
    return max(error(ours, arrays[key]) for key, ours in zip(numbered(arrays, "out"), outputs, strict=True))


def bound_of(arrays, precision):
    quantised = max(QUANTISED_BOUND, float(arrays["quantised"])) if "quantised" in arrays.files else 0
    return max(BOUNDS[precision], ROUNDINGS * float(arrays["rounding"]), quantised)


def times_of(arguments, model, inputs, more):
    """In ms, of rtexec and of onnxruntime, in turns, lest a load beside them falls on one only."""
    session = compare_onnxruntime.session_of(model)
    ours, theirs = [], []
    for _ in range(TURNS):
        theirs.append(compare_onnxruntime.median_ms(session, inputs, RUNS))
        with tempfile.TemporaryDirectory() as folder:
            outcome = infer.infer(arguments, model, inputs, pathlib.Path(folder), more)
        ours.append(outcome.report["execution_ns"]["p50"] / 1e6)
    return min(ours), min(theirs)


def compare(arguments, model):
    """What is told of a network."""
    arrays = numpy.load(model.with_suffix(".npz"))
    graph = graph_of(model)
    names, output_names = ports_of(graph)
    inputs = dict(zip(names, (arrays[key] for key in numbered(arrays, "in")), strict=True))
    more = ["--repeat", RUNS] if arguments.time else []
    with tempfile.TemporaryDirectory() as folder:
        outcome = infer.infer(arguments, model, inputs, pathlib.Path(folder), more)
    row = {"network": model.stem, "board": arguments.board, "precision": arguments.precision, "nodes": len(graph.node),
           "parameters": parameters_of(graph), "result": REFUSED if outcome.refused else WRONG, "error": None, "message": outcome.message}
    if outcome.code == 0:
        row["error"] = worst_error([outcome.output(name) for name in output_names], arrays)
        row["result"] = RIGHT if row["error"] < bound_of(arrays, arguments.precision) else WRONG
    if arguments.time and outcome.code == 0:
        row["rtexec_ms"], row["onnxruntime_ms"] = times_of(arguments, model, inputs, more)
    return row


def result_text(row, width=100):
    if row["error"] is not None:
        return f"{row['result']} {row['error']:.1e}"
    text = infer.shortened(row["message"]).replace("this operator is not supported", "no such operator")
    return textwrap.shorten(f"{row['result']}: {text}", width, placeholder=" ...")


def print_row(row):
    ours, theirs = row.get("rtexec_ms"), row.get("onnxruntime_ms")
    times = f" {ours:9.2f} ms {theirs:9.2f} ms {ours / theirs:6.2f}" if ours else ""
    print(f"{row['network']:40} {row['nodes']:5} {times} {result_text(row)}", flush=True)


def models_of(arguments):
    files = sorted(arguments.folder.glob("*.onnx")) if arguments.folder else []
    return [file for file in files if arguments.only.search(file.stem) and file.with_suffix(".npz").exists()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    infer.add_options(parser)
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX", help="files with such a name")
    parser.add_argument("--time", action="store_true", help=f"also time {RUNS} executions, and onnxruntime's with one thread")
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown, in place of lines as they come")
    parser.add_argument("--write", type=pathlib.Path, metavar="DOCUMENT", help="renew that table in a document, between its marks")
    parser.add_argument("--results", type=pathlib.Path, nargs="+", default=[], metavar="FILE", help="for that table: also what --json wrote")
    parser.add_argument("--list-refused", action="store_true", help="also print the messages of refusals, with counts")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the table to this file")
    parser.add_argument("folder", type=pathlib.Path, nargs="?", metavar="FOLDER")
    arguments = parser.parse_args()
    models = models_of(arguments)
    if not models and not arguments.results:
        parser.error(f"{arguments.folder}: no such network with its .npz is there")
    rows = []
    for model in models:
        rows.append(compare(arguments, model))
        if not arguments.markdown:
            print_row(rows[-1])
    if arguments.markdown or arguments.write:
        text = table.markdown(rows + [row for file in arguments.results for row in json.loads(file.read_text())])
        if arguments.markdown:
            print(text)
        if arguments.write:
            table.renew(arguments.write, text)
    if arguments.list_refused:
        refused = [row for row in rows if row["result"] == REFUSED]
        infer.print_groups([row["message"] for row in refused], [row["network"] for row in refused])
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    counts = {result: sum(row["result"] == result for row in rows) for result in (RIGHT, WRONG, REFUSED)}
    print(", ".join(f"{count} {result}" for result, count in counts.items()))
    return 1 if counts[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())
