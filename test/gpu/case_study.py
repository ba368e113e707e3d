#!/usr/bin/env python3
"""RT-Swap's case study (Kang et al., RTSS 2023, Table IV): runs one task set under several swap policies, and draws what it saw.

Usage: case_study.py [--seconds N] [--policies rt-swap,pipelined] [--ballast 24GiB] [--output FOLDER] [CONFIG.toml]

Writes the models that are missing, measures where the profile does not fit, checks and runs the set under each policy on a GPU with only
24 GiB free, and leaves in FOLDER: latency.svg (in the manner of the paper's Fig. 8), response.svg (Fig. 9), and for each policy the task
set, its JSON files and a line for each job.

Latency of a job: from its request, or from the end of the execution before it where that is later, to the end of its own execution: what
it takes of the device, with the swapping that nothing else hides. Response time: from its release to the end of the job.

Exit status 0: every deadline was kept and every response was within its bound; 1: one was not, or a policy did not run.
"""
import argparse
import csv
import itertools
import json
import math
import os
import pathlib
import re
import sys

import rtexec_command
from svg import Axis, COLORS, Drawing

PATHS = re.compile(r'^(model|input|profile)\s*=\s*"([^"]*)"', re.MULTILINE)
MODEL = re.compile(r"(.+)-(\d+)\.onnx")
MS = 1e-6


# ---- the set --------------------------------------------------------------------------------------------------------

def absolute(text, folder):
    return PATHS.sub(lambda match: f'{match[1]} = "{(folder / match[2]).resolve()}"', text)


def on_cores_of_this_machine(text):
    """The tasks' cores in turn, without the last two, which serve the device; of few cores all stay as they are."""
    cores = sorted(os.sched_getaffinity(0))[:-2]
    if len(cores) < 2:
        return text
    turn = itertools.cycle(cores[1:])
    return re.sub(r"^core\s*=\s*\d+", lambda _: f"core = {next(turn)}", text, flags=re.MULTILINE)


def with_policy(text, policy, board):
    text, found = re.subn(r'^policy\s*=\s*"[^"]*"', f'policy = "{policy}"', text, count=1, flags=re.MULTILINE)
    text = on_cores_of_this_machine(text)
    if not found:
        raise SystemExit("the task set names no [swap] policy to replace")
    return re.sub(r'^board\s*=\s*"[^"]*"', f'board = "{board}"', text, count=1, flags=re.MULTILINE) if board else text


def write_models(rtexec, text):
    for model in sorted({pathlib.Path(path) for key, path in PATHS.findall(text) if key == "model"}):
        name = MODEL.fullmatch(model.name)
        if model.exists() or not name:
            continue
        model.parent.mkdir(parents=True, exist_ok=True)
        written = rtexec.call("model", name[1], "--size", name[2], "-o", model)
        print(f"{model.name}: {'written' if written.code == 0 else written.why()}", flush=True)


def checked(rtexec, file, arguments):
    """The plan, measured first where the profile is missing or stale."""
    report = file.with_suffix(".check.json")
    outcome = rtexec.call("check", file, report=report)
    if outcome.report is None and "rtexec profile" in outcome.text:
        print("measuring ...", flush=True)
        measured = rtexec.call("profile", file, "--jobs", arguments.jobs, on_device=True, limit=arguments.limit)
        print(f"profile: {measured.seconds:.0f} s" + ("" if measured.code == 0 else ", " + measured.why()), flush=True)
        outcome = rtexec.call("check", file, report=report)
    return outcome


# ---- runs -----------------------------------------------------------------------------------------------------------

class Run:
    """What was seen of one policy."""

    def __init__(self, policy, plan, report, jobs):
        self.policy, self.report = policy, report
        self.bounds = {task["name"]: task["response_bound_ns"] for task in plan["tasks"]}
        self.proved = plan["verdict"] == "proved"
        self.volumes = {task["name"]: task["swap_volume_bytes"] for task in plan["tasks"]}
        self.latency, self.response = {}, {}
        free = 0
        for job in sorted(jobs, key=lambda job: job["device_begin_ns"]):
            if job["device_begin_ns"] == job["device_end_ns"]:
                continue  # it did not execute
            begin, free = max(job["requested_ns"], free), job["device_end_ns"]
            self.latency.setdefault(job["task"], []).append((free - begin) * MS)
        for job in jobs:
            if job["outcome"] in ("in-time", "late"):
                self.response.setdefault(job["task"], []).append((job["end_ns"] - job["nominal_ns"]) * MS)


def read_jobs(file):
    with file.open(newline="") as lines:
        return [{key: int(value) if key.endswith("_ns") else value for key, value in line.items()} for line in csv.DictReader(lines)]


