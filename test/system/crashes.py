"""crashes.py FOLDER: processes with the preloaded library, over a driver of CUDA in software, end at every point of
their lives as clients of rtexecd, are stopped there, or hang. The daemon knows of an end at once, whose memory and
place are others' then; two declared processes beside it miss no deadline and find all that they wrote."""
import json, os, re, shutil, signal, subprocess, sys, tempfile, threading, time

folder = os.path.realpath(sys.argv[1])
tests = folder + "/test/preload"
work = tempfile.mkdtemp()
problems = []
FOREVER = 1000000  # jobs
# A period in ms, of those who have to go on whatever happens: `command_timeout` and `stuck_after` delay them, which are long
# enough for a machine that stands still for a second.
PERIOD = 4500
MOST = (PERIOD, 1350)  # period and WCET, ms: promised to one at a time
CONFIG = """
board = "host"
[daemon]
directory = "run"
best_effort_wcet = "20ms"
command_timeout = "1200ms"
stuck_after = "1200ms"
[device]
capacity = "24MiB"
chunk = "2MiB"
[device.swap_cost]
in_per_chunk = "2ms"
out_per_chunk = "2ms"
"""


def complain(text):
    problems.append(text)
    print("  " + text, flush=True)


class Lines:
    """Of a stream, each with the time when it came."""

    def __init__(self, stream):
        self.lines, self.changed = [], threading.Condition()
        threading.Thread(target=self.read, args=(stream,), daemon=True).start()

    def read(self, stream):
        for line in stream:
            now = time.monotonic_ns()
            with self.changed:
                self.lines.append((now, line.rstrip("\n")))
                self.changed.notify_all()

    def find(self, pattern, seconds):
        """The first that matches, as (time, match); None if there is none so long."""
        end, seen = time.monotonic() + seconds, 0
        with self.changed:
            while True:
                for when, line in self.lines[seen:]:
                    if match := re.search(pattern, line):
                        return when, match
                seen = len(self.lines)
                if time.monotonic() >= end:
                    return None
                self.changed.wait(end - time.monotonic())

    def text(self):
        with self.changed:
            return "\n".join(line for _, line in self.lines)


