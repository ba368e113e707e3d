#!/usr/bin/env python3
"""Latency of networks at batch 1: PyTorch's best against rtexec's, measured one after the other.

Usage: compare_latency.py [--networks resnet152,...] [--precisions tf32,fp32] [--no-compile] [--compile-ahead PROCESSES] [--torch-results FILE] --bench PROGRAM FOLDER

FOLDER holds the files of export_torchvision.py (at 3x416x416), or those of test/networks/export.py for networks that it knows. PyTorch runs as a CUDA graph of the model as it is ("graph"), as a CUDA graph of the
model with folded batch normalisation, where torch.fx can trace it, and channels last ("folded"), and through torch.compile(mode="reduce-overhead") ("compile"), each with
cudnn.benchmark and its input on the device; the best is the one with the least median, and one that does not work with a network is told. "events" is the time between two CUDA events
around a run, "wall" the time until synchronize() returns. rtexec's times are taken in the same way by the program cuda-bench. p99.9/p50 is of runs that were launched while others ran:
the GPU's own time. Between events around a run on an idle GPU is also what interrupts the host in its launch.

Exit status 0: every ratio and tail is within its bound; 1: one is not, or a program failed; 77: no CUDA device.
"""
import argparse
import copy
import functools
import json
import multiprocessing
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

import numpy
import torch
import torch.fx.experimental.optimization

import torchvision_networks

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "networks"))
import networks

COMMAND = "{bench} {model} --precision {precision} --runs {runs} --json {report}"
PRECISIONS = ("tf32", "fp32", "fp16")
WARM_UPS = 50


# ---- PyTorch --------------------------------------------------------------------------------------------------------

def set_precision(precision):
    tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32


def captured(model, tensors):
    """Replays the model as one CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):  # algorithms are chosen here
            model(*tensors)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = model(*tensors)
    return lambda: (graph.replay(), output)[1]


def graph(model, tensors):
    return captured(model, tensors)


def channels_last(value):
    return value.contiguous(memory_format=torch.channels_last) if value.dim() == 4 else value


def folded(model, tensors):
    try:
        model = torch.fx.experimental.optimization.fuse(model)
    except Exception:  # of many kinds, where a model cannot be traced
        pass
    return captured(model.to(memory_format=torch.channels_last), [channels_last(tensor) for tensor in tensors])


def compiled(model, tensors):
    torch.compiler.reset()
    run = torch.compile(model, mode="reduce-overhead")
    for _ in range(5):  # compiles, then records its graph
        run(*tensors)
    return lambda: run(*tensors)


VARIANTS = {"graph": graph, "folded": folded, "compile": compiled}


def compile_once(network, precision):
    try:
        measure_variant(network, precision, "compile", 1)
    except Exception:  # told when it is measured
        pass


def compile_ahead(pairs, processes):
    """So that what is measured one after the other later finds its kernels in inductor's cache."""
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=1) as pool:
        pool.starmap(compile_once, pairs, chunksize=1)


def percentiles(times_ms):
    """The same ones that rtexec reports."""
    ranked = numpy.sort(numpy.asarray(times_ms))
    rank = lambda share: float(ranked[max(int(numpy.ceil(share * len(ranked))), 1) - 1])
    return {"p50": rank(0.5), "p99": rank(0.99), "p999": rank(0.999)}


def measure(run, runs):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(WARM_UPS):
        run()
    torch.cuda.synchronize()
    events, wall = [], []
    for _ in range(runs):
        start = time.perf_counter()
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        wall.append((time.perf_counter() - start) * 1e3)
        events.append(begin.elapsed_time(end))
    return {"events": percentiles(events), "wall": percentiles(wall)}


@functools.cache
def network_on_cpu(network):
    """With its inputs."""
    if network not in torchvision_networks.NETWORKS:
        return networks.build(network)
    size = torchvision_networks.NETWORKS[network]
    return torchvision_networks.build(network, size), (torchvision_networks.input_of(size),)


def measure_variant(network, precision, variant, runs):
    set_precision(precision)
    number = torch.float16 if precision == "fp16" else torch.float32
    on_cpu, inputs = network_on_cpu(network)
    model = copy.deepcopy(on_cpu).to("cuda", number)
    tensors = [value.to("cuda", number) if value.is_floating_point() else value.to("cuda") for value in inputs]
    with torch.no_grad():
        result = measure(VARIANTS[variant](model, tensors), runs)
    torch.cuda.empty_cache()
    return result


class TorchResults:
    """What was measured on this device with this PyTorch, kept in a file where one is given."""

    def __init__(self, file):
        self.file = file
        self.machine = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}"
        known = json.loads(file.read_text()) if file and file.exists() else {}
        self.results = known.get("results", {}) if known.get("machine") == self.machine else {}

    def get(self, network, precision, variant, runs):
        key = f"{network}/{precision}/{variant}/{runs}"
        if key not in self.results:
            self.results[key] = measure_variant(network, precision, variant, runs)
            if self.file:
                self.file.write_text(json.dumps({"machine": self.machine, "results": self.results}, indent=2) + "\n")
        return self.results[key]


