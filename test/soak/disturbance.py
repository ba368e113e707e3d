"""Who else took the cores of a run between two looks: real-time threads of other programs, the hypervisor, and what
kept even a thread of the highest priority from its core."""
import ctypes
import mmap
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

ENOUGH_NS = 2_000_000  # to cost a job: less is told as none
REAL_TIME = (1, 2, 6)  # SCHED_FIFO, SCHED_RR, SCHED_DEADLINE
KERNEL_THREAD = 0x200000
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def why_no_fifo():
    """Why no process can be put above all others here; empty: one can."""
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, policy, parameter)
    except OSError as error:
        return f"SCHED_FIFO is refused: {error.strerror}"
    return ""


def threads():
    """Of all real-time threads that are not the kernel's: process, thread, name, core, nanoseconds executed."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/task/[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
            fields = rest.split()  # from the third field of proc(5) on
            if int(fields[38]) not in REAL_TIME or int(fields[6]) & KERNEL_THREAD:
                continue
            executed = int((stat.parent / "schedstat").read_text().split()[0])
            yield int(stat.parts[2]), int(stat.parts[4]), name.partition("(")[2], int(fields[36]), executed
        except (OSError, ValueError, IndexError):
            pass


def stolen(cores):
    """Nanoseconds that the hypervisor kept from these cores since the machine's start."""
    lines = (line.split() for line in open("/proc/stat") if line.startswith("cpu") and not line.startswith("cpu "))
    return sum(int(line[8]) * TICK_NS for line in lines if int(line[0][3:]) in cores)


WITNESS_PERIOD = 0.002
WITNESS_LATE_NS = 1_000_000


def witness(core, file):
    """Sleeps and wakes above all others on a core, and adds up there how late it was."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # ends with its parent
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
    with open(file, "r+b") as opened:
        page = mmap.mmap(opened.fileno(), 8)
    late, due = 0, time.monotonic_ns()
    while True:
        time.sleep(WITNESS_PERIOD)
        now = time.monotonic_ns()
        over = now - due - int(WITNESS_PERIOD * 1e9)
        due = now
        if over >= WITNESS_LATE_NS:
            late += over
            struct.pack_into("q", page, 0, late)


class Machine:
    def __init__(self, process, folder):
        self.process = process
        self.cores = {core for owner, _, _, core, _ in threads() if owner == process} or os.sched_getaffinity(0)
        self.executed, self.stolen, self.late = {}, stolen(self.cores), 0
        self.witnesses = []
        self.no_witness = why_no_fifo()
        for core in [] if self.no_witness else self.cores:
            file = pathlib.Path(folder) / f"witness-{core}"
            file.write_bytes(bytes(8))
            self.witnesses.append((file, subprocess.Popen([sys.executable, __file__, str(core), str(file)],
                                                          stderr=subprocess.DEVNULL)))
        self.disturbance()

    def disturbance(self):
        """Since it was last asked: in words; empty: there was none."""
        found, executed = [], {}
        for owner, thread, name, core, so_far in threads():
            if owner == self.process or any(owner == witness.pid for _, witness in self.witnesses):
                continue
            executed[thread] = so_far
            if core in self.cores and so_far - self.executed.get(thread, 0) >= ENOUGH_NS:
                found.append(f"real-time threads of {self.program(owner, name)}")
        self.executed = executed
        now = stolen(self.cores)
        if now - self.stolen >= ENOUGH_NS:
            found.append("the hypervisor")
        self.stolen = now
        late = sum(struct.unpack("q", file.read_bytes())[0] for file, _ in self.witnesses)
        if late > self.late:
            found.append("what kept a thread of the highest priority waiting")
        self.late = late
        return " and ".join(sorted(set(found)))

    def end(self):
        for _, process in self.witnesses:
            process.kill()
            process.wait()

    @staticmethod
    def program(process, thread):
        try:
            return pathlib.Path(f"/proc/{process}/comm").read_text().strip()
        except OSError:
            return thread


if __name__ == "__main__":
    witness(int(sys.argv[1]), sys.argv[2])
