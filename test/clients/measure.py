#!/usr/bin/env python3
"""Programs that know nothing of rtexec as clients of rtexecd, on a machine with an NVIDIA GPU and PyTorch.

    measure.py DIST [SECTION...] [--darknet FOLDER] [--capacity MIB] [--batch N] [--jobs N]

DIST is a folder made by `make dist`. Each section runs some processes at once under a limit that their footprints
exceed by half and more, and holds the digests of all their outputs against the same processes without the library. Exit
code 1 where a digest differs, a process fails, a deadline is missed or the limit is not kept.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
NETWORKS = {
    "resnet152": 1,
    "densenet201": 1,
    "resnext101_32x8d": 1,
    "fasterrcnn_resnet50_fpn": 12,
}  # batch: a share of N
SIX = NETWORKS | {"convnext_small": 1, "vit_b_16": 1}
DARKNET = ["resnet152", "resnext152-32x4d", "densenet201", "yolov3", "yolov3-spp"]
CAPACITIES = {"compile": 1280, "practices": 1024}  # MiB, where the networks are smaller
PERIOD, WCET = 1.5, 0.15
ROUNDS, PAIRS = 40, 5
BOARD = "h200"
LIMIT = 150  # seconds, for one process

wrong = []


def check(right, what):
    if not right:
        wrong.append(what)
        print(f"  WRONG: {what}", flush=True)


class Daemon:
    def __init__(self, dist, folder, capacity, policy="pipelined", awake=False):
        self.folder = folder / "run"
        file = folder / "d.toml"
        file.write_text(
            f'board = "{BOARD}"\n[daemon]\ndirectory = "{self.folder}"\nbest_effort_wcet = "300ms"\n'
            f'stuck_after = "20s"\nkeep_awake = {str(awake).lower()}\n'
            f'[device]\ncapacity = "{capacity}MiB"\nchunk = "64MiB"\n[swap]\npolicy = "{policy}"\n'
        )
        self.log = open(folder / "d.log", "w+")
        self.process = subprocess.Popen([dist / "bin/rtexecd", file], stdout=self.log, stderr=self.log)
        for _ in range(200):
            if (self.folder / "socket").exists():
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit("rtexecd does not listen:\n" + self.said())

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def environment(dist, daemon, name, more=()):
    # Workspaces of cuBLAS are a part of what it computes.
    result = dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8", PYTHONPATH=f"{dist}/python", **dict(more))
    if daemon:
        result.update(
            LD_PRELOAD=f"{dist}/lib/librtexec-preload.so", RTEXEC_CLIENT=name, RTEXEC_DAEMON=str(daemon.folder)
        )
    return result


def start(arguments, env):
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env=env,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def result_of(process, name):
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += f"\nno end after {LIMIT} s"
    if process.returncode != 0 or not out.strip():
        ours = "\n".join(line for line in err.splitlines() if line.startswith("rtexec:"))
        check(False, f"{name} ended with {process.returncode}: {ours}\n{err.strip()[-600:]}")
        return None
    return json.loads(out.strip().splitlines()[-1])


class DeviceMemory:
    """The driver's figures of the memory in use, MiB: at the begin, at most, and at most by each process; and what
    rtexecd says that each has of its arena.
    """

    def __init__(self, dist=None, daemon=None):
        self.of, self.arenas = {}, {}
        self.dist, self.daemon = dist, daemon
        self.begin = self.most = self.read()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def read(self):
        for line in self.ask("--query-compute-apps=pid,used_memory"):
            process, used = (int(each) if each.strip().isdigit() else 0 for each in line.split(","))
            self.of[process] = max(self.of.get(process, 0), used)
        return int(self.ask("--query-gpu=memory.used")[0])

    @staticmethod
    def ask(what):
        command = ["nvidia-smi", what, "--format=csv,noheader,nounits"]
        return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()

    def look(self):
        while not self.stop.wait(0.3):
            self.most = max(self.most, self.read())
            if self.daemon:
                self.ask_daemon()

    def ask_daemon(self):
        told = self.daemon.folder.parent / "ps.json"
        command = [self.dist / "bin/rtexec", "ps", "--daemon", self.daemon.folder, "--json", told]
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
            return
        for client in json.loads(told.read_text())["clients"]:
            process, size = client["process"], client["memory_bytes"] >> 20
            self.arenas[process] = max(self.arenas.get(process, 0), size)

    def end(self):
        self.stop.set()
        self.thread.join()


def programs(options, section):
    """Name: arguments, environment."""
    if section == "darknet":
        return {
            name: (
                [
                    HERE / "darknet.py",
                    "run",
                    options.darknet,
                    options.folder / f"{name}.cfg",
                    options.folder / f"{name}.weights",
                    options.jobs,
                ],
                (),
            )
            for name in DARKNET
        }
    if section == "practices":
        return {f"practices {i}": ([HERE / "practices.py", options.jobs, i], ()) for i in range(4)}
    allocators = {"async": "backend:cudaMallocAsync", "expandable": "expandable_segments:True"}
    more = [("PYTORCH_CUDA_ALLOC_CONF", allocators[section])] if section in allocators else []
    more.append(("TORCHINDUCTOR_CACHE_DIR", str(options.folder / "inductor")))
    mode = {"graphs": "graph", "compile": "compile"}.get(section, "plain")
    paced = [PERIOD, WCET] if section == "deadlines" else []
    names = {"compile": {"resnet50": 1, "resnet18": 1, "mobilenet_v2": 1}, "six": SIX}.get(section, NETWORKS)
    if mode != "plain":
        names = {name: divisor for name, divisor in names.items() if "rcnn" not in name}
    return {
        name: ([HERE / "network.py", name, max(1, options.batch // divisor), options.jobs, mode, *paced], more)
        for name, divisor in names.items()
    }


def prepare_darknet(options):
    for name in DARKNET:
        text = (options.darknet / "cfg" / f"{name}.cfg").read_text().splitlines()
        text = [line for line in text if not line.startswith(("batch=", "subdivisions="))]
        at = text.index("[net]") + 1
        (options.folder / f"{name}.cfg").write_text(
            "\n".join([*text[:at], "batch=1", "subdivisions=1", *text[at:]]) + "\n"
        )
    makers = [
        start(
            [HERE / "darknet.py", "weights", options.folder / f"{name}.cfg", options.folder / f"{name}.weights"],
            os.environ,
        )
        for name in DARKNET
    ]
    for maker in makers:
        maker.communicate()


def start_all(options, daemon, section):
    limit = [] if daemon else [("MEMORY_MIB", str(CAPACITIES.get(section, options.capacity)))]
    return {
        name: start(arguments, environment(options.dist, daemon, name, [*more, *limit]))
        for name, (arguments, more) in programs(options, section).items()
    }


def results_of(running, memory):
    results = {name: result_of(process, name) for name, process in running.items()}
    for name, result in results.items():
        if result:
            result["driver"] = memory.of.get(running[name].pid, 0)
            result["arena"] = memory.arenas.get(running[name].pid, 0)
    return results


def alone(options, sections):
    """Without the library, all at once: the whole device has room for them. Allocators change no result.

    Each is limited to the memory that it will have: in more, cuDNN takes a workspace of 34 GiB for the detector's first
    layer, and its outputs have other bits.
    """
    print("without the library", flush=True)
    same_as = {"async": "native", "expandable": "native", "deadlines": "native"}
    kinds = {same_as.get(each, each) for each in sections}
    memory = DeviceMemory()
    running = {kind: start_all(options, None, kind) for kind in kinds}
    again = {kind: start_all(options, None, kind) for kind in kinds & {"native", "six"}}
    found = {kind: results_of(processes, memory) for kind, processes in running.items()}
    for kind, processes in again.items():
        for name, result in results_of(processes, memory).items():
            if result and found[kind][name] and result["digest"] != found[kind][name]["digest"]:
                print(f"  {name} alone has other bits each time")
                found[kind][name]["varies"] = True
    memory.end()
    return {each: found[same_as.get(each, each)] for each in sections}


def compare(options, section, reference):
    capacity = CAPACITIES.get(section, options.capacity)
    # Two of them are more than the device has, so none can be loaded while another executes.
    policy = "serial" if section == "deadlines" else "pipelined"
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, Daemon(
        options.dist, pathlib.Path(folder), capacity, policy
    ) as daemon:
        time.sleep(1)
        memory, begin = DeviceMemory(options.dist, daemon), time.monotonic()
        results = results_of(start_all(options, daemon, section), memory)
        memory.end()
        taken = sum(result["arena"] for result in results.values() if result)
        print(
            f"{section}: {len(results)} processes, {time.monotonic() - begin:.0f} s, {taken} MiB of arenas under "
            f"{capacity}: {100 * taken / capacity - 100:.0f} % more; the driver says {memory.begin} MiB with the "
            f"daemon alone, at most {memory.most}",
            flush=True,
        )
        for name, result in results.items():
            if result:
                compare_one(section, name, result, reference[name])
        check(taken > 1.5 * capacity, f"{section}: the limit is not exceeded by half")
        # What is not the daemon's are the processes' contexts, which the limit is not for.
        more = memory.most - memory.begin - sum(result["driver"] for result in results.values() if result)
        check(more < 64 * len(results), f"{section}: {more} MiB more in use than the daemon has, and contexts")
        if wrong:
            print("  rtexecd said: " + "\n    ".join(daemon.said().strip().splitlines()[-12:]), flush=True)
        if section == "deadlines":
            refuse(options, daemon)


def compare_one(section, name, result, alone):
    if alone is None:
        return
    same = result["digest"] == alone["digest"]
    bits = "same bits" if same else "other bits, as each time" if alone.get("varies") else "DIFFERS"
    promised = ""
    if result.get("bound"):
        promised = f", promised {result['bound'] * 1e3:.0f} ms, late {result['late']} of {result['jobs']}"
    print(
        f"  {name:26} {bits}; p50 {result['p50']:.2f} p99 {result['p99']:.2f} max {result['max']:.2f} ms (alone "
        f"{alone['p50']:.2f}, {alone['p99']:.2f}, {alone['max']:.2f}), arena {result['arena']} MiB{promised}"
    )
    check(same or alone.get("varies"), f"{section} {name}: outputs differ")
    if section == "deadlines":
        check(result.get("bound") and result["late"] == 0, f"{name} is not promised, or late")
    if section != "darknet" and alone["driver"]:  # where the driver tells of processes
        context = alone["driver"] - alone["reserved"]
        check(
            result["driver"] < context + 64, f"{section} {name}: {result['driver']} MiB besides the arena's: {context}"
        )


def refuse(options, daemon):
    """A second client with which the promise would not hold is refused with the numbers."""
    out, err = start([HERE / "exceed.py"], environment(options.dist, daemon, "asks")).communicate(timeout=LIMIT)
    print("  two that exceed the promise:\n    " + (out + err[-600:]).strip().replace("\n", "\n    "), flush=True)
    check("promised" in out and "refused" in out, "the second is not refused")


def overheads(options, _):
    """Two processes, one with the library, in turns."""
    for awake in (False, True):
        overheads_of(options, awake)


def overheads_of(options, awake):
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, Daemon(
        options.dist, pathlib.Path(folder), options.capacity, awake=awake
    ) as daemon:
        print(f"keep_awake = {str(awake).lower()}")
        for kind, under in (("without", None), ("with", daemon)):
            out, err = start([HERE / "overheads.py"], environment(options.dist, under, "one")).communicate(
                timeout=LIMIT
            )
            print(f"one process, {kind} the library\n{out or err.strip()[-400:]}", end="", flush=True)
        # Where a process's memory and threads come to lie makes some per cent: several pairs
        ratios, medians = {}, {}
        for pair in range(PAIRS):
            for kind, (alone, client) in turns(options, daemon, pair).items():
                ratios.setdefault(kind, []).append(client / alone)
                medians.setdefault(kind, []).append((alone, client))
        for kind, of in ratios.items():
            alone, client = medians[kind][of.index(sorted(of)[PAIRS // 2])]
            print(
                f"{kind}, in turns: {alone:.3f} ms without, {client:.3f} with; of {PAIRS} pairs of processes "
                + ", ".join(f"{each:.3f}" for each in sorted(of)),
                flush=True,
            )


def turns(options, daemon, pair):
    """The medians of both kinds of process, ms, of rounds in turn."""
    order = [None, daemon] if pair % 2 == 0 else [daemon, None]
    running = [start([HERE / "overheads.py", "turns"], environment(options.dist, under, "one")) for under in order]
    times = {}
    for process in running:
        process.stdout.readline()  # it is ready
    for turn in range(ROUNDS):
        for i in (0, 1) if turn % 2 else (1, 0):
            if running[i].poll() is not None:
                check(False, "overheads.py failed: " + running[i].stderr.read().strip()[-400:])
                return {}
            print("round", file=running[i].stdin, flush=True)
            for kind, median in json.loads(running[i].stdout.readline()).items():
                times.setdefault(kind, ([], []))[order[i] is not None].append(median)
    for process in running:
        process.communicate(timeout=20)
    return {kind: tuple(sorted(each)[ROUNDS // 2] for each in both) for kind, both in times.items()}


def exchange(options, _):
    for mib in (1024, 2048):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            folder = pathlib.Path(folder)
            with Daemon(options.dist, folder, mib + 128) as daemon:
                running = [
                    start(
                        [HERE / "exchange.py", mib, 14, folder / f"{i}.json"], environment(options.dist, daemon, f"{i}")
                    )
                    for i in range(2)
                ]
                for process in running:
                    _, err = process.communicate(timeout=LIMIT)
                    check(process.returncode == 0, "exchange.py failed: " + err.strip()[-400:])
                if wrong:
                    return
                said = [json.loads((folder / f"{i}.json").read_text()) for i in range(2)]
        times = []
        for i in range(2):
            for asked, granted, _ in said[i]["log"]:
                ended = max((done for _, _, done in said[1 - i]["log"] if done < granted), default=0)
                if asked < ended:
                    times.append((granted - ended) * 1e3)
        times = sorted(times[2:])
        limit = float(start([HERE / "exchange.py", "limit", mib], os.environ).communicate(timeout=LIMIT)[0])
        p50 = times[len(times) // 2]
        print(
            f"exchange of {mib} MiB between two processes: {len(times)} times, p50 {p50:.1f} max {times[-1]:.1f} ms; "
            f"both ways at once take {limit:.1f} ms: {p50 / limit:.2f}",
            flush=True,
        )
        check(all(each["right"] for each in said), "contents were lost")
        if options.saver:
            library = next(pathlib.Path(options.saver).glob("*preload_cu13*.so"))
            env = dict(os.environ, LD_PRELOAD=str(library), PYTHONPATH=str(options.saver))
            out, err = start([HERE / "exchange.py", "saver", mib], env).communicate(timeout=LIMIT)
            print(f"  torch_memory_saver, pause and resume: {out.strip() or err.strip()[-300:]} ms", flush=True)


def main():
    sections = {
        name: compare
        for name in ("native", "six", "async", "expandable", "graphs", "compile", "darknet", "deadlines", "practices")
    }
    sections.update(overheads=overheads, exchange=exchange)
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dist", type=pathlib.Path)
    parser.add_argument("sections", nargs="*")
    parser.add_argument("--darknet", type=pathlib.Path)
    parser.add_argument("--saver", type=pathlib.Path)
    parser.add_argument("--capacity", type=int, default=3072)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=20)
    options = parser.parse_intermixed_args()
    options.dist = options.dist.resolve()
    options.sections = options.sections or [name for name in sections if name != "darknet" or options.darknet]
    with tempfile.TemporaryDirectory() as folder:
        options.folder = pathlib.Path(folder)
        if "darknet" in options.sections:
            prepare_darknet(options)
        compared = [each for each in options.sections if sections[each] is compare]
        reference = alone(options, compared) if compared else {}
        for each in options.sections:
            sections[each](options, *([each, reference[each]] if each in reference else [None]))
    print(f"clients: {len(wrong)} wrong" + "".join(f"\n  {each}" for each in wrong))
    sys.exit(bool(wrong))


main()
