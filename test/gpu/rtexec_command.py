"""Calls of rtexec for the scripts beside this file: with time limits, and on a GPU of which only a part is free."""
import json
import os
import pathlib
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def first_of(*paths):
    """The first that exists, of a folder of `make dist` or of a build; else the last one, whose absence is told when it is called."""
    return next((path for path in paths if path.exists()), paths[-1])


def build_folder():
    return ROOT / "build" if (ROOT / "Makefile").exists() else ROOT


def add_options(parser):
    parser.add_argument("--rtexec", type=pathlib.Path, metavar="PROGRAM", default=first_of(ROOT / "bin/rtexec", ROOT / "build/host-release/bin/rtexec"))
    parser.add_argument("--swap-bench", type=pathlib.Path, metavar="PROGRAM",
                        default=first_of(ROOT / "test/swap-bench", ROOT / "build/host-release/test/swap-bench"))
    parser.add_argument("--ballast", default="24GiB", metavar="SIZE", help="leave so much of the GPU's memory free; none: all of it (default: 24GiB)")


class Rtexec:
    def __init__(self, arguments):
        self.program = [str(arguments.rtexec)]
        self.ballast = [] if arguments.ballast == "none" else [str(arguments.swap_bench), "--ballast", arguments.ballast]

    def call(self, *words, limit=None, on_device=False, report=None):
        """`report`: a file that rtexec writes as JSON."""
        if report:
            report.unlink(missing_ok=True)
            words = (*words, "--json", report)
        begin = time.monotonic()
        code, text = finished((self.ballast if on_device else []) + self.program + [str(word) for word in words], limit)
        return Outcome(code, text, time.monotonic() - begin, read_json(report))


class Outcome:
    def __init__(self, code, text, seconds, report):
        self.code, self.text, self.seconds, self.report = code, text, seconds, report

    def why(self):
        """What went wrong, in a line."""
        lines = [line for line in self.text.splitlines() if line.startswith(("rtexec: ", "ballast: ")) and " of the GPU are free" not in line]
        lines = lines or self.text.strip().splitlines()[-1:]
        return f"exit code {self.code}: {' '.join(lines)[:400]}"


def must(outcome, what, codes=(0,)):
    """The outcome, where it ended with one of these exit codes; else the end."""
    if outcome.code not in codes:
        raise SystemExit(f"{what}: {outcome.why()}\n{outcome.text[-3000:]}")
    return outcome


def in_folder(arguments):
    """rtexec with all memory of the device, run where `output` is from now on."""
    arguments.rtexec = arguments.rtexec.absolute()
    arguments.output.mkdir(parents=True, exist_ok=True)
    os.chdir(arguments.output)
    arguments.output = arguments.output.resolve()
    arguments.ballast = "none"
    return Rtexec(arguments)


def compared_outputs(one, other):
    """Of the outputs that both runs left in their folders: how many, and how many are not the same."""
    one, other = ({file.name: file.read_bytes() for file in folder.rglob("*.npy")} for folder in (one, other))
    common = one.keys() & other.keys()
    return len(common), sum(one[each] != other[each] for each in common)


def finished(words, limit):
    """Exit code and output of a command; what lasts longer than `limit` seconds is asked to end, and then made to."""
    try:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        return 127, f"{words[0]}: {error.strerror}"
    for sent, timeout in ((None, limit), (signal.SIGTERM, 20), (signal.SIGKILL, None)):
        if sent:
            process.send_signal(sent)  # swap-bench passes it on, and takes rtexec with it
        try:
            text = process.communicate(timeout=timeout)[0]
            return (124, f"ended after {limit:.0f} s\n{text}") if sent else (process.returncode, text)
        except subprocess.TimeoutExpired:
            pass


def read_json(file):
    try:
        return json.loads(file.read_text()) if file else None
    except (OSError, ValueError):
        return None
