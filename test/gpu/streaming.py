#!/usr/bin/env python3
"""A network whose constants come while it executes: how long that takes beside computing and copying alone, and whether outputs are the same.

Usage: streaming.py [--model NAME] [--size PIXELS] [--chunk SIZE] [--share N] [--board FILE] [--output FOLDER] [--rtexec PROGRAM]

Runs the network with all its constants on the device, and through a ring of an N-th of its chunks, from page-locked memory and from a file.
Prints the median device part (from the begin of a job's first segment to the end of its last one) beside the larger of two: what the job
executes with all constants there, and what copying those takes that come while it executes, and beside the best that the plan's segments
and ring allow (ideal); the device memory in use; and what plain reads of the file give. Every output of every job is compared with the run
that has all constants there.

Exit status 0: outputs are the same to the bit, and no run streamed longer than 1.1 times the larger of both; 1: not so.
"""
import argparse
import csv
import json
import math
import mmap
import os
import pathlib
import re
import shutil
import statistics
import sys
import time

import rtexec_command
from rtexec_command import must

MS = 1e-6
MIB = 1 << 20


def profile_of(arguments):
    return arguments.output / f"{arguments.model}-{arguments.size}.profile.toml"


def text_of(arguments, name, period, swap="", extra=""):
    outputs = arguments.output / name
    return (f'board = "{arguments.board}"\n[executive]\nallow_degraded = true\nprofile = "{profile_of(arguments)}"\n'
            f'keep_awake = true\n[device]\nchunk = "{arguments.chunk}"\n{swap}[[task]]\nname = "net"\nworkload = "dnn"\n'
            f'model = "{arguments.model}-{arguments.size}.onnx"\n'
            f'period = "{period}"\noutputs = [{{ to = "file:{outputs}" }}]\n{extra}')


def run(rtexec, arguments, name, swap="", extra="", slower=1):
    """Its report, its plan, and each job's device part in ns. `slower`: so many times its jobs are apart."""
    seconds, milliseconds = arguments.seconds * (1 if slower == 1 else 4), arguments.period * slower
    file = arguments.output / f"{name}.toml"
    file.write_text(text_of(arguments, name, f"{milliseconds}ms", swap, extra))
    shutil.rmtree(arguments.output / name, ignore_errors=True)
    plan = must(rtexec.call("check", file, report=file.with_suffix(".check.json"), limit=120), f"check {name}", (0, 3))
    jobs = file.with_suffix(".jobs.csv")
    ran = must(rtexec.call("run", file, "--duration", f"{seconds}s", "--jobs", jobs, "--force", report=file.with_suffix(".json"),
                           limit=seconds + 240), f"run {name}", (0, 4))
    with jobs.open() as lines:
        done = [line for line in csv.DictReader(lines) if line["outcome"] in ("in-time", "late")]
    parts = [int(line["device_end_ns"]) - int(line["device_begin_ns"]) for line in done]
    return ran.report, plan.report, parts[2:]


def write_model(rtexec, arguments, network):
    if not arguments.model.startswith("uniform"):
        return must(rtexec.call("model", arguments.model, "--size", arguments.size, "-o", network, limit=300), "model")
    import torch  # as the layers of a transformer: each has as many weights as the others and takes as long

    layers, channels = (int(word) for word in arguments.model.split("-")[1:])
    torch.manual_seed(1)
    body = []
    for _ in range(layers):
        body += [torch.nn.Conv2d(channels, channels, 1), torch.nn.ReLU()]
    model = torch.nn.Sequential(torch.nn.Conv2d(3, channels, 1), *body, torch.nn.AdaptiveAvgPool2d(1)).eval()
    torch.onnx.export(model, (torch.zeros(1, 3, arguments.size, arguments.size),), network, dynamo=False, opset_version=17)


def ideal(plan, cost, computing):
    """What the plan's segments and ring take where nothing costs any time but computing and copying, in ns."""
    times = plan["segment_wcets_ns"]
    times = [time * computing / sum(times) for time in times]
    reads, ring = plan["stream"]["reads"], plan["stream"]["ring_chunks"]
    begins = [begin for begin, _ in reads]
    landed, end, copied, ends = 0, 0, ring, []
    for time, (_, last) in zip(times, reads):
        for chunk in range(copied, last):
            reader = next(j for j, begin in enumerate(begins) if begin > chunk - ring) - 1
            landed = max(landed, ends[reader]) + cost
        copied = max(copied, last)
        end = max(end, landed) + time
        ends.append(end)
    return end


def copy_cost(rtexec, arguments, store):
    """Of one chunk into the device, in ns; as it is measured, without a margin."""
    target = arguments.output / f"calibrated-{store.split(':')[0]}.toml"
    target.unlink(missing_ok=True)
    report = arguments.output / "calibrated.json"
    must(rtexec.call("calibrate", arguments.base, "--store", store, "--chunk", arguments.chunk, "--jobs", "10", "--margin", "1", "--volume", "512MiB",
                     "--keep-awake", "-o", target, report=report, limit=300), f"calibrate {store}")
    (chunk,) = json.loads(report.read_text())["chunks"]
    return chunk["in_fit"]["per_chunk_ns"], target


