"""What a soak does to a run, one after the other. Each fault says for how long it lasts, what a run may miss because of
it, and undoes itself: by its end() or, if the soak is killed, because its processes die with their parent."""
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time

import disturbance

PDEATHSIG = 1
FIFO_ABOVE_ALL = 99
COMPUTES = "computes on the GPU"


def end_with_parent():
    ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)


def helper(*arguments, before=None, output=None):
    """This file as a process of its own, with a role of main()."""

    def prepare():
        end_with_parent()
        if before:
            before()

    return subprocess.Popen([sys.executable, __file__, *map(str, arguments)], preexec_fn=prepare, stdout=output,
                            stderr=subprocess.STDOUT if output else None)


class Fault:
    name = ""
    seconds = 10.0  # from begin() to end()
    may_miss = False  # jobs of real-time tasks, while it lasts
    ends_recording = False
    why = ""  # a run may miss jobs, or what is lost

    def __init__(self, soak):
        self.soak = soak
        self.processes = []

    def refusal(self):
        """Why it cannot be done here; empty: it can."""
        return ""

    def begin(self):
        raise NotImplementedError

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes = []


class Hog(Fault):
    """Computes on every core, without real-time priority."""

    name = "cpu-hog"

    def begin(self):
        for core in sorted(os.sched_getaffinity(0)):
            self.processes.append(helper("spin", before=lambda core=core: os.sched_setaffinity(0, {core})))


class HogAbove(Fault):
    """Computes above every thread of the run: the kernel gives it what the run was promised."""

    name = "hog-above"
    seconds = 0.3
    may_miss = True
    why = "it is more urgent than every thread of the run"

    def refusal(self):
        return disturbance.why_no_fifo()

    def begin(self):
        core = max(os.sched_getaffinity(0))

        def urgent():
            os.sched_setaffinity(0, {core})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIFO_ABOVE_ALL))

        self.processes.append(helper("spin", self.seconds, before=urgent))


class Stop(Fault):
    """Stops processes, and lets them go on."""

    def targets(self):
        raise NotImplementedError

    def begin(self):
        self.stopped = self.targets()
        for process in self.stopped:
            os.kill(process, signal.SIGSTOP)

    def end(self):
        for process in self.stopped:
            try:
                os.kill(process, signal.SIGCONT)
            except ProcessLookupError:
                pass


class StopNeighbours(Stop):
    """Stops who watches the run, and who writes its recording to disk."""

    name = "neighbours-stopped"
    seconds = 5.0

    def targets(self):
        return [self.soak.watcher.pid] + self.soak.daemons("lttng-consumerd")


class StopRun(Stop):
    """Stops the run itself."""

    name = "run-stopped"
    seconds = 1.0
    may_miss = True
    why = "a stopped process releases nothing"

    def targets(self):
        return [self.soak.run.pid]


class MemoryPressure(Fault):
    """Fills a share of the memory that is free, page by page."""

    name = "memory-pressure"

    def begin(self):
        available = next(
            int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemAvailable:")
        )
        self.processes.append(helper("fill", int(available * 1024 * self.soak.options.memory)))


class ClockStep(Fault):
    """Sets the machine's clock an hour forward, and back at once."""

    name = "clock-stepped"
    seconds = 0.0

    def refusal(self):
        if not self.soak.options.clock:
            return "not asked for: --clock (every program of the machine sees it)"
        try:
            time.clock_settime_ns(time.CLOCK_REALTIME, time.clock_gettime_ns(time.CLOCK_REALTIME))
        except OSError as error:
            return f"setting the clock is refused: {error.strerror}"
        return ""

    def begin(self):
        hour = 3600 * 10**9
        for step in (hour, -hour):
            time.clock_settime_ns(time.CLOCK_REALTIME, time.clock_gettime_ns(time.CLOCK_REALTIME) + step)


class GpuProcess(Fault):
    """Computes on the GPU in a process of another user."""

    name = "gpu-process"
    may_miss = True
    why = "processes take turns on a GPU, and none of them can be put above the other"

    def refusal(self):
        return "" if list(pathlib.Path("/dev").glob("nvidia[0-9]*")) else "no GPU"

    def begin(self):
        self.processes.append(helper("gpu", output=subprocess.PIPE))

    def end(self):
        process = self.processes[0]
        super().end()
        with process.stdout as output:
            said = output.read().decode().strip()
        if COMPUTES not in said:
            self.soak.problems.append(f"{self.name}: no process of another user computed: {said or 'it was too slow'}")


class DiskFull(Fault):
    """Fills the disk that the recording is written to."""

    name = "disk-full"
    seconds = 5.0
    ends_recording = True
    why = "LTTng gives up a file that it cannot write to"

    def refusal(self):
        return self.soak.no_small_disk

    def begin(self):
        self.ballast = self.soak.disk / "ballast"
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError:
                pass

    def end(self):
        self.ballast.unlink(missing_ok=True)


class KillDaemons(Fault):
    """Kills the session daemon of the run, and its consumer daemon."""

    name = "session-daemon-killed"
    seconds = 2.0
    ends_recording = True
    why = "nobody writes the recording any more"

    def refusal(self):
        return "" if self.soak.daemons("lttng-sessiond") else "the run has no session daemon of its own"

    def begin(self):
        for process in self.soak.daemons(""):
            os.kill(process, signal.SIGKILL)

    def end(self):
        pass


# In turn, as long as the run lasts; then each of those once.
IN_TURN = [Hog, HogAbove, StopNeighbours, StopRun, MemoryPressure, ClockStep, GpuProcess]
AT_THE_END = [DiskFull, KillDaemons]


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def fill(size):
    memory = bytearray(size)
    for at in range(0, size, 4096):
        memory[at] = 1
    time.sleep(3600)


def become_somebody_else():
    """Once Python runs: the other user may have no access to it."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        end_with_parent()  # is forgotten at a change of user


def use_gpu():
    become_somebody_else()
    cuda = ctypes.CDLL("libcuda.so.1")
    context, buffer = ctypes.c_void_p(), ctypes.c_uint64()
    size = 1 << 28
    if cuda.cuInit(0) or cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0):
        sys.exit("the GPU cannot be used")
    if cuda.cuMemAlloc_v2(ctypes.byref(buffer), ctypes.c_size_t(size)):
        sys.exit("the GPU has no memory left")
    told = False
    while True:
        for _ in range(64):
            cuda.cuMemsetD8_v2(buffer, ctypes.c_ubyte(1), ctypes.c_size_t(size))
        if cuda.cuCtxSynchronize():
            sys.exit("the GPU ended it")
        if not told:
            print(f"user {os.getuid()} {COMPUTES}", flush=True)
        told = True


def main(role, argument="3600"):
    if role == "spin":
        spin(float(argument))
    elif role == "fill":
        fill(int(argument))
    elif role == "gpu":
        use_gpu()


if __name__ == "__main__":
    main(*sys.argv[1:])