def print_times(network, precision, who, times):
    events, wall = times["events"], times["wall"]
    print(f"  {network} {precision} {who:8} events p50 {events['p50']:7.3f} p99 {events['p99']:7.3f} p99.9 {events['p999']:7.3f}"
          f"   wall p50 {wall['p50']:7.3f} p99 {wall['p99']:7.3f} p99.9 {wall['p999']:7.3f} ms", flush=True)


def torch_best(results, network, precision, variants, runs):
    """Prints a line for each variant; the best of those that work, null where none does."""
    measured = {}
    for variant in variants:
        try:
            measured[variant] = results.get(network, precision, variant, runs)
        except Exception as error:  # a compiler that is missing, for example, has errors of many kinds
            print(f"  {network} {precision} {variant}: failed: {str(error).strip().splitlines()[0] if str(error) else type(error).__name__}", flush=True)
            continue
        print_times(network, precision, variant, measured[variant])
    return min(measured.items(), key=lambda item: item[1]["events"]["p50"]) if measured else None


# ---- rtexec ---------------------------------------------------------------------------------------------------------

def times_of(report):
    """Milliseconds from the JSON of cuda-bench for one network."""
    return next(iter(report.values()))


def measure_rtexec(arguments, network, precision):
    """Null, and the reason printed, where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        stem = arguments.folder / network
        words = [word.format(bench=arguments.bench, model=f"{stem}.onnx", precision=precision,
                             runs=arguments.runs, report=report) for word in shlex.split(arguments.command)]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode == 0:
            times = times_of(json.loads(report.read_text()))
            print_times(network, precision, "rtexec", times)
            return times
        print(f"  {network} {precision} rtexec: exit status {done.returncode}: {done.stdout.strip()[-300:]}", flush=True)
        return None


# ---- both -----------------------------------------------------------------------------------------------------------

def tail(times):
    return times["p999"] / times["p50"]


def compare(arguments, results, network, precision):
    best = torch_best(results, network, precision, arguments.variants, arguments.runs)
    ours = measure_rtexec(arguments, network, precision)
    if best is None or ours is None:
        return None
    variant, theirs = best
    return {"network": network, "precision": precision, "rtexec_ms": ours, "torch_ms": theirs, "variant": variant,
            "ratio": ours["events"]["p50"] / theirs["events"]["p50"], "wall_ratio": ours["wall"]["p50"] / theirs["wall"]["p50"],
            "tail": tail(ours["queued"]), "events_tail": tail(ours["events"])}


def print_table(rows, arguments):
    print(f"{'network':20} {'precision':9} {'rtexec':>10} {'PyTorch':>10} {'best':8} {'ratio':>6} {'of wall':>8} {'p99.9/p50':>10} {'of events':>10}")
    for row in rows:
        verdict = "" if holds(row, arguments) else "  above the bound"
        print(f"{row['network']:20} {row['precision']:9} {row['rtexec_ms']['events']['p50']:7.3f} ms {row['torch_ms']['events']['p50']:7.3f} ms {row['variant']:8} "
              f"{row['ratio']:6.3f} {row['wall_ratio']:8.3f} {row['tail']:10.3f} {row['events_tail']:10.3f}{verdict}")


def holds(row, arguments):
    return row["ratio"] <= arguments.most_ratio and row["tail"] <= arguments.most_tail


def parse():
    names = lambda text: text.split(",")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, metavar="PROGRAM", help="cuda-bench, of the folder test/ of a build")
    parser.add_argument("--networks", type=names, default=list(torchvision_networks.LATENCY_NETWORKS))
    parser.add_argument("--precisions", type=names, default=["tf32", "fp32"])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--no-compile", dest="variants", action="store_const", const=["graph", "folded"], default=list(VARIANTS),
                        help="leave out torch.compile, which takes a minute or two for each network and precision")
    parser.add_argument("--compile-ahead", type=int, metavar="PROCESSES", help="first compile all networks with torch.compile, so many at once")
    parser.add_argument("--torch-results", type=pathlib.Path, metavar="FILE", help="take PyTorch's times from this file, and add to it what is not there")
    parser.add_argument("--most-ratio", type=float, default=1.0, help="of our p50 to PyTorch's (default: 1.0)")
    parser.add_argument("--most-tail", type=float, default=1.02, help="of our p99.9 to our p50 (default: 1.02)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the table to this file")
    parser.add_argument("--command", default=COMMAND, help=f"how to time a network (default: {COMMAND})")
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    arguments = parser.parse_args()
    for given, known in ((arguments.networks, torchvision_networks.NETWORKS | networks.NETWORKS), (arguments.precisions, PRECISIONS)):
        if unknown := [name for name in given if name not in known]:
            parser.error(f"{unknown[0]} is not known; known are {', '.join(known)}")
    return arguments


def main():
    arguments = parse()
    if not torch.cuda.is_available():
        print("no CUDA device is there")
        return 77
    results = TorchResults(arguments.torch_results)
    print(f"{results.machine}; {arguments.runs} runs each")
    pairs = [(network, precision) for network in arguments.networks for precision in arguments.precisions]
    if arguments.compile_ahead and "compile" in arguments.variants:
        compile_ahead(pairs, arguments.compile_ahead)
    rows = [row for network, precision in pairs if (row := compare(arguments, results, network, precision))]
    print_table(rows, arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": results.machine, "rows": rows}, indent=2) + "\n")
    return 0 if len(rows) == len(pairs) and all(holds(row, arguments) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
