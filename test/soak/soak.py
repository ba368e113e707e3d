#!/usr/bin/env python3
"""Runs a task set for hours, does something to it every minute, and says what came of it: `make soak HOURS=2`.

Every few seconds it reads the run's status page, its memory, descriptors, threads and recording; at the end of each
quarter it analyses the recording while that goes on. It passes if nothing grew (growth.py), the run outlived every
fault (faults.py), and nothing was lost that was promised: no job outside of the faults that may cost some, no event
before the faults that end a recording, no page fault of a real-time thread. Jobs that were lost while somebody else's
real-time threads, or the hypervisor, took the run's cores (disturbance.py) are counted apart: a busy machine is none to
judge by.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import disturbance
import faults
import growth
import nvml

START_LIMIT = 120.0  # seconds from the program's start to the first jobs
SETTLE = 3.0  # after a fault: what it cost is on the status page
GOES_ON = 2.0  # within it each task must complete jobs again, longer periods apart
# Bytes: a core's share of the recording is ten seconds of the default set's events, some ten minutes of the GPU's set's,
# so that the oldest are overwritten all along
TRACE_LIMIT = (8 << 20) * os.sysconf("SC_NPROCESSORS_CONF")
DISK = TRACE_LIMIT + (48 << 20)
LOST = ("missed", "skipped", "aborted", "failed")


class Failed(Exception):
    """The soak cannot go on."""


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument("--rtexec", required=True, metavar="PROGRAM")
    parser.add_argument("--hours", type=float, default=2.0, help="how long (default: 2)")
    parser.add_argument("--set", default=str(here / "soak.toml"), metavar="FILE.toml", help="task set")
    parser.add_argument("--folder", default="build/soak", help="for recording, log and report (default: build/soak)")
    parser.add_argument("--json", metavar="FILE", help="write the outcome with all samples")
    parser.add_argument("--every", type=float, default=60.0, metavar="SECONDS", help="between faults (default: 60)")
    parser.add_argument("--clock", action="store_true", help="also step the machine's clock, for an instant")
    parser.add_argument("--memory", type=float, default=0.25, metavar="SHARE",
                        help="of free memory that memory pressure takes (default: 0.25)")
    parser.add_argument("--only", metavar="NAMES", help="these faults, with commas between (default: all)")
    return parser.parse_args()


def status_of(process):
    """Memory in KiB, descriptors and threads of a process."""
    text = pathlib.Path(f"/proc/{process}/status").read_text()
    field = lambda name: int(re.search(rf"^{name}:\s+(\d+)", text, re.M).group(1))
    return {"resident_kb": field("VmRSS"), "anonymous_kb": field("RssAnon"), "locked_kb": field("VmLck"),
            "descriptors": len(os.listdir(f"/proc/{process}/fd")), "threads": field("Threads")}


def figures_of(samples):
    """What a run is judged by; of memory on a GPU only where it is on one."""
    return [figure for figure in growth.TOLERANCE if samples and figure in samples[0]]


def promised_tasks(rtexec, task_set):
    """Names of the tasks whose deadlines are promised."""
    check = subprocess.run([rtexec, "check", task_set, "--json", "-"], capture_output=True, text=True)
    if not check.stdout:
        raise Failed(f"rtexec check {task_set}: {check.stderr}")
    return {task["name"] for task in json.loads(check.stdout)["tasks"] if task["promised"]}


class Soak:
    def __init__(self, chosen):
        self.options = chosen
        self.folder = pathlib.Path(chosen.folder).resolve()
        self.disk = self.folder / "disk"
        self.trace = self.disk / "trace"
        self.seconds = chosen.hours * 3600
        self.samples, self.faults, self.analyses = [], [], []
        self.skipped, self.problems, self.not_observed = {}, [], []
        self.run = self.watcher = self.machine = None
        self.gpus = nvml.Gpus()
        self.no_small_disk = ""
        self.begun = self.lost_outside = 0
        self.disturbed = {}  # jobs lost, by who took the cores
        self.disturbance_before = ""
        self.fault = None  # the record of the one that lasts
        self.next_quarter = 1
        self.recording = True  # until a fault ends it
        self.promised = set()  # names of tasks

    # ---- the run ----

    def prepare(self):
        if self.disk.is_mount():
            subprocess.run(["umount", "-l", self.disk], check=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.disk.mkdir(parents=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", self.disk], capture_output=True)
        if mounted.returncode != 0:
            self.no_small_disk = "mounting a small disk is refused"

    def lost_jobs(self, page):
        return sum(task[each] for task in page["tasks"] if task["name"] in self.promised for each in LOST)

    def start(self):
        self.promised = promised_tasks(self.options.rtexec, self.options.set)
        if not self.promised:
            self.problems.append(f"nothing is promised to the tasks: `rtexec check {self.options.set}` says why")
        command = [self.options.rtexec, "run", self.options.set, "--force", "--duration", f"{self.seconds:.0f}s",
                   "--trace", self.trace, "--trace-limit", f"{TRACE_LIMIT}B", "--json", self.folder / "report.json"]
        log = open(self.folder / "run.log", "w")
        self.run = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                    preexec_fn=faults.end_with_parent)
        end = time.monotonic() + START_LIMIT
        while not (page := self.page()) or page["elapsed_ns"] == 0:
            if self.run.poll() is not None or time.monotonic() > end:
                raise Failed("the run did not start:\n" + (self.folder / "run.log").read_text())
            time.sleep(0.2)
        self.begun = time.monotonic() - page["elapsed_ns"] / 1e9
        self.machine = disturbance.Machine(self.run.pid, self.folder)
        if self.machine.no_witness:
            self.not_observed.append("what kept a thread of the highest priority waiting: " + self.machine.no_witness)
        self.watcher = subprocess.Popen(
            [self.options.rtexec, "top", str(self.run.pid), "--interval", "500ms"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=faults.end_with_parent)

    def page(self):
        """Its status page; None where there is none."""
        told = subprocess.run([self.options.rtexec, "top", str(self.run.pid), "--once", "--json", "-"],
                              capture_output=True, text=True)
        return json.loads(told.stdout) if told.returncode == 0 else None

    def daemons(self, name):
        """The run's own LTTng daemons of this name; empty: all."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                owned = f"RTEXEC_TRACES_OWNER={self.run.pid}".encode() in (process / "environ").read_bytes().split(b"\0")
                if owned and name in (process / "comm").read_text():
                    found.append(int(process.name))
            except OSError:
                pass
        return found

    def elapsed(self):
        return time.monotonic() - self.begun

    def alive(self):
        return self.run.poll() is None

    # ---- what is measured ----

    def sample(self):
        page = self.page()
        if not page or page["ended"]:
            return
        sample = {"at": round(self.elapsed(), 3), "lost_jobs": self.lost_jobs(page), **status_of(self.run.pid)}
        if (gpu_kb := self.gpus.used_kb(self.run.pid)) is not None:
            sample["gpu_kb"] = gpu_kb
        sample["completed"] = {task["name"]: task["completed"] for task in page["tasks"]}
        sample["p99_ns"] = {task["name"]: task["response_ns"]["p99"] for task in page["tasks"]}
        sample["recorded_bytes"] = sum(f.stat().st_size for f in self.trace.rglob("*") if f.is_file()) \
            if self.trace.exists() else 0
        self.attribute(sample["lost_jobs"] - (self.samples[-1]["lost_jobs"] if self.samples else 0))
        self.samples.append(sample)

    def attribute(self, lost):
        """Jobs lost since the last sample. The status page is half a second old: they may be of the sample before."""
        now = self.machine.disturbance()
        others, self.disturbance_before = now or self.disturbance_before, now
        if self.fault and self.fault["may_miss"]:
            self.fault["lost_jobs"] += lost
        elif lost and others:
            self.disturbed[others] = self.disturbed.get(others, 0) + lost
        elif self.fault:
            self.fault["lost_jobs"] += lost
        else:
            self.lost_outside += lost

    def analyse(self, quarter):
        """The recording as it is on disk, while the run goes on."""
        output = self.folder / f"quarter-{quarter}.json"
        told = subprocess.run([self.options.rtexec, "analyze", self.trace, "--json", output], capture_output=True,
                              text=True)
        if told.returncode not in (0, 3, 4):
            self.problems.append(f"the recording could not be analysed in quarter {quarter} (exit code {told.returncode}): "
                                 + told.stderr.strip())
            return
        analysis = json.loads(output.read_text())
        lost = sum(analysis["lost"].values())
        if lost and self.recording:
            self.problems.append(f"{lost} events were lost by quarter {quarter}")
        self.analyses.append({"quarter": quarter, "events": analysis["events"], "lost": lost,
                              "response_ns": {task["name"]: {each: task["stages"][-1][f"{each}_ns"]
                                                      for each in ("p50", "p99", "p999", "max")}
                                       for task in analysis["tasks"]}})

    # ---- time ----

    def watch(self, until):
        """Samples until then, or until the run ends."""
        while self.alive() and (left := until - self.elapsed()) > 0:
            time.sleep(min(left, self.interval))
            self.sample()
            if self.recording and self.next_quarter < 4 and self.elapsed() >= self.next_quarter * self.seconds / 4:
                self.analyse(self.next_quarter)
                self.next_quarter += 1
            self.show("")

    def show(self, what):
        left = max(0.0, self.seconds - self.elapsed())
        last = self.samples[-1] if self.samples else {}
        line = (f"{self.elapsed():7.0f} s of {self.seconds:.0f}, {left / 60:.1f} min left: "
                f"{sum(last.get('completed', {}).values())} jobs, {last.get('lost_jobs', 0)} lost, "
                f"{last.get('resident_kb', 0)} KiB{', ' + what if what else ''}")
        if sys.stderr.isatty():
            print(f"\r\033[K{line}", end="\n" if what else "", file=sys.stderr, flush=True)
        elif what:
            print(line, file=sys.stderr, flush=True)

    def inject(self, fault):
        self.sample()
        self.fault = {"name": fault.name, "at": round(self.elapsed(), 1), "may_miss": fault.may_miss, "why": fault.why,
                      "lost_jobs": 0}
        self.faults.append(self.fault)
        if fault.ends_recording and self.recording:
            self.analyse(4)
            self.recording = False
        self.show(fault.name)
        try:
            fault.begin()
            self.watch(self.elapsed() + fault.seconds)
        finally:
            fault.end()
        self.watch(self.elapsed() + SETTLE)
        record, self.fault = self.fault, None
        record["survived"] = self.goes_on()

    def goes_on(self):
        """Whether every task completes jobs, or the run has come to its end in order."""
        before = self.samples[-1]["completed"] if self.samples else {}
        self.watch(self.elapsed() + max(GOES_ON, 2 * self.interval))
        after = self.samples[-1]["completed"] if self.samples else {}
        if not self.alive():
            return self.elapsed() >= self.seconds and self.run.returncode >= 0
        return all(after[task] > count for task, count in before.items())

    # ---- the whole ----

    def chosen(self, kinds):
        names = self.options.only.split(",") if self.options.only else None
        found = []
        for kind in kinds:
            fault = kind(self)
            why_not = "not chosen" if names is not None and fault.name not in names else fault.refusal()
            if why_not:
                self.skipped[fault.name] = why_not
            else:
                found.append(fault)
        return found

    def soak(self):
        self.prepare()
        self.start()
        self.interval = min(5.0, self.seconds / 120)
        in_turn, last = self.chosen(faults.IN_TURN), self.chosen(faults.AT_THE_END)
        long = lambda fault: fault.seconds + SETTLE + max(GOES_ON, 2 * self.interval) + 2
        end_of_turns = self.seconds - sum(map(long, last)) - 2
        every = min(self.options.every, end_of_turns / (len(in_turn) + 1)) if in_turn else self.seconds
        turn = 0
        while in_turn and self.alive() and self.elapsed() + every < end_of_turns:
            begin = self.elapsed()
            fault = in_turn[turn % len(in_turn)]
            turn += 1
            self.watch(begin + max(0.0, every - long(fault)))
            if self.elapsed() + long(fault) < end_of_turns:
                self.inject(fault)
        self.watch(end_of_turns)
        for fault in last:
            if self.alive():
                self.inject(fault)
        if self.recording and self.alive():
            self.analyse(4)
        self.watch(self.seconds + 1)
        try:
            self.run.wait(timeout=90)
        except subprocess.TimeoutExpired:
            self.problems.append("the run did not end")

    def judge(self):
        try:
            report = json.loads((self.folder / "report.json").read_text())
        except (OSError, ValueError):
            report = None
            self.problems.append(f"the run made no report (exit code {self.run.poll()})")
        if report:
            if report["stopped_by"] != "duration":
                self.problems.append(f"the run was ended by: {report['stopped_by']}")
            page_faults = sum(thread["page_faults"] for thread in report["threads"])
            if page_faults:
                self.problems.append(f"{page_faults} page faults of real-time threads")
        if self.lost_outside:
            self.problems.append(f"{self.lost_outside} jobs were lost outside of faults")
        for fault in self.faults:
            if not fault.get("survived"):
                self.problems.append(f"the run did not outlive {fault['name']} at {fault['at']:.0f} s")
            if fault["lost_jobs"] and not fault["may_miss"]:
                self.problems.append(f"{fault['lost_jobs']} jobs were lost to {fault['name']} at {fault['at']:.0f} s")
        growing = [figure for figure in figures_of(self.samples) if growth.grows(self.samples, figure, 0, self.seconds)]
        self.problems += [f"{figure} grew from quarter to quarter" for figure in growing]
        return report

    def outcome(self, report):
        return {"passed": not self.problems, "problems": self.problems, "seconds": self.seconds, "set": self.options.set,
                "faults": self.faults, "not_injected": self.skipped, "lost_outside_of_faults": self.lost_outside,
                "lost_to_others": self.disturbed,
                "not_observed": self.not_observed,
                "analyses": self.analyses,
                "medians": {figure: growth.medians(self.samples, figure, 0, self.seconds)
                            for figure in figures_of(self.samples)},
                "samples": self.samples, "report": report}

    def clean_up(self):
        if self.machine:
            self.machine.end()
        for process in (self.watcher, self.run):
            if process and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(timeout=60)
                except subprocess.TimeoutExpired:
                    process.kill()
        if self.disk.is_mount():
            if self.trace.exists():  # stays for who wants to look
                shutil.copytree(self.trace, self.folder / "trace", dirs_exist_ok=True)
            subprocess.run(["umount", "-l", self.disk], check=False)


