#!/usr/bin/env python3
"""How many networks each swap policy runs on one GPU of which 24 GiB are free.

Usage: capacity_count.py [--check-only] [--policies NAME,...] [--budget SECONDS] [--seconds N] [--json FILE]

The tasks are RT-Swap's four networks at its three resolutions in turn (Kang et al., RTSS 2023, Table III: memory, swappable memory,
WCETs; its GB are taken as GiB), with periods drawn from 3000 to 5000 ms, as synthetic tasks of that much memory. Each policy is asked for
the most tasks, from the first on, that `rtexec check` proves, and for the most that `rtexec run` runs for N seconds without a miss, beyond
what is proved too. Two rows are of policy pipelined: in "classes" the weights are resident and the rest of a network's memory is scratch, as
rtexec's own networks have it; in "state" the swappable memory is copied both ways, as all other policies take it.

Exit status 0: a count was found for each policy; 1: not.
"""
import argparse
import json
import os
import pathlib
import random
import sys
import tempfile
import time

import rtexec_command

# At 256, 416, 608 pixels: memory and swappable memory in GB, WCET in ms (Table III). Weights in MB, fp32.
NETWORKS = {
    "resnet": (230.2, ((1.4, 0.7, 29), (2.4, 1.4, 36), (3.8, 2.7, 48))),
    "yolov3": (248.0, ((2.3, 1.1, 48), (3.6, 2.6, 51), (6.2, 5.2, 63))),
    "densenet": (68.8, ((1.0, 0.4, 31), (1.6, 0.9, 34), (2.7, 1.8, 42))),
    "resnext": (226.9, ((1.6, 1.0, 41), (3.2, 2.2, 45), (5.7, 4.5, 63))),
}
RESOLUTIONS = (256, 416, 608)
VARIANTS = {"classes": "pipelined", "state": "pipelined", "rt-swap": "rt-swap", "min": "min", "mo-vmm": "mo-vmm", "pageable": "pageable", "lru": "lru"}
GIB, MIB = 2**30, 2**20
HOST_SHARE = 0.85  # of the memory that is available


# ---- task sets ------------------------------------------------------------------------------------------------------

def periods_of(arguments):
    source = random.Random(arguments.seed)
    low, high = arguments.periods
    return [round(source.uniform(low, high)) for _ in range(arguments.most)]


def cores_of(arguments):
    """The machine's, without the first and the last two, which serve interrupts and the device; the given ones where nothing runs here."""
    here = sorted(os.sched_getaffinity(0))[1:-2]
    first, last = arguments.cores
    return list(range(first, last + 1)) if arguments.check_only or len(here) < 2 else here


def task_text(index, variant, period, arguments):
    name = list(NETWORKS)[index % len(NETWORKS)]
    size = index // len(NETWORKS) % len(RESOLUTIONS)
    weights, kinds = NETWORKS[name]
    total, swappable, wcet = kinds[size]
    total, swappable, weights = (int(value * arguments.scale_memory) for value in (total * GIB, swappable * GIB, weights * 1e6))
    if variant == "classes":
        swappable = total - weights
    cores = cores_of(arguments)
    return (f'\n[[task]]\nname = "{name}-{RESOLUTIONS[size]}-{index}"\nworkload = "synthetic"\nperiod = "{period}ms"\n'
            f'wcet = "{int(wcet * arguments.scale_wcet * 1000)}us"\ncore = {cores[index % len(cores)]}\n'
            f'footprint = "{total}B"\nswappable = "{swappable}B"\nclass = "{"scratch" if variant == "classes" else "state"}"\n')


def set_text(variant, tasks, periods, arguments):
    degraded = "allow_degraded = true\n" if arguments.allow_degraded else ""
    board = arguments.board if "/" not in arguments.board else pathlib.Path(arguments.board).resolve()
    head = (f'board = "{board}"\n\n[executive]\nkeep_awake = {str(not arguments.allow_degraded).lower()}\nthreads = "{arguments.threads}"\n{degraded}\n'
            f'[device]\ncapacity = "{arguments.capacity}"\nchunk = "{arguments.chunk}"\n\n[swap]\npolicy = "{VARIANTS[variant]}"\n')
    return head + "".join(task_text(index, variant, periods[index], arguments) for index in range(tasks))


# ---- one number of tasks --------------------------------------------------------------------------------------------

class Attempt:
    def __init__(self, good, why="", plan=None):
        self.good, self.why, self.plan = good, why, plan


