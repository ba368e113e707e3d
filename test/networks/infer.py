"""Runs of `rtexec infer` for the scripts beside this file, and what its refusals have in common."""
import collections
import json
import pathlib
import re
import subprocess

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
BAD_INPUT = 2  # the exit code of what is refused, with a message

PASSED, WRONG, REFUSED = "passed", "wrong", "refused"


class Outcome:
    """Of a run. Where it failed `message` says why, and there are no outputs."""

    def __init__(self, code, message, files, report):
        self.code, self.message, self.files, self.report = code, message, files, report

    def output(self, name):
        """None where it is not there."""
        return self.files.get(re.sub(r"[/\0]", "_", name))

    @property
    def refused(self):
        return self.code == BAD_INPUT


def add_options(parser):
    parser.add_argument("--rtexec", type=pathlib.Path, metavar="PROGRAM", default=ROOT / "build/host-release/bin/rtexec")
    parser.add_argument("--board", default="host", help="the board whose device executes it (default: host)")
    parser.add_argument("--precision", choices=["fp32", "tf32", "fp16"], default="fp32", help="on a GPU (default: fp32)")


def infer(arguments, model, inputs, folder, more=(), limit=600):
    """Runs the model once; `inputs` are arrays by name, which pass through files of `folder`."""
    words = [arguments.rtexec, "infer", model]
    for number, (name, value) in enumerate(inputs.items()):
        numpy.save(folder / f"input{number}.npy", value)
        words.append(f"{name}={folder / f'input{number}.npy'}")
    words += ["-o", folder / "outputs", "--board", arguments.board, "--precision", arguments.precision, "--json", folder / "report.json", *more]
    try:
        done = subprocess.run([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return Outcome(124, f"not ready after {limit} s", {}, None)
    if done.returncode != 0:
        return Outcome(done.returncode, message_of(done, model), {}, None)
    files = {file.stem: numpy.load(file) for file in (folder / "outputs").glob("*.npy")}
    return Outcome(0, "", files, json.loads((folder / "report.json").read_text()))


def message_of(done, model):
    lines = [line for line in done.stderr.splitlines() if line.startswith("rtexec: ")] or done.stderr.strip().splitlines()[-1:]
    text = " ".join(lines).removeprefix("rtexec: ").removeprefix(f"{model}: ")
    return text if done.returncode == BAD_INPUT else f"exit code {done.returncode}: {text}"


def shortened(message):
    """What several nodes or networks may be refused for: without names, sizes, and the list of what is supported."""
    text = re.sub(r"; supported[^:]*: .*, .*, .*", "", message)
    text = re.sub(r"; `rtexec infer --list-operators`.*", "", text)
    text = re.sub(r"^node '.*' \(([\w.]+)(?:, writes '.*?')?\): ", r"\1: ", text)
    text = re.sub(r"^attribute '(\w+)' of node '.*' \((\w+)\)", r"\2: attribute '\1'", text)
    text = re.sub(r"\b(input|output|initialiser) '[^']*'", r"\1 '...'", text)
    text = re.sub(r"'[^' ]*[/._\d][^' ]*'|'\w'", "'...'", text)
    return re.sub(r"\b\d+(?:x\d+)+\b", lambda shape: f"of {shape.group().count('x') + 1} dimensions", text)


def print_groups(messages, names):
    """A line for each kind of message, the most frequent first, with one of those that got it."""
    groups = collections.defaultdict(list)
    for message, name in zip(messages, names):
        groups[shortened(message)].append(name)
    for text, members in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        print(f"{len(members):5}  {text}   ({members[0]}{', ...' if len(members) > 1 else ''})")