class Client:
    def __init__(self, name, mib, jobs, *declared, at="", by="kill", **more):
        environment = dict(os.environ, LD_LIBRARY_PATH=tests, RTEXEC_DAEMON=work + "/run", RTEXEC_CLIENT=name,
                           LD_PRELOAD=f"{tests}/libcrash.so:{folder}/lib/librtexec-preload.so",
                           CRASH_AT=at, CRASH_BY=by)
        environment.update({key: str(value) for key, value in more.items()})
        arguments = [tests + "/sample_client", *(str(each) for each in (mib, jobs, *declared))]
        self.process = subprocess.Popen(arguments, env=environment, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.pid, self.said, self.out = self.process.pid, Lines(self.process.stderr), Lines(self.process.stdout)

    def crashed(self, seconds=60):
        """When it came to its point, ns; None: it did not."""
        found = self.said.find(r"^crash (\d+)", seconds)
        return int(found[1].group(1)) if found else None

    def end(self, seconds=60):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
            self.process.kill()
            self.process.wait()
        time.sleep(0.02)  # for what it said last
        return code


class Steady:
    """A declared process that goes on all the time."""

    def __init__(self, name, jobs=4):
        self.name, self.jobs, self.stopping, self.runs, self.longest = name, jobs, False, 0, 0.0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopping and len(problems) < 20:
            client = Client(self.name, 8, self.jobs, PERIOD)
            code = client.end(self.jobs * PERIOD / 1000 + 60)
            if code != 0:
                complain(f"{self.name} ended with {code}: {client.out.text()} {client.said.text()}")
            if longest := client.out.find(r"longest ([\d.]+) ms", 1):
                self.longest = max(self.longest, float(longest[1].group(1)))
            ended = daemon.said.find(rf"\({client.pid}\) has ended: \d+ jobs, (\d+) too late, .* (\d+) failed", 60)
            if not ended or ended[1].group(1) != "0" or ended[1].group(2) != "0":
                complain(f"{self.name}: {ended[1].group(0) if ended else 'its end is not told'}")
            self.runs += 1


class Daemon:
    def __init__(self):
        with open(work + "/d.toml", "w") as file:
            file.write(CONFIG)
        self.process = subprocess.Popen([folder + "/bin/rtexecd", work + "/d.toml"], stdout=subprocess.PIPE, text=True)
        self.said = Lines(self.process.stdout)
        if not self.said.find("listening at", 60):
            sys.exit("rtexecd does not listen: " + self.said.text())

    def learnt_of_end(self, client, since):
        """Milliseconds from `since`; None: it had no place."""
        if not self.said.find(rf"\({client.pid}\) is client", 0):
            return None
        found = self.said.find(rf"\({client.pid}\) (is ending, at (\d+) ns|has ended)", 60)
        if not found:
            complain(f"the end of {client.pid} is not noticed")
            return None
        return (int(found[1].group(2) or found[0]) - since) / 1e6

    def place_of(self, client):
        found = self.said.find(rf"\({client.pid}\) is client (\d+)", 1)
        return int(found[1].group(1)) if found else None


detected = []  # ms, of those that were killed


def note(what, times):
    times = sorted(each for each in times if each is not None)
    detected.extend(times)
    shown = f"{times[0]:.2f} to {times[-1]:.2f} ms" if times else "has no place yet"
    print(f"{what:36} {shown}", flush=True)


def nothing_is_left(what):
    """Of who has gone: memory and places are those of the two that go on."""
    for _ in range(100):
        subprocess.run([folder + "/bin/rtexec", "ps", "--daemon", work + "/run", "--json", "ps.json"], check=True,
                       stdout=subprocess.DEVNULL)
        with open("ps.json") as file:
            told = json.load(file)
        others = [each for each in told["clients"] if not each["name"].startswith("steady")]
        counted = told["daemon"]["free_bytes"] + sum(each["resident_bytes"] for each in told["clients"])
        if not others and counted == told["daemon"]["capacity_bytes"]:
            return
        time.sleep(0.01)
    complain(f"after {what}: still counted: {others}, {told['daemon']}")


def goes_on(what, *declared):
    """With a new one, at a place that is free again."""
    if len(problems) > 10:
        raise RuntimeError("too many problems")
    nothing_is_left(what)
    client = Client("new", 8, 1 if declared else 3, *declared)
    if (code := client.end()) != 0:
        complain(f"after {what}: a new one ended with {code}: {client.out.text()} {client.said.text()}")
    if (place := daemon.place_of(client)) not in (0, 1, 2):
        complain(f"after {what}: place {place}, though no more than two are taken")


def killed(at, times=4, beside=0, declared=(), **more):
    """With others `beside` it that want the same memory; or `declared`: the period and the WCET of who is killed, and
    of who comes next."""
    seen = []
    others = [Client("other", 8, FOREVER) for _ in range(beside)]
    for _ in range(times):
        client = Client("victim", 8, FOREVER, *declared, at=at, **more)
        when = client.crashed()
        if when is None:
            complain(f"{at}: it did not come there: {client.said.text()}")
        if (code := client.end()) != -signal.SIGKILL:
            complain(f"{at}: it ended with {code}")
        if when:
            seen.append(daemon.learnt_of_end(client, when))
    for other in others:
        kill(other, seen)
    note(f"killed: {at}", seen)
    goes_on(at, *declared)


def kill(client, seen):
    when = time.monotonic_ns()
    client.process.kill()
    seen.append(daemon.learnt_of_end(client, when))
    client.end()


def lives_on(what, other):
    """And works."""
    time.sleep(0.2)
    if other.process.poll() is not None:
        complain(f"{what}: another one ended with {other.process.returncode}: {other.out.text()} {other.said.text()}")
    kill(other, [])


def killed_while(what, at, victims):
    """While another one pauses at `at`, which keeps them where they are."""
    seen = []
    for _ in range(4):
        others = [Client("victim", 8, FOREVER) for _ in range(victims)]
        holder = Client("holder", 8, FOREVER, at=at, by="pause", CRASH_PAUSE_MS=150)
        if holder.crashed() is None:
            complain(f"{what}: the other one did not come to its point")
        time.sleep(0.02)
        for victim in others:
            kill(victim, seen)
        lives_on(what, holder)
    note(f"killed: {what}", seen)
    goes_on(what)


def promised_to_one_at_a_time():
    """Whoever hangs, but for the thread that carries out commands, keeps what is promised."""
    client = Client("victim", 8, FOREVER, *MOST, at="received-declared", by="hang")
    if client.crashed() is None:
        complain(f"hang: received-declared: it did not come there: {client.out.text()}")
    second = Client("second", 8, 1, *MOST)
    if second.end() != 3 or not second.out.find("not declared: in the best split found", 1):
        complain(f"a second one is promised as much: {second.out.text()}")
    kill(client, [])
    goes_on("hang: received-declared", *MOST)


def ended_by_daemon(at, by, why, *declared):
    client, other = Client("victim", 8, FOREVER, *declared, at=at, by=by), Client("other", 8, FOREVER)
    if client.crashed() is None:
        complain(f"{by}: {at}: it did not come there")
    found = daemon.said.find(rf"victim is ended: {why}", 60)
    begun = client.crashed() or 0
    code = client.end()
    if not found or code != -signal.SIGKILL:
        complain(f"{by}: {at}: it ended with {code}: {daemon.said.text()[-500:]}")
    lives_on(f"{by}: {at}", other)
    daemon.said.lines = [each for each in daemon.said.lines if "victim is ended" not in each[1]]
    print(f"{by + ': ' + at:36} ended after {(found[0] - begun) / 1e6 if found else 0:.0f} ms: {why}", flush=True)
    goes_on(f"{by}: {at}", *declared)


def stopped_and_idle(at):
    """Nobody waits for one that is stopped and holds nothing, until it is killed."""
    client = Client("victim", 8, FOREVER, at=at, by="stop")
    if client.crashed() is None:
        complain(f"stop: {at}: it did not come there")
    other = Client("other", 8, 20)
    if other.end() != 0:
        complain(f"stop: {at}: another one ended with {other.process.returncode}")
    seen = []
    kill(client, seen)
    note(f"stop, then killed: {at}", seen)
    goes_on(f"stop: {at}")


os.chdir(work)
daemon = Daemon()
steady = [Steady("steady0"), Steady("steady1")]
for each in range(100):
    if daemon.said.find(r"is client 1", 1):
        break
try:
    killed("connected", 2)
    for kind, times in (("hello", 1), ("need_frame", 1), ("need_frame", 7), ("grow", 1)):
        for point in ("before", "half", "after"):
            killed(f"{point}-{kind}:{times}")
    for point in ("received-welcome", "received-frame:1", "received-frame:12", "received-grown:1", "received-grown:3"):
        killed(point)
    promised_to_one_at_a_time()
    for point in ("before-declare", "half-declare", "after-declare", "received-declared"):
        killed(point, declared=MOST)
    killed("load:3", beside=1)
    killed("save:3", beside=1)
    killed("kernel:40", beside=1)
    killed_while("staged, and waiting", "kernel:60", 2)
    killed_while("another one saves for it", "save:4", 1)
    killed("kernel:41", 3, CRASH_BALLAST_MIB=1024)
    for point in ("after-hello", "received-frame:3", "before-grow:1"):
        stopped_and_idle(point)
    for point in ("before-declare", "after-declare"):
        ended_by_daemon(point, "stop", "it did not carry out a command in time", *MOST)
    ended_by_daemon("load:4", "stop", "it did not carry out a command in time")
    ended_by_daemon("save:2", "stop", "it did not carry out a command in time")
    ended_by_daemon("kernel:50", "stop", "it held the device for too long")
    ended_by_daemon("kernel:51", "hang", "it held the device for too long")
finally:
    for each in steady:
        each.stopping = True
    for each in steady:
        each.thread.join()
for each in steady:
    print(f"{each.name}: {each.runs} times {each.jobs} jobs, the longest {each.longest:.0f} ms of {PERIOD}")
    if each.longest > PERIOD:
        complain(f"{each.name} was late by its own clock")
client = Client("whole", 22, 2)
if (code := client.end()) != 0:
    complain(f"one that takes all frames at once ended with {code}: {client.out.text()} {client.said.text()}")
daemon.process.terminate()
daemon.process.wait(60)
detected.sort()
at = lambda part: detected[min(len(detected) - 1, int(part * len(detected)))]
print(f"{len(detected)} ends were known after {at(0.5):.2f} ms (half of them), {at(0.99):.2f} ms (99 %), "
      f"{detected[-1]:.2f} ms (all)")
if at(0.5) > 10:
    complain("half of the ends were known after more than 10 ms")
os.chdir("/")
shutil.rmtree(work)
if problems:
    print(daemon.said.text())
    print("\n".join(problems))  # last: of a long log the end is shown
sys.exit(1 if problems else 0)