def why_not_proved(plan):
    test = next((test for test in plan["tests"] if not test["proved"]), None)
    return f"admission: {test['name']}: {test['explanation']}" if test else "admission"


def without_plan(outcome):
    kind = "device memory" if "device memory" in outcome.text else "check"
    return f"{kind}: {outcome.why()}"


def host_memory():
    """What this process may take of it, in bytes."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        left = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    try:
        group = pathlib.Path("/sys/fs/cgroup")
        left = min(left, int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):
        pass  # no limit
    return left


class Counter:
    """The tasks of one variant."""

    def __init__(self, rtexec, variant, folder, periods, arguments):
        self.rtexec, self.variant, self.folder, self.periods, self.arguments = rtexec, variant, folder, periods, arguments
        self.checks, self.runs = {}, {}
        self.longest_run = arguments.seconds + 10.0

    def file(self, tasks):
        file = self.folder / f"{self.variant}-{tasks}.toml"
        file.write_text(set_text(self.variant, tasks, self.periods, self.arguments))
        return file

    def check(self, tasks):
        if tasks not in self.checks:
            file = self.file(tasks)
            outcome = self.rtexec.call("check", file, limit=60, report=file.with_suffix(".check.json"))
            plan = outcome.report
            if plan is None:
                self.checks[tasks] = Attempt(False, without_plan(outcome))
            else:
                proved = plan["verdict"] == "proved"
                self.checks[tasks] = Attempt(proved, "" if proved else why_not_proved(plan), plan)
        return self.checks[tasks]

    def run(self, tasks):
        if tasks not in self.runs:
            self.runs[tasks] = self.attempt(tasks)
        return self.runs[tasks]

    def attempt(self, tasks):
        checked = self.check(tasks)
        if checked.plan is None:
            return checked
        store = sum(task["swap_volume_bytes"] for task in checked.plan["tasks"])
        if store > HOST_SHARE * host_memory():
            return Attempt(False, f"host memory: {store / GIB:.1f} GiB of swapped memory, {host_memory() / GIB:.1f} GiB are available")
        file = self.file(tasks)
        force = [] if checked.good else ["--force"]
        outcome = self.rtexec.call("run", file, "--duration", f"{self.arguments.seconds}s", *force, on_device=True,
                                   limit=self.arguments.seconds + 120, report=file.with_suffix(".run.json"))
        self.longest_run = max(self.longest_run, outcome.seconds)
        attempt = Attempt(*judged(outcome), checked.plan)
        print(f"  {self.variant}: {tasks} tasks, {outcome.seconds:.0f} s: {attempt.why or 'no miss'}", flush=True)
        return attempt


def judged(outcome):
    if not outcome.report:
        return False, f"run: {outcome.why()}"
    bad = [task for task in outcome.report["tasks"] if task["missed"] or task["skipped"] or task["failed"] or not task["completed"]]
    if not bad:
        return True, ""
    worst = bad[0]
    return False, (f"miss: {len(bad)} tasks, {sum(task['missed'] for task in bad)} misses, {sum(task['skipped'] for task in bad)} skipped, first of "
                   f"{worst['name']}, longest response {worst['response_ns']['max'] * 1e-6:.0f} of {worst['deadline_ns'] * 1e-6:.0f} ms")


# ---- searches -------------------------------------------------------------------------------------------------------

def most(good, first, limit, enough=lambda tasks: True):
    """The largest count in [1, limit] that is good, the least one known not to be, and whether the search was cut short because there was not
    `enough` time for the next. Of sets that contain one another, the larger ones are taken to be no easier. Begins at `first` and strides away
    from it, further each time."""
    best, worst, stride = 0, limit + 1, 1
    at = min(max(first, 1), limit)
    while best + 1 < worst:
        if not enough(at):
            return best, worst, True
        if good(at):
            best = at
        else:
            worst = at
        if best == 0 and worst > 1:
            at, stride = max(1, worst - stride), stride * 2
        elif worst == limit + 1:
            at, stride = min(limit, best + stride), stride * 2
        else:
            at = (best + worst) // 2
    return best, worst, False


def count(counter, arguments, until):
    proved, refused, _ = most(lambda tasks: counter.check(tasks).good, 8, arguments.most)
    row = {"variant": counter.variant, "policy": VARIANTS[counter.variant], "proved": proved,
           "proved_stopped_by": counter.check(refused).why if refused <= arguments.most else f"the limit of {arguments.most} tasks"}
    if proved:
        row |= figures(counter.check(proved).plan)
    if arguments.check_only:
        return row
    enough = lambda tasks: counter.check(tasks).plan is None or time.monotonic() + counter.longest_run < until
    ran, failed, cut = most(lambda tasks: counter.run(tasks).good, proved or 1, arguments.most, enough)
    reasons = [f"{counter.runs[failed].why} with {failed} tasks"] if failed in counter.runs else []
    if cut:
        reasons.append("the budget of this script")
    return row | {"ran": ran, "ran_stopped_by": "; ".join(reasons) or f"the limit of {arguments.most} tasks"}


def figures(plan):
    swap = plan["swap"] or {}
    return {"memory_bytes": plan["device"]["separate_bytes"], "frames_bytes": swap.get("frames", 0) * plan["device"]["chunk_bytes"],
            "swapped_bytes": sum(task["swap_volume_bytes"] for task in plan["tasks"])}


def print_table(rows, arguments):
    print(f"\n{'tasks of':10} {'policy':10} {'proved':>6} {'run':>4} {'memory GiB':>10} {'swapped GiB':>11} {'frames GiB':>10}")
    for row in rows:
        gib = lambda key: f"{row[key] / GIB:.1f}" if key in row else "-"
        print(f"{row['variant']:10} {row['policy']:10} {row['proved']:6} {row.get('ran', '-'):>4} {gib('memory_bytes'):>10} {gib('swapped_bytes'):>11} {gib('frames_bytes'):>10}")
        print(f"{'':10} not proved beyond: {row['proved_stopped_by'][:300]}")
        if not arguments.check_only:
            print(f"{'':10} not run beyond: {row['ran_stopped_by'][:300]}")


# ---- all ------------------------------------------------------------------------------------------------------------

def parse():
    pair = lambda text: tuple(int(number) for number in text.split(","))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rtexec_command.add_options(parser)
    parser.add_argument("--check-only", action="store_true", help="admission alone, which needs no GPU")
    parser.add_argument("--policies", type=lambda text: text.split(","), default=list(VARIANTS), help=f"of {', '.join(VARIANTS)}")
    parser.add_argument("--budget", type=float, default=450, metavar="SECONDS", help="for everything (default: 450)")
    parser.add_argument("--seconds", type=int, default=15, help="of each run (default: 15)")
    parser.add_argument("--most", type=int, default=128, metavar="N", help="tasks (default: 128)")
    parser.add_argument("--seed", type=int, default=1, help="of the periods")
    parser.add_argument("--periods", type=pair, default=(3000, 5000), metavar="LEAST,MOST", help="in ms (default: 3000,5000)")
    parser.add_argument("--cores", type=pair, default=(1, 13), metavar="FIRST,LAST", help="that the tasks take in turn (default: 1,13)")
    parser.add_argument("--board", default="h200")
    parser.add_argument("--threads", choices=("auto", "fifo", "deadline"), default="auto", help="as in a task set, to check for another machine's")
    parser.add_argument("--capacity", default="23GiB", help="for the tasks; the rest of the free memory is the context's (default: 23GiB)")
    parser.add_argument("--chunk", default="32MiB", help="(default: 32MiB; min has its own)")
    parser.add_argument("--scale-wcet", type=float, default=1.0, metavar="FACTOR", help="times the paper's WCETs")
    parser.add_argument("--scale-memory", type=float, default=1.0, metavar="FACTOR", help="times the paper's memory")
    parser.add_argument("--allow-degraded", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.policies if name not in VARIANTS]:
        parser.error(f"{unknown[0]} is not known; known are {', '.join(VARIANTS)}")
    return arguments


def main():
    arguments = parse()
    rtexec, periods, end = rtexec_command.Rtexec(arguments), periods_of(arguments), time.monotonic() + arguments.budget
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for index, variant in enumerate(arguments.policies):
            until = time.monotonic() + (end - time.monotonic()) / (len(arguments.policies) - index)
            counter = Counter(rtexec, variant, pathlib.Path(folder), periods, arguments)
            rows.append(count(counter, arguments, until))
            print(f"{variant}: proved {rows[-1]['proved']}, ran {rows[-1].get('ran', '-')}", flush=True)
    print_table(rows, arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps({"capacity": arguments.capacity, "seed": arguments.seed, "rows": rows}, indent=2) + "\n")
    return 0 if all(row["proved"] and row.get("ran", 1) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
