"""What terminals show of the program: terminal.py PROGRAM [CHECK...], in a folder for its files. Needs pyte."""
import contextlib, fcntl, os, pty, re, signal, struct, subprocess, sys, termios, time
import pyte

program = sys.argv[1]


class Terminal:
    """A command on a terminal of a size, emulated."""

    def __init__(self, *arguments, columns=80, lines=24, errors_only=False, **environment):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.bytes = b""
        self.master, slave = pty.openpty()
        self.set_size(columns, lines)
        variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
        self.process = subprocess.Popen(
            [program, *arguments], stdin=slave, stdout=subprocess.DEVNULL if errors_only else slave, stderr=slave,
            env=variables | {"TERM": "xterm-256color"} | environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        os.set_blocking(self.master, False)

    def set_size(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns, lines):
        self.read()
        self.screen.resize(lines, columns)
        self.set_size(columns, lines)

    def read(self):
        with contextlib.suppress(BlockingIOError, OSError):
            while data := os.read(self.master, 1 << 16):
                self.bytes += data
                self.stream.feed(data)

    def shown(self):
        return [line.rstrip() for line in self.screen.display]

    def until(self, condition, seconds=60):
        """The lines that are shown once the condition holds for them."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read()
            if condition(self.shown()):
                return self.shown()
            time.sleep(0.02)
        raise AssertionError("never seen; shown is:\n" + "\n".join(self.shown()))

    def press(self, keys):
        os.write(self.master, keys)

    def end(self, seconds=60):
        """The exit code; all output is read."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()
            time.sleep(0.02)
        self.read()
        return self.process.wait(1)

    def tone(self, line):
        """Colour and weight of the first character of the last line that begins so."""
        row = max(i for i, text in enumerate(self.shown()) if text.lstrip().startswith(line))
        cell = next(self.screen.buffer[row][i] for i in range(self.screen.columns) if self.screen.buffer[row][i].data != " ")
        return cell.fg, cell.bold

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)


@contextlib.contextmanager
def terminal(*arguments, **options):
    it = Terminal(*arguments, **options)
    try:
        yield it
    finally:
        it.kill()


def write_sets():
    """A dozen tasks that have time, and as the last one of all one that has to wait for one of them, and is late."""
    head = '[executive]\nduration="60s"\nallow_degraded=true\n'
    task = '[[task]]\nname="{}"\nworkload="synthetic"\nperiod="{}"\ndeadline="{}"\nwcet="{}"\nfootprint="1MiB"\n'
    names = [f"task-{i:02}" for i in range(12)]
    with open("many.toml", "w") as file:
        file.write(head + "".join(task.format(name, "2s", "2s", "4ms") for name in names) + task.format("late", "400ms", "5ms", "5ms") + 'offset = "2ms"\n')
    return [*names, "late"]


def columns_of(line):
    return re.split(r"  +", line.strip())


title = re.compile(r"^[\d.]+ m?s of 60.0 s")
sizes = {(80, 24): "task missed response deadline max/deadline > WCET p50 released", (40, 10): "task missed response deadline",
         (200, 60): "task missed response deadline max/deadline > WCET p50 released completed skipped"}


def check_live_table(names):
    def table_of(shown):
        begins = [i for i, line in enumerate(shown) if title.match(line)]
        return shown[begins[0] + 1:] if len(begins) == 1 else []

    with terminal("run", "many.toml", "--force") as run:
        def table_with(header, rows):
            def seen(shown):
                table = [line for line in table_of(shown)]
                return len(table) > rows and " ".join(columns_of(table[0])) == header and table[rows].strip() and not any(table[rows + 1:]) \
                    and any(line.strip().startswith("late ") and columns_of(line)[1] != "0" for line in table)
            return seen

        last = None
        for size in [(80, 24), (40, 10), (200, 60), (40, 10), (80, 24)]:
            if last: run.resize(*size)
            rows = min(len(names), size[1] - 3)
            shown = run.until(table_with(sizes[size], rows))
            table = table_of(shown)
            if rows == len(names):
                assert [columns_of(line)[0] for line in table[1:rows + 1]] == names, shown
            else:
                assert columns_of(table[1])[0] == "late" and table[rows].strip() == f"... and {len(names) - rows + 1} more", shown
            if last: assert title.match(shown[0]), shown  # nothing stale above
            starts = {len(line) - len(columns_of(line)[-1]) + len(columns_of(line)[-1]) for line in table[:min(rows, 4)]}
            assert len(starts) == 1, shown  # one below the other
            assert run.tone("late") == ("red", False) and run.tone("task ") == ("default", True), run.tone("late")
            last = size
        run.press(b"\x03")
        assert run.end() == 4
        shown = run.shown()
        assert not any("^C" in line for line in shown) and shown.count("A DEADLINE WAS MISSED.") == 1, shown
        assert run.tone("A DEADLINE") == ("red", False)


