#!/usr/bin/env python3
"""A short network at a high rate beside long ones: proved and run in segments, and what waiting for whole jobs would do.

Usage: mixed_rates.py [--seconds N] [--capacity SIZE] [--board FILE] [--output FOLDER] [--rtexec PROGRAM]

Writes the models, measures the networks, and prints five tables: what `rtexec check` says of the set with whole jobs (segments = "none")
and in segments; each task's worst response beside its bound, from runs of either, and beside the bound without reserves: of the longest times
that were observed, on a machine that never stops; how much longer the long networks execute where they are cut as the plan cuts them (p50 of
device parts, in turn with uncut ones, alone on the device); what `rtexec calibrate cut` finds; and one of them in many segments, by how many
the device has ahead (launch_ahead).

Exit status 0: the set in segments was proved, every deadline was kept and every response was within its bound; 1: it was not.
"""
import argparse
import csv
import json
import pathlib
import re
import statistics
import sys

import rtexec_command
from rtexec_command import must

FRONT = ("front", "yolov3-tiny", 416)
LONG = [("far", "resnext152-32x4d", 608), ("signs", "resnet152", 608), ("road", "densenet201", 608), ("objects", "yolov3", 608),
        ("scene", "resnext101-32x8d", 416)]
MANY, SEGMENTS, AHEAD = LONG[1], (10, 24, 60), (0, 1, 2)
WHOLE = "whole"
MS = 1e-6


def header(arguments, launch_ahead="auto", profile="mixed.profile.toml", board=None):
    device = f'[device]\nlaunch_ahead = {json.dumps(launch_ahead)}\n' + (f'capacity = "{arguments.capacity}"\n' if arguments.capacity else "")
    return (f'board = "{board or arguments.board}"\n[executive]\nallow_degraded = true\nkeep_awake = true\nprofile = "{arguments.output / profile}"\n'
            f'duration = "{arguments.seconds}s"\n{device}')


def task(name, model, size, period, extra=""):
    return f'[[task]]\nname = "{name}"\nworkload = "dnn"\nmodel = "{model}-{size}.onnx"\nperiod = "{period}"\n{extra}'


def write(arguments, name, text):
    file = arguments.output / name
    file.write_text(text)
    return file


def write_models(rtexec, arguments):
    for _, model, size in [FRONT, *LONG]:
        file = arguments.output / f"{model}-{size}.onnx"
        if not file.exists():
            must(rtexec.call("model", model, "--size", size, "-o", file, limit=300), f"model {model}")


def profile(rtexec, arguments):
    """The WCET of each network on the device, in ns."""
    text = header(arguments) + "".join(task(*each, "1s") for each in [FRONT, *LONG])
    file = write(arguments, "measure.toml", text)
    if not (arguments.output / "mixed.profile.toml").exists():
        must(rtexec.call("profile", file, "--jobs", arguments.jobs, limit=600), "profile")
    wcets, name = {}, None
    for line in (arguments.output / "mixed.profile.toml").read_text().splitlines():
        if match := re.match(r'name = "(.*)"', line):
            name = match[1]
        if match := re.match(r'wcet = "([0-9.]+)(ns|us|ms|s)"', line):
            wcets[name] = float(match[1]) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[match[2]]
    return wcets


def set_of(arguments, wcets, head, segments):
    """`segments`: of each of the long networks."""
    share = arguments.utilisation / len(LONG)
    text = head + task(*FRONT, arguments.period)
    for (name, model, size), count in zip(LONG, segments):
        text += task(name, model, size, f"{max(1, round(wcets[name] / share * MS))}ms", f"segments = {json.dumps(count)}\n")
    return text


def check(rtexec, arguments, wcets, segments):
    file = write(arguments, f"mixed-{segments}.toml", set_of(arguments, wcets, header(arguments), [segments] * len(LONG)))
    outcome = must(rtexec.call("check", file, report=file.with_suffix(".check.json"), limit=300), "check", (0, 3))
    return file, outcome


