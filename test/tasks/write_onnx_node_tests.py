#!/usr/bin/env python3
"""Writes the tests of operators that the package onnx brings into a folder, for onnx_oracle_test.cpp.

Each test becomes a folder with model.onnx, and in test_data_set_0 one file for each tensor. Tests that hold anything
else than tensors are left out, and named.

    write_onnx_node_tests.py FOLDER
"""
import pathlib
import sys

import numpy
import onnx
from onnx.backend.test.loader import load_model_tests


def tensor(value):
    if isinstance(value, onnx.TensorProto):
        return value
    return onnx.numpy_helper.from_array(numpy.asarray(value))


def write(test, folder):
    inputs, outputs = test.data_sets[0]
    data = folder / test.name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    for kind, values in ("input", inputs), ("output", outputs):
        for i, value in enumerate(values):
            (data / f"{kind}_{i}.pb").write_bytes(tensor(value).SerializeToString())
    (folder / test.name / "model.onnx").write_bytes(test.model.SerializeToString())


def holds_tensors_only(test):
    inputs, outputs = test.data_sets[0]
    declared = (*test.model.graph.input, *test.model.graph.output)
    return all(info.type.HasField("tensor_type") for info in declared) and not any(
        value is None or isinstance(value, list) for value in (*inputs, *outputs))


def main():
    folder = pathlib.Path(sys.argv[1])
    left_out = []
    for test in load_model_tests(kind="node"):
        if holds_tensors_only(test):
            write(test, folder)
        else:
            left_out.append(test.name)
    print("left out:", " ".join(left_out))


if __name__ == "__main__":
    main()