def check_top(names):
    with terminal("run", "many.toml", "--force") as run:
        run.until(lambda shown: any(title.match(line) for line in shown))
        with terminal("top", str(run.process.pid), "--interval", "100ms", columns=80, lines=24) as top:
            for columns, lines in [(80, 24), (40, 10), (200, 60), (80, 24), (30, 6)]:
                top.resize(columns, lines)
                shown = top.until(lambda shown: shown[0].startswith("many.toml") and any(line.startswith("q: quit") for line in shown)
                                  and any(line.startswith("  late") for line in shown)
                                  and sum(line.lstrip().startswith("task ") for line in shown) == 1
                                  and ("... and" in " ".join(shown)) == (lines <= 10)
                                  and ("missed recently" in " ".join(shown)) == (columns == 200))
                header = next(line for line in shown if line.lstrip().startswith("task "))
                wanted = ["task", "missed"] if columns == 30 else ["task", "missed", "response", "deadline"]
                assert columns_of(header)[:len(wanted)] == wanted, shown
                assert all(len(line) <= columns for line in shown)
                if lines <= 10:
                    assert shown[-1].startswith("q: quit"), shown
                    assert columns_of(shown[shown.index(header) + 1])[0] == "late", shown
                else:
                    assert [name for line in shown for name in names if columns_of(line)[0] == name] == names, shown
            top.resize(80, 24)
            top.until(lambda shown: any(line.startswith("  late") for line in shown))
            assert top.tone("late") == ("red", False)
            top.press(b"q")
            assert top.end() == 0
        for variables in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
            with terminal("top", str(run.process.pid), "--once", **variables) as plain:
                assert plain.end() == 0 and b"\x1b" not in plain.bytes and b"late" in plain.bytes, plain.bytes
        with terminal("top", str(run.process.pid), "--once", columns=60) as once:
            assert once.end() == 0 and not any(len(line) > 60 for line in once.shown())
            assert once.tone("late") == ("red", False)
        with terminal("top", str(run.process.pid), TERM="dumb") as dumb:
            dumb.until(lambda shown: any("late" in line for line in shown))
            assert b"\x1b" not in dumb.bytes
        run.process.send_signal(signal.SIGTERM)
        run.end()


def check_bars():
    sweep = ["sweep", "--preset", "rt-swap-fig7a", "--sets", "100000", "--jobs", "1"]
    bar = re.compile(r"^\[#*\.*\] proving: \d+ of 1000000 sets, .+ left$")
    for size in (80, 24), (200, 60):
        with terminal(*sweep, columns=size[0], lines=size[1]) as it:
            it.until(lambda shown: any(bar.match(line) for line in shown))
            it.press(b"\x03")
            assert it.end() == 5
            shown = [line for line in it.shown() if line]
            assert len(shown) >= 2 and bar.match(shown[0]) and shown[1].startswith("rtexec: the sweep was cancelled after"), shown
    with terminal(*sweep, columns=30, lines=10) as it:  # too narrow for all of it: cut, and still drawn over
        it.until(lambda shown: any(line.startswith("[") for line in shown))
        time.sleep(2)
        it.press(b"\x03")
        assert it.end() == 5
        assert sum(line.startswith("[") for line in it.shown()) == 1, it.shown()
    with terminal(*sweep, errors_only=True) as it:  # a bar is no result
        it.until(lambda shown: bar.match(shown[0]))
    with terminal(*sweep, TERM="dumb") as it:
        it.until(lambda shown: shown[0].startswith("proving: "))
        assert b"\x1b" not in it.bytes and not re.search(rb"\r[^\n]", it.bytes)
    calibrate = ["calibrate", "--chunk", "64KiB", "--volume", "256KiB", "--jobs", "10000", "-o", "calibrated.toml"]
    with terminal(*calibrate) as it:
        it.until(lambda shown: any(line.startswith("[") and "calibrating: " in line for line in shown))
        it.press(b"\x03")
        assert it.end() == 5
        assert "rtexec: the measurement was cancelled" in it.shown(), it.shown()
    with terminal("calibrate", "--chunk", "64KiB", "--volume", "256KiB", "--jobs", "3", "-o", "calibrated.toml") as it:
        assert it.end() == 0
        assert any(line.startswith("[##########] calibrating: ") for line in it.shown()), it.shown()
        assert not any("]" in line and "wrote" in line for line in it.shown()), it.shown()


checks = {"live": lambda: check_live_table(write_sets()), "top": lambda: check_top(write_sets()), "bars": check_bars}
for name in sys.argv[2:] or checks:
    checks[name]()