def without_reserves(profile):
    """A profile's text with the longest times observed as WCETs."""
    for part in ("", "_before", "_after"):
        profile = re.sub(rf'(?m)^wcet{part} = .*((?:\n.*?)*?\nobserved{part} = (.*))$', rf"wcet{part} = \2\1", profile)
    return re.sub(r"(?m)^margin = .*$", "margin = 1", profile)


def bounds_without_reserves(rtexec, arguments, wcets, plan):
    """By task, in ns: those of `plan`, were there no margins and no stops of the machine."""
    board = pathlib.Path(arguments.board)
    text = (board if board.exists() else rtexec_command.ROOT / f"boards/{board}.toml").read_text()
    write(arguments, "never-stops.toml", re.sub(r'(?m)^platform_stall = .*$', 'platform_stall = "0ns"', text))
    write(arguments, "observed.profile.toml", without_reserves((arguments.output / "mixed.profile.toml").read_text()))
    head = header(arguments, plan["launch_ahead"], "observed.profile.toml", "./never-stops.toml")
    file = write(arguments, "observed.toml", set_of(arguments, wcets, head, [planned["segments"] for planned in plan["tasks"][1:]]))
    found = must(rtexec.call("check", file, report=file.with_suffix(".check.json"), limit=300), "check", (0, 3)).report
    return [task["response_bound_ns"] for task in found["tasks"]]


def run(rtexec, arguments, file, force):
    jobs = file.with_suffix(".jobs.csv")
    words = ["run", file, "--duration", f"{arguments.seconds}s", "--jobs", jobs, *(["--force"] if force else [])]
    return must(rtexec.call(*words, report=file.with_suffix(".json"), limit=arguments.seconds + 240), "run", (0, 4))


def with_whole(profile, name):
    """Of a profile's text: the same with a second entry for the network of `name`, called WHOLE."""
    head, *entries = re.split(r"(?m)^(?=\[\[task\]\])", profile)
    twin = next(entry for entry in entries if f'name = "{name}"' in entry).replace(f'name = "{name}"', f'name = "{WHOLE}"', 1)
    return "".join([head, *entries, "" if entries[-1].endswith("\n") else "\n", twin])


def device_parts(rtexec, arguments, network, wcet, segments, launch_ahead):
    """p50 of a network's device parts in one piece and in segments, in ns: from the begin of the first segment to the end of the last one.
    Both are tasks of one run, in turn and without others, so that the clocks of the GPU are the same for both."""
    name, model, size = network
    half = max(2, round(wcet * 2 * MS))
    text = header(arguments, launch_ahead, "twin.profile.toml")
    text += task(name, model, size, f"{2 * half}ms", f"segments = {segments}\n")
    text += task(WHOLE, model, size, f"{2 * half}ms", f'segments = "none"\noffset = "{half}ms"\n')
    (arguments.output / "twin.profile.toml").write_text(with_whole((arguments.output / "mixed.profile.toml").read_text(), name))
    file = write(arguments, f"alone-{name}-{segments}-{launch_ahead}.toml", text)
    jobs = file.with_suffix(".jobs.csv")
    seconds = max(2.0, wcet * 1e-9 * 4 * 80)
    must(rtexec.call("run", file, "--duration", f"{seconds:.0f}s", "--jobs", jobs, "--force", limit=seconds + 240), "run alone", (0, 4))
    took = {name: [], WHOLE: []}
    with jobs.open() as lines:
        for line in csv.DictReader(lines):
            if line["outcome"] in ("in-time", "late"):
                took[line["task"]].append(int(line["device_end_ns"]) - int(line["device_begin_ns"]))
    return statistics.median(took[WHOLE]), statistics.median(took[name])


