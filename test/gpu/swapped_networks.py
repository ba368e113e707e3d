#!/usr/bin/env python3
"""Networks with attention, recurrence, state and whole numbers in one task set, on a device that has room for a part of them.

Usage: swapped_networks.py [--networks NAME=PRECISION,...] [--share N] [--seconds N] [--board FILE] [--output FOLDER] [--rtexec PROGRAM] FOLDER

FOLDER holds the files of test/networks/export.py. Beside its networks runs lstm_step, which keeps its state from job to job. Measures all (`rtexec
profile`) with all memory there and with the least of some shares, proves and runs the set with all memory there, and again with N of what it needs,
or with the least of some shares that is proved, recorded as a trace. Prints for each task its WCET, the longest execution that `rtexec analyze` found
in the trace, the worst response beside its bound, and how many jobs gave other outputs than in the run without swapping, bit by bit: of lstm_step,
job by job, what its state has become.

Exit status 0: both sets were proved, nothing exceeded a WCET or a bound, something was swapped, and all outputs are the same; 1: not so.
"""
import argparse
import pathlib
import shutil
import sys

import rtexec_command
from rtexec_command import must

STATE = "lstm_step"
STORED = rtexec_command.ROOT / "test/networks/stored"
NETWORKS = {"tv_vit_b_16": "tf32", "tv_swin_t": "fp16", "tv_convnext_tiny": "fp16", "ul_yolo11n": "tf32", "hf_segformer_b0": "tf32",
            "tv_resnet18-int8-qdq": "tf32", "lstm": "fp32", "gru": "fp16"}
SHARES = (0.8, 0.85, 0.9, 0.95)
PROFILE, CALIBRATED = "profile.toml", "calibrated.toml"
MS = 1e-6
MIB = 1 << 20


def precisions_of(arguments):
    return {**arguments.networks, STATE: "fp32"}


def model_of(arguments, name):
    return STORED / f"{STATE}.onnx" if name == STATE else arguments.folder / f"{name}.onnx"


def shares_of(arguments):
    return [arguments.share] if arguments.share else SHARES


def capacity_of(demand, share):
    return int(demand["demand_bytes"] * share) // demand["chunk_bytes"] * demand["chunk_bytes"]


def text_of(arguments, board, periods, name, capacity=None):
    """`periods`: of each task, in ms. Outputs go to the folder `name`."""
    text = (f'board = "{board}"\n[executive]\nallow_degraded = true\nkeep_awake = true\nprofile = "{PROFILE}"\n'
            f'[device]\nchunk = "{arguments.chunk}"\n' + (f'capacity = "{capacity}B"\n' if capacity else ""))
    for task, precision in precisions_of(arguments).items():
        text += (f'[[task]]\nname = "{task}"\nmodel = "{model_of(arguments, task)}"\nprecision = "{precision}"\nperiod = "{periods[task]}ms"\n'
                 + ('state = { "onnx::LSTM_1" = "71", "onnx::LSTM_2" = "72" }\n' if task == STATE else "")
                 + f'outputs = [{{ to = "file:{arguments.output / name}" }}]\n')
    return text


def written(arguments, name, text):
    file = arguments.output / name
    file.write_text(text)
    return file