def tell(outcome):
    print(f"{outcome['seconds'] / 3600:.2f} h of {outcome['set']}, {len(outcome['faults'])} faults, "
          f"{len(outcome['samples'])} samples")
    figures = figures_of(outcome["samples"])
    head = ["quarter", *figures, "jobs", "lost", "recorded MB", "longest p99 us"]
    rows = []
    parts = growth.quarters(outcome["samples"], 0, outcome["seconds"])
    analyses = {each["quarter"]: each for each in outcome["analyses"]}
    for number, part in enumerate(parts, 1):
        if not part:
            continue
        jobs = [sum(sample["completed"].values()) for sample in part]
        responses = analyses.get(number, {}).get("response_ns", {}).values()
        p99 = max((response["p99"] for response in responses), default=None)
        rows.append([number, *(f"{outcome['medians'][figure][number - 1]:.0f}" for figure in figures),
                     jobs[-1] - jobs[0], part[-1]["lost_jobs"] - part[0]["lost_jobs"],
                     f"{part[-1]['recorded_bytes'] / 1e6:.1f}", "-" if p99 is None else f"{p99 / 1e3:.0f}"])
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  " + "  ".join(str(cell).rjust(width) for cell, width in zip(row, widths)))
    print("Faults, and the jobs that were lost while they lasted")
    for name in dict.fromkeys(fault["name"] for fault in outcome["faults"]):
        times = [fault for fault in outcome["faults"] if fault["name"] == name]
        lost = sum(fault["lost_jobs"] for fault in times)
        note = f" (may be: {times[0]['why']})" if times[0]["may_miss"] else ""
        note = note or (f" ({times[0]['why']})" if times[0]["why"] else "")
        print(f"  {name}: {len(times)} times, survived {sum(fault.get('survived', False) for fault in times)}, {lost} lost{note}")
    for who, lost in outcome["lost_to_others"].items():
        print(f"  not ours: {who}: {lost} lost")
    for name, why in outcome["not_injected"].items():
        print(f"  {name}: not injected: {why}")
    for what in outcome["not_observed"]:
        print(f"  not observed: {what}")
    for problem in outcome["problems"]:
        print(f"FAILED: {problem}")
    if outcome["passed"]:
        print("Passed: nothing grew, every fault was survived, nothing was lost that was promised.")


def main():
    soak = Soak(options())
    try:
        soak.soak()
    except Failed as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        soak.problems.append("interrupted")
    finally:
        soak.clean_up()
    outcome = soak.outcome(soak.judge())
    if soak.options.json:
        pathlib.Path(soak.options.json).write_text(json.dumps(outcome, indent=1))
    tell(outcome)
    return 0 if outcome["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