def print_bounds(title, plan, report, bare):
    """`bare`: bounds without reserves, by task."""
    print(f"\n{title}\n  {'task':10} {'on the device':>42} {'worst':>10} {'bound':>10} {'bound/worst':>11} {'no reserves':>11} {'/worst':>6} "
          f"{'missed':>6} {'preempted':>9}")
    bad = 0
    for planned, seen, least in zip(plan["tasks"], report["tasks"], bare):
        bound, worst = planned["response_bound_ns"], seen["response_ns"]["max"]
        shape = f"level {planned['level']}, {planned['segments']} segments"
        if planned["segments"] > 1 and plan["launch_ahead"]:
            shape += f" ({plan['launch_ahead']} ahead)"
        if planned["segments"] > 1:
            shape += f" <= {max(planned['segment_wcets_ns']) * MS:.2f} ms"
        told = f"{bound * MS:10.2f} {bound / worst:11.2f}" if bound else f"{'none':>10} {'-':>11}"
        told += f" {least * MS:11.2f} {least / worst:6.2f}" if least else f" {'none':>11} {'-':>6}"
        print(f"  {planned['name']:10} {shape:>42} {worst * MS:10.2f} {told} {seen['missed']:6} {seen.get('preempted') or 0:9}")
        bad += seen["missed"] + (1 if bound and worst > bound else 0)
    return bad


def print_launch_ahead(rtexec, arguments, wcets):
    name, model, size = MANY
    print(f"\n{model} alone in many segments, p50 beside that of whole jobs, ms; in brackets each cut, us")
    print(f"  {'segments':8}" + "".join(f"{f'{n} ahead':>24}" for n in AHEAD))
    for segments in SEGMENTS:
        cells = ""
        for ahead in AHEAD:
            whole, cut = device_parts(rtexec, arguments, MANY, wcets[name], segments, ahead)
            cells += f"{cut * MS:8.3f} {whole * MS:6.3f} ({(cut - whole) / (segments - 1) / 1000:6.1f})"
        print(f"  {segments:8}" + cells)


def print_calibration(rtexec, arguments):
    _, model, size = MANY
    outcome = must(rtexec.call("calibrate", "cut", arguments.output / f"{model}-{size}.onnx", arguments.board, "-o", arguments.output / "calibrated.toml",
                               limit=300), "calibrate cut", (0, 2))
    print("\n" + "\n".join(line for line in outcome.text.splitlines() if not line.startswith("measuring: ")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--capacity", help="of the device (default: the board's)")
    parser.add_argument("--board", default="rtx")
    parser.add_argument("--period", default="10ms", help="of the short network (default: 10ms)")
    parser.add_argument("--utilisation", type=float, default=0.5, help="of the device by the long networks (default: 0.5)")
    parser.add_argument("--jobs", type=int, default=60, help="of each task, to measure it (default: 60)")
    parser.add_argument("--output", type=pathlib.Path, default=rtexec_command.build_folder() / "mixed-rates")
    rtexec_command.add_options(parser)
    arguments = parser.parse_args()
    rtexec = rtexec_command.in_folder(arguments)

    write_models(rtexec, arguments)
    wcets = profile(rtexec, arguments)
    print("WCETs, ms:", ", ".join(f"{name} {wcet * MS:.2f}" for name, wcet in wcets.items()))
    whole_file, whole = check(rtexec, arguments, wcets, "none")
    print(f"whole jobs: {whole.report['verdict']}")
    cut_file, cut = check(rtexec, arguments, wcets, "auto")
    print(f"in segments: {cut.report['verdict']}")
    print(cut.text)
    whole_run = run(rtexec, arguments, whole_file, True)
    print_bounds("Whole jobs, non-preemptive, ms", whole.report, whole_run.report, [None] * len(whole.report["tasks"]))
    if cut.report["verdict"] != "proved":
        return 1
    cut_run = run(rtexec, arguments, cut_file, False)
    bad = print_bounds("In segments, ms", cut.report, cut_run.report, bounds_without_reserves(rtexec, arguments, wcets, cut.report))

    print(f"\nDevice part alone, p50, ms\n  {'task':10} {'segments':>8} {'whole':>9} {'cut':>9} {'ratio':>7}")
    for each in LONG:
        segments = next(planned["segments"] for planned in cut.report["tasks"] if planned["name"] == each[0])
        if segments > 1:
            plain, divided = device_parts(rtexec, arguments, each, wcets[each[0]], segments, cut.report["launch_ahead"])
            print(f"  {each[0]:10} {segments:8} {plain * MS:9.3f} {divided * MS:9.3f} {divided / plain:7.4f}")
    print_calibration(rtexec, arguments)
    print_launch_ahead(rtexec, arguments, wcets)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