def run_policy(rtexec, policy, text, arguments):
    """None, and the reason printed, where it does not run."""
    file = arguments.output / f"{policy}.toml"
    file.write_text(with_policy(text, policy, arguments.board))
    plan = checked(rtexec, file, arguments)
    if plan.report is None:
        return print(f"{policy}: check: {plan.why()}", flush=True)
    jobs = file.with_suffix(".jobs.csv")
    jobs.unlink(missing_ok=True)
    force = [] if plan.report["verdict"] == "proved" else ["--force"]
    outcome = rtexec.call("run", file, "--duration", f"{arguments.seconds}s", "--jobs", jobs, *force, on_device=True,
                          limit=arguments.seconds + arguments.limit, report=file.with_suffix(".run.json"))
    file.with_suffix(".log").write_text(outcome.text)
    if not outcome.report or not jobs.exists():
        return print(f"{policy}: run: {outcome.why()}", flush=True)
    swap = outcome.report["swap"]
    print(f"{policy}: {plan.report['verdict']}, ran {outcome.seconds:.0f} s with its start; {swap['in_bytes'] / 2**30:.2f} GiB in, "
          f"{swap['out_bytes'] / 2**30:.2f} GiB out in {swap['operations']} chunks; exit code {outcome.code}", flush=True)
    for line in outcome.report["degraded"]:
        print(f"{policy}: degraded: {line}")
    return Run(policy, plan.report, outcome.report, read_jobs(jobs))


def rows_of(run):
    for task in run.report["tasks"]:
        name, bound = task["name"], run.bounds.get(task["name"])
        yield {"task": name, "policy": run.policy, "jobs": task["completed"], "swap_volume_mib": run.volumes[name] / 2**20,
               "latency_max_ms": max(run.latency.get(name, [math.nan])), "response_max_ms": task["response_ns"]["max"] * MS,
               "bound_ms": bound * MS if bound is not None else None, "deadline_ms": task["deadline_ns"] * MS,
               "misses": task["missed"] + task["skipped"] + task["failed"]}


def kept(row):
    return row["misses"] == 0 and row["jobs"] > 0 and row["bound_ms"] is not None and row["response_max_ms"] <= row["bound_ms"]


def print_table(rows):
    print(f"{'task':16} {'policy':10} {'jobs':>6} {'swapped MiB':>11} {'max latency':>12} {'max response':>12} {'bound':>9} {'deadline':>9} {'misses':>6}")
    for row in rows:
        bound = "none" if row["bound_ms"] is None else f"{row['bound_ms']:.1f}"
        print(f"{row['task']:16} {row['policy']:10} {row['jobs']:6} {row['swap_volume_mib']:11.0f} {row['latency_max_ms']:12.2f} "
              f"{row['response_max_ms']:12.2f} {bound:>9} {row['deadline_ms']:9.0f} {row['misses']:6}{'' if kept(row) else '  NOT KEPT'}")


# ---- pictures -------------------------------------------------------------------------------------------------------

def quantile(ranked, share):
    at = share * (len(ranked) - 1)
    low = int(at)
    return ranked[low] + (ranked[min(low + 1, len(ranked) - 1)] - ranked[low]) * (at - low)


def candlestick(drawing, axis, x, width, values, color):
    """Box: 25 to 75 %; whiskers: what lies within 1.5 times its height; dots: the rest; cross: the mean (as in the paper's Fig. 8)."""
    ranked = sorted(values)
    low, high = quantile(ranked, 0.25), quantile(ranked, 0.75)
    inside = [value for value in ranked if low - 1.5 * (high - low) <= value <= high + 1.5 * (high - low)]
    middle, mean = x + width / 2, sum(ranked) / len(ranked)
    drawing.line(middle, axis.at(inside[0]), middle, axis.at(inside[-1]), color)
    for end in (inside[0], inside[-1]):
        drawing.line(x + width / 4, axis.at(end), x + 3 * width / 4, axis.at(end), color)
    drawing.rectangle(x, axis.at(high), width, max(axis.at(low) - axis.at(high), 1), color)
    for value in {round(value, 3) for value in ranked if not inside[0] <= value <= inside[-1]}:
        drawing.dot(middle, axis.at(value), color)
    for slope in (-1, 1):
        drawing.line(middle - 3, axis.at(mean) - 3 * slope, middle + 3, axis.at(mean) + 3 * slope, "black")


def legend(drawing, runs, x, y):
    for index, run in enumerate(runs):
        drawing.rectangle(x + 110 * index, y - 9, 10, 10, COLORS[index])
        drawing.text(x + 14 + 110 * index, y, run.policy)