def plain_reads(path, chunk, chunks):
    """Of a file of as many chunks, past the page cache, in ns for each."""
    file = path / "plain.bin"
    buffer = mmap.mmap(-1, chunk)
    buffer.write(os.urandom(MIB) * (chunk // MIB))
    with open(file, "wb") as out:
        for _ in range(chunks):
            out.write(buffer)
        os.fsync(out.fileno())
    descriptor = os.open(file, os.O_RDONLY | os.O_DIRECT)
    begin = time.monotonic_ns()
    for index in range(chunks):
        if os.preadv(descriptor, [buffer], index * chunk) != chunk:
            raise SystemExit(f"{file}: a short read")
    took = time.monotonic_ns() - begin
    os.close(descriptor)
    file.unlink()
    return took / chunks


def bytes_of(size):
    number, unit = re.match(r"(\d+)(MiB|GiB)$", size).groups()
    return int(number) * {"MiB": MIB, "GiB": 1 << 30}[unit]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="uniform-96-2048", help="or one of `rtexec model`; uniform-LAYERS-CHANNELS needs PyTorch")
    parser.add_argument("--size", type=int, default=48)
    parser.add_argument("--chunk", default="64MiB")
    parser.add_argument("--share", type=int, default=4, help="the ring has at most one N-th of the chunks (default: 4)")
    parser.add_argument("--seconds", type=int, default=6, help="of each run")
    parser.add_argument("--period", type=int, default=100, help="of its jobs, in ms; from a file 20 times as long (default: 100)")
    parser.add_argument("--board", default="rtx")
    parser.add_argument("--jobs", type=int, default=40, help="to measure the network (default: 40)")
    parser.add_argument("--output", type=pathlib.Path, default=rtexec_command.build_folder() / "streaming")
    rtexec_command.add_options(parser)
    arguments = parser.parse_args()
    arguments.base = arguments.board
    rtexec = rtexec_command.in_folder(arguments)

    network = f"{arguments.model}-{arguments.size}.onnx"
    if not (arguments.output / network).exists():
        write_model(rtexec, arguments, network)
    (arguments.output / "measure.toml").write_text(text_of(arguments, "measured", "1s"))
    if not profile_of(arguments).exists():
        must(rtexec.call("profile", "measure.toml", "--jobs", arguments.jobs, limit=600), "profile")

    report, plan, parts = run(rtexec, arguments, "whole", extra='segments = "none"\n')
    computing, all_used = statistics.median(parts), report["device"]["used_bytes"]
    constants = plan["tasks"][0]["memory"]["constant_bytes"]
    chunk = bytes_of(arguments.chunk)
    chunks = math.ceil(constants / chunk)
    ring = chunks // arguments.share
    print(f"{arguments.model} at {arguments.size}: {constants / MIB:.0f} MiB of constants, {chunks} chunks of {arguments.chunk}; "
          f"computes {computing * MS:.3f} ms (p50 of {len(parts)}), {all_used / MIB:.0f} MiB of the device in use")
    print(f"\n  {'from':8} {'ring':>4} {'segments':>8} {'copies':>9} {'computes':>9} {'ideal':>9} {'streamed':>9} {'p99':>9} {'ratio':>6} "
          f"{'planned':>9} {'used':>9} {'outputs':>8} {'differ':>6}")
    bad = 0
    for store in ("pinned", f"file:{arguments.output / 'store'}"):
        kind = store.split(":")[0]
        cost, board = copy_cost(rtexec, arguments, store)
        arguments.board = str(board)
        report, plan, parts = run(rtexec, arguments, kind, f'[swap]\nstore = "{store}"\n', f'memory = "stream"\nstream_chunks = {ring}\n', 20 if kind == "file" else 1)
        planned, streamed = plan["tasks"][0], statistics.median(parts)
        if kind == "file":
            cost = plain = plain_reads(arguments.output, chunk, chunks)
        copying = (chunks - ring) * cost
        compared, different = rtexec_command.compared_outputs(arguments.output / "whole", arguments.output / kind)
        ratio = streamed / max(copying, computing)
        print(f"  {kind:8} {ring:4} {planned['segments']:8} {copying * MS:9.3f} {computing * MS:9.3f} "
              f"{ideal(planned, cost, computing) * MS:9.3f} {streamed * MS:9.3f} "
              f"{sorted(parts)[len(parts) * 99 // 100] * MS:9.3f} {ratio:6.3f} {planned['stream']['execution_ns'] * MS:9.3f} "
              f"{report['device']['used_bytes'] / MIB:5.0f} MiB {compared:8} {different:6}")
        bad += different + (compared == 0) + (ratio > 1.1)
    print(f"  of the file: {(chunks - ring) * chunk / streamed:.2f} GB/s while it streams, {chunk / plain:.2f} GB/s by plain reads, chunk by chunk")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
