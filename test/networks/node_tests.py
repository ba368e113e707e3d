#!/usr/bin/env python3
"""Runs the tests of single operators that the package onnx has, by `rtexec infer`.

Usage: node_tests.py [--board BOARD] [--precision P] [--jobs N] [--only REGEX] [--newest-opset N] [--list-refused] [--json FILE] --rtexec PROGRAM

First all inputs are given at run time. Where that is refused, inputs become initialisers in the model, more of them each time: integers,
truth values and floats of one element ("folded"), all but the first input ("constants"), and where that one is of integers or of one element
it too ("all"). The first way that is not refused counts, and the result says which it was.

passed: types and shapes are those of ONNX; values in fp32 are within rtol 1e-3 and atol 1e-7, as ONNX's own runner has it, or 1e-6 of the
largest value, and half precision may be two steps off; in tf32 within 1e-2 of the largest value, in fp16 within 3e-2.
wrong: anything else that is not refused, also a crash.
not applicable: refused, and it asks for something that no engine for fixed tensors has, or random, or disputed; the reason is told.
Of boxes that NonMaxSuppression chooses at run time, rows of -1 fill up its output, whose size is fixed; they are not compared.
Tests named "expanded" have an operator's definition by others: they have rows of their own. --newest-opset 23 asks what of newer opsets would be
read if they were named so.
Exit status 0: none is wrong; 1: one is.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import sys
import tempfile
import warnings

import numpy
import onnx
import onnx.checker
import onnx.numpy_helper

import infer
from infer import PASSED, REFUSED, WRONG

NOT_APPLICABLE = "not applicable"
RESULTS = (PASSED, WRONG, REFUSED, NOT_APPLICABLE)
BOUNDS = {"tf32": 1e-2, "fp16": 3e-2}  # of the largest value
ROUNDING = 1e-6  # in fp32, likewise: where sums are 0 as ONNX computes them in double precision, they need not be

STEPS = {"float16": 2**-9, "bfloat16": 2**-6}  # two of them, relative

RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
LOSSES = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}
BY_CHANCE = "random numbers"
DISPUTED = {  # where onnxruntime gives what this engine may give, too, and does not count it
    "test_resize_downsample_scales_linear_align_corners": "the size of the output before it is rounded; PyTorch and onnxruntime take the rounded one",
    "test_resize_downsample_scales_cubic_align_corners": "the size of the output before it is rounded; PyTorch and onnxruntime take the rounded one",
}
SHAPED_BY_VALUES = {"Compress", "NonMaxSuppression", "NonZero", "Unique"}


def all_tests():
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests
        return load_model_tests(kind="node")


def array_of(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else numpy.asarray(value)


def is_expanded(name):
    return re.search(r"_expanded(_ver\d+)?$", name) is not None


def operators_of(tests):
    """The operator that each test is about: of an expanded one that of the test it was made of."""
    plain = {test.name: test.model.graph.node[-1].op_type for test in tests if not is_expanded(test.name)}
    known = lambda name: plain.get(re.sub(r"_expanded(_ver\d+)?$", "", name))
    return {test.name: plain.get(test.name) or f"{known(test.name) or 'others'} (expanded)" for test in tests}


def never_applicable(test):
    """Why its values cannot be handed over as files; else nothing."""
    values = [*test.data_sets[0][0], *test.data_sets[0][1]]
    kinds = {port.type.WhichOneof("value") for port in [*test.model.graph.input, *test.model.graph.output]}
    for kind, what in (("sequence_type", "a sequence of tensors"), ("optional_type", "an optional value"), ("map_type", "a map")):
        if kind in kinds:
            return what
    if any(value is None or isinstance(value, (list, dict)) for value in values):
        return "a sequence of tensors"
    return "text" if any(array_of(value).dtype.kind in "OSU" for value in values) else None


def rather_not_applicable(test):
    """Why a refusal is as good as an answer; else nothing."""
    nodes = {node.op_type: node for node in test.model.graph.node}
    if any(entry.domain.endswith("training") for entry in test.model.opset_import):
        return "training"
    flags = [attribute for node in nodes.values() for attribute in node.attribute if attribute.name == "training_mode" and attribute.i]
    if "Dropout" in nodes and len(nodes["Dropout"].input) > 2:
        return BY_CHANCE
    if flags:
        return "training"
    if any(entry.domain == "ai.onnx.ml" for entry in test.model.opset_import):
        return "no neural network (ai.onnx.ml)"
    for operators, what in ((RANDOM, BY_CHANCE), (SHAPED_BY_VALUES, "a shape that depends on values"),
                            (LOSSES, "training"), ({"ImageDecoder"}, "a file of a picture")):
        if operators & set(nodes):
            return what
    if any(needs_double(array_of(value), test) for value in [*test.data_sets[0][0], *test.data_sets[0][1]]):
        return "double precision"
    return None


def excuse(test):
    """Why another answer is as good; else nothing."""
    if test.name in DISPUTED:
        return f"disputed: it expects {DISPUTED[test.name]}"
    return BY_CHANCE if rather_not_applicable(test) == BY_CHANCE else None


def needs_double(values, test):
    if values.dtype != numpy.float64:
        return False
    with numpy.errstate(all="ignore"):
        return not numpy.allclose(values.astype(numpy.float32), values, rtol=test.rtol, atol=test.atol, equal_nan=True)


def declared(model, newest):
    """The model as one of opset `newest`, where it says a newer one and is valid in that one too."""
    if not newest or all(entry.domain or entry.version <= newest for entry in model.opset_import):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for entry in copy.opset_import:
        entry.version = min(entry.version, newest) if not entry.domain else entry.version
    try:
        onnx.checker.check_model(copy, full_check=True)
        return copy
    except Exception:  # the checker has several kinds, shape inference others
        return model


def ways_of(inputs):
    """(name, the inputs that become initialisers), more of them each time."""
    names = list(inputs)
    small = lambda name: inputs[name].dtype.kind in "iub" or inputs[name].size <= 1
    main = next((name for name in names if inputs[name].dtype.kind != "b"), None)
    ways = [("run time", []), ("folded", [name for name in names if name != main and small(name)]),
            ("constants", [name for name in names if name != main])]
    if main is not None and small(main):
        ways.append(("all", names))
    return [way for number, way in enumerate(ways) if number == 0 or len(way[1]) > len(ways[number - 1][1])]


def with_initialisers(model, inputs, constants):
    folded = onnx.ModelProto()
    folded.CopyFrom(model)
    given = {value.name: value for value in folded.graph.input}
    for name in constants:
        folded.graph.input.remove(given[name])
        folded.graph.initializer.append(onnx.numpy_helper.from_array(inputs[name], name))
    return folded


def as_given(values):
    """As it comes in a file: bfloat16, which numpy does not have, as floats."""
    return values.astype(numpy.float32) if values.dtype.name == "bfloat16" else values


def without_filling(boxes):
    """Rows of boxes that were chosen."""
    return boxes[(boxes >= 0).all(axis=1)]


def differs(name, ours, theirs, test, precision):
    """What is wrong with an output; else nothing."""
    if ours is None:
        return f"output '{name}' is missing"
    expected = as_given(theirs)
    if ours.shape != expected.shape or ours.dtype != expected.dtype:
        return f"output '{name}' is {ours.dtype}{list(ours.shape)} instead of {expected.dtype}{list(expected.shape)}"
    a, b = (values.astype(numpy.float64) if values.dtype.kind not in "iub" else values for values in (ours, theirs))
    rtol, atol = (0 if precision in BOUNDS else test.rtol), test.atol
    rtol = max(rtol, STEPS.get(theirs.dtype.name, 0))
    if b.dtype.kind == "f":
        atol = max(atol, BOUNDS.get(precision, ROUNDING) * float(numpy.abs(b[numpy.isfinite(b)]).max(initial=0)))
    good = numpy.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True) if a.dtype.kind != "b" else a == b
    if good.all():
        return None
    where = tuple(int(index) for index in numpy.argwhere(~good)[0])
    return f"output '{name}': {int((~good).sum())} of {good.size} differ, the first {a[where]} instead of {b[where]} at {list(where)}"


def judged(outcome, test, precision):
    """Result and detail of a run that was not refused."""
    if outcome.code != 0:
        return WRONG, outcome.message
    names = [port.name for port in test.model.graph.output]
    fills = test.model.graph.node[-1].op_type == "NonMaxSuppression"
    output = lambda name: without_filling(outcome.output(name)) if fills else outcome.output(name)
    found = (differs(name, output(name), array_of(value), test, precision)
             for name, value in zip(names, test.data_sets[0][1]))
    wrong = next((what for what in found if what), None)
    return (WRONG, wrong) if wrong else (PASSED, "")


def run(arguments, test):
    """(result, way, detail)"""
    if why := never_applicable(test):
        return NOT_APPLICABLE, "", why
    inputs = {port.name: array_of(value) for port, value in zip(test.model.graph.input, test.data_sets[0][0])}
    model = declared(test.model, arguments.newest_opset)
    refusal = None
    for way, constants in ways_of(inputs):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            onnx.save(with_initialisers(model, inputs, constants), folder / "model.onnx")
            given = {name: as_given(value) for name, value in inputs.items() if name not in constants}
            outcome = infer.infer(arguments, folder / "model.onnx", given, folder, limit=60)
        if not outcome.refused:
            result, detail = judged(outcome, test, arguments.precision)
            why = excuse(test) if result == WRONG else None
            return (NOT_APPLICABLE, "", why) if why else (result, way, detail)
        refusal = outcome.message  # the last one: what remains where all that may be constant is
        if re.search(r"this operator is not supported|^opset \d+ is not supported", refusal):
            break
    why = rather_not_applicable(test)
    return (NOT_APPLICABLE, "", why) if why else (REFUSED, "", refusal)


def print_table(rows):
    """A line for each operator, then how many passed in which way and what was not applicable."""
    table = collections.defaultdict(collections.Counter)
    for row in rows:
        table[row["operator"]][row["result"]] += 1
    print(f"{'operator':36} {'passed':>7} {'wrong':>7} {'refused':>8} {'n/a':>5}")
    for operator, counts in sorted(table.items()):
        print(f"{operator:36} {counts[PASSED]:7} {counts[WRONG]:7} {counts[REFUSED]:8} {counts[NOT_APPLICABLE]:5}")
    for result, key, title in ((PASSED, "way", "passed with inputs at"), (NOT_APPLICABLE, "detail", "not applicable")):
        counts = collections.Counter(row[key] for row in rows if row["result"] == result)
        print(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    infer.add_options(parser)
    parser.add_argument("--jobs", type=int, default=2, help="how many run at the same time (default: 2)")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="REGEX", help="tests with such a name")
    parser.add_argument("--newest-opset", type=int, metavar="N", help="declare newer models as of opset N where they are valid in it")
    parser.add_argument("--list-refused", action="store_true", help="also print the messages of refusals, with counts")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write what became of each test to this file")
    arguments = parser.parse_args()

    tests = all_tests()
    operators = operators_of(tests)
    chosen = [test for test in tests if arguments.only.search(test.name)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda test: run(arguments, test), chosen))
    rows = [{"test": test.name, "operator": operators[test.name], "result": result, "way": way, "detail": detail}
            for test, (result, way, detail) in zip(chosen, results)]
    print_table(rows)
    for row in rows:
        if row["result"] == WRONG:
            print(f"wrong: {row['test']} ({row['way']}): {row['detail']}")
    if arguments.list_refused:
        refused = [row for row in rows if row["result"] == REFUSED]
        infer.print_groups([row["detail"] for row in refused], [row["test"] for row in refused])
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    counts = collections.Counter(row["result"] for row in rows)
    print(", ".join(f"{counts[result]} {result}" for result in RESULTS))
    return 1 if counts[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())