def draw_latency(file, runs, names):
    drawing = Drawing(90 + 110 * len(names), 340)
    axis = Axis(290, 40, 0, 1.08 * max(max(values) for run in runs for values in run.latency.values()))
    drawing.vertical_axis(60, drawing.width - 20, axis, "latency (ms)")
    legend(drawing, runs, 70, 20)
    for place, name in enumerate(names):
        left = 70 + 110 * place
        drawing.text(left + 45, 310, name, "middle")
        for index, run in enumerate(runs):
            if values := run.latency.get(name):
                candlestick(drawing, axis, left + index * 90 / len(runs), 70 / len(runs), values, COLORS[index])
    drawing.write(file)


def chosen(runs, names):
    """One task of each deadline."""
    deadlines = {task["name"]: task["deadline_ns"] for task in runs[0].report["tasks"]}
    return list({deadlines[name]: name for name in reversed(names)}.items())[::-1][:3]


def draw_response(file, runs, names):
    """Cumulative distributions; dashed: the bound of that policy; black: the deadline."""
    panels = chosen(runs, names)
    drawing = Drawing(60 + 300 * len(panels), 340)
    share = Axis(270, 50, 0, 1)
    legend(drawing, runs, 60, 20)
    for place, (deadline, name) in enumerate(panels):
        left, right = 60 + 300 * place, 60 + 300 * place + 250
        seen = [value for run in runs for value in run.response.get(name, [])]
        if not seen:
            continue
        axis = Axis(left, right, min(seen) / 1.3, deadline * MS * 1.3, logarithmic=True)
        drawing.vertical_axis(left, right, share, "share of jobs" if place == 0 else "")
        drawing.horizontal_axis(axis, 270, "response time (ms)")
        drawing.text((left + right) / 2, 44, f"{name}, deadline {deadline * MS:.0f} ms", "middle")
        drawing.line(axis.at(deadline * MS), 50, axis.at(deadline * MS), 270, "black")
        for index, run in enumerate(runs):
            if run.bounds.get(name):
                drawing.line(axis.at(run.bounds[name] * MS), 50, axis.at(run.bounds[name] * MS), 270, COLORS[index], dashed=True)
            ranked = sorted(run.response.get(name, []))
            steps = [(axis.at(value), share.at((rank + up) / len(ranked))) for rank, value in enumerate(ranked) for up in (0, 1)]
            drawing.path(steps, COLORS[index])
    drawing.write(file)


# ---- all ------------------------------------------------------------------------------------------------------------

def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rtexec_command.add_options(parser)
    parser.add_argument("--policies", type=lambda text: text.split(","), default=["rt-swap", "pipelined"])
    parser.add_argument("--board", help="instead of the task set's")
    parser.add_argument("--seconds", type=int, default=60, help="of each run (default: 60)")
    parser.add_argument("--jobs", type=int, default=100, help="of each task, to measure it (default: 100)")
    parser.add_argument("--limit", type=float, default=500, metavar="SECONDS", help="of the measurement, and of a run's start (default: 500)")
    parser.add_argument("--measure-only", action="store_true", help="end once the profile is there")
    parser.add_argument("--output", type=pathlib.Path, metavar="FOLDER", default=rtexec_command.build_folder() / "case-study")
    parser.add_argument("config", type=pathlib.Path, nargs="?", metavar="CONFIG.toml", default=rtexec_command.ROOT / "config/case-study.toml")
    return parser.parse_args()


def measure(rtexec, text, arguments):
    file = arguments.output / "measure.toml"
    file.write_text(with_policy(text, arguments.policies[-1], arguments.board))
    outcome = checked(rtexec, file, arguments)
    print(outcome.text if outcome.report else outcome.why())
    return 0 if outcome.report else 1


def main():
    arguments = parse()
    arguments.output = arguments.output.resolve()
    arguments.output.mkdir(parents=True, exist_ok=True)
    rtexec = rtexec_command.Rtexec(arguments)
    text = absolute(arguments.config.read_text(), arguments.config.resolve().parent)
    write_models(rtexec, text)
    if arguments.measure_only:
        return measure(rtexec, text, arguments)
    runs = [run for policy in arguments.policies if (run := run_policy(rtexec, policy, text, arguments))]
    rows = [row for run in runs for row in rows_of(run)]
    rows.sort(key=lambda row: [task["name"] for task in runs[0].report["tasks"]].index(row["task"]))
    print_table(rows)
    (arguments.output / "case-study.json").write_text(json.dumps({"seconds": arguments.seconds, "rows": rows}, indent=2) + "\n")
    if any(run.latency for run in runs):
        names = [task["name"] for task in runs[0].report["tasks"]]
        draw_latency(arguments.output / "latency.svg", runs, names)
        draw_response(arguments.output / "response.svg", runs, names)
        print(f"drawn: {arguments.output}/latency.svg, response.svg")
    return 0 if len(runs) == len(arguments.policies) and all(run.proved for run in runs) and all(kept(row) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