def measure(rtexec, arguments):
    """The device's board with the costs of swapping, and each task's WCET in ns."""
    board = arguments.output / CALIBRATED
    must(rtexec.call("calibrate", arguments.board, "--chunk", arguments.chunk, "--jobs", "10", "--volume", "512MiB", "--keep-awake", "-o", board, limit=300),
         "calibrate")
    periods = dict.fromkeys(precisions_of(arguments), 1000)
    capacity = None
    for added in [], ["--add"]:  # the second time where constants were just copied in
        file = written(arguments, "measure.toml", text_of(arguments, board, periods, "measured", capacity))
        must(rtexec.call("profile", file, *added, "--jobs", arguments.jobs // 2, limit=600), "profile")
        plan = must(rtexec.call("check", file, report=file.with_suffix(".check.json"), limit=120), "check", (0, 3)).report
        capacity = capacity_of(plan["device"], shares_of(arguments)[0])
    return board, {task["name"]: task["wcet"]["device_ns"] for task in plan["tasks"]}


def periods_of(arguments, wcets):
    share = arguments.utilisation / len(wcets)
    return {name: max(arguments.shortest, round(wcet / share * MS)) for name, wcet in wcets.items()}


def run(rtexec, arguments, file):
    """Its plan, the report, and what the trace tells of each task."""
    plan = must(rtexec.call("check", file, report=file.with_suffix(".check.json"), limit=120), f"check {file.name}", (0, 3)).report
    shutil.rmtree(arguments.output / file.stem, ignore_errors=True)
    trace = file.with_suffix(".trace")
    shutil.rmtree(trace, ignore_errors=True)
    report = must(rtexec.call("run", file, "--force", "--duration", f"{arguments.seconds}s", "--trace", trace, report=file.with_suffix(".json"),
                              limit=arguments.seconds + 240), f"run {file.name}", (0, 4)).report
    analysis = must(rtexec.call("analyze", trace, report=file.with_suffix(".analysis.json"), limit=300), f"analyze {trace.name}", (0, 3, 4)).report
    return plan, report, analysis


def swapped_set(rtexec, arguments, board, periods, demand):
    """The set and its memory: the least that is proved, else the most that was tried."""
    for share in shares_of(arguments):
        capacity = capacity_of(demand, share)
        file = written(arguments, "swapped.toml", text_of(arguments, board, periods, "swapped", capacity))
        if rtexec.call("check", file, limit=120).code == 0:
            break
    return file, capacity


def longest_execution(analysis, task):
    (found,) = [each for each in analysis["tasks"] if each["name"] == task]
    (stage,) = [each for each in found["stages"] if each["name"] == "device"]
    return stage["max_ns"]


def print_tasks(arguments, results):
    """How many figures are beyond what was promised. `results`: plan, report, analysis of the run with all memory there, and of that with a part."""
    (whole, _, _), (plan, report, analysis) = results
    print(f"\n  {'task':24} {'':5} {'constants':>9} {'WCET':>9} {'longest':>9} {'worst':>9} {'bound':>9} {'without':>9} {'jobs':>6} {'missed':>6} {'outputs':>7} "
          f"{'differ':>6}")
    bad = 0
    for planned, alone, seen in zip(plan["tasks"], whole["tasks"], report["tasks"]):
        name, bound, worst = planned["name"], planned["response_bound_ns"], seen["response_ns"]["max"]
        longest = longest_execution(analysis, name)
        outputs, differ = rtexec_command.compared_outputs(*(arguments.output / each / "latest" / name for each in ("whole", "swapped")))
        print(f"  {name:24} {precisions_of(arguments)[name]:5} {planned['memory']['constant_bytes'] / MIB:5.0f} MiB "
              + " ".join(f"{value * MS:9.3f}" for value in (planned["wcet"]["device_ns"], longest, worst, bound or 0, alone["response_bound_ns"] or 0))
              + f" {seen['completed']:6} {seen['missed']:6} {outputs:7} {differ:6}")
        bad += seen["missed"] + seen["failed"] + differ + (outputs == 0) + (longest > planned["wcet"]["device_ns"]) + (not bound or worst > bound)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=lambda text: dict(each.split("=") for each in text.split(",")), default=NETWORKS, metavar="NAME=PRECISION,...")
    parser.add_argument("--share", type=float, help=f"of the memory that all need, in the second run (default: the least of {SHARES} that is proved)")
    parser.add_argument("--seconds", type=int, default=20, help="of each run")
    parser.add_argument("--utilisation", type=float, default=0.04, help="of the device, in sum (default: 0.04)")
    parser.add_argument("--shortest", type=int, default=400, help="period of a task, in ms (default: 400)")
    parser.add_argument("--chunk", default="32MiB")
    parser.add_argument("--board", default="rtx")
    parser.add_argument("--jobs", type=int, default=500, help="of each task, to measure it (default: 500)")
    parser.add_argument("--output", type=pathlib.Path, default=rtexec_command.build_folder() / "swapped-networks")
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    rtexec_command.add_options(parser)
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()
    rtexec = rtexec_command.in_folder(arguments)

    board, wcets = measure(rtexec, arguments)
    periods = periods_of(arguments, wcets)
    results = [run(rtexec, arguments, written(arguments, "whole.toml", text_of(arguments, board, periods, "whole")))]
    demand = results[0][0]["device"]
    file, capacity = swapped_set(rtexec, arguments, board, periods, demand)
    results.append(run(rtexec, arguments, file))
    bad = print_tasks(arguments, results)
    swapped = results[1][1]["swap"]["in_bytes"]
    verdicts = [each[0]["verdict"] for each in results]
    print(f"  ms; {demand['demand_bytes'] / MIB:.0f} MiB needed, {capacity / MIB:.0f} MiB there; copied in while running: {swapped / MIB:.0f} MiB; "
          f"verdicts: {', '.join(verdicts)}")
    return 1 if bad or not swapped or set(verdicts) != {"proved"} else 0


if __name__ == "__main__":
    sys.exit(main())
