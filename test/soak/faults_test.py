#!/usr/bin/env python3
"""What a soak starts ends with it, in whichever way it ends; what it says of a fault."""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import faults
import soak

HERE = pathlib.Path(__file__).resolve().parent


CHILD = """
import faults, os, time
if os.fork() == 0:
    {}
    print(os.getpid(), flush=True)
time.sleep(30)
"""


def lives(process):
    try:
        return ") Z " not in pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def ends(process):
    for _ in range(100):
        if not lives(process):
            return True
        time.sleep(0.05)
    return False


def ends_with_its_parent(child):
    """`child`: what a process does that its parent has made, up to its sleep."""
    parent = subprocess.Popen([sys.executable, "-c", CHILD.format(child)], cwd=HERE, stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    lived = lives(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    ended = ends(child)
    if not ended:
        os.kill(child, signal.SIGKILL)
    return lived and ended


class Helpers(unittest.TestCase):
    def test_a_helper_ends_with_its_parent(self):
        self.assertTrue(ends_with_its_parent("faults.end_with_parent()"))

    def test_one_that_becomes_another_user_does_too(self):
        self.assertTrue(ends_with_its_parent("faults.end_with_parent(); faults.become_somebody_else()"))


class GpuProcess(unittest.TestCase):
    def test_one_that_does_not_compute_is_told(self):
        class Soak:
            problems = []

        fault = faults.GpuProcess(Soak())
        fault.processes.append(faults.helper("no such role", output=subprocess.PIPE))
        fault.processes[0].wait()
        fault.end()
        self.assertIn("no process of another user computed", Soak.problems[0])


class RunThatEnded(unittest.TestCase):
    """While it was watched whether it goes on after a fault, as the machine's load had delayed that."""

    def outlived(self, seconds_before_its_time):
        ended = soak.Soak(argparse.Namespace(folder="/nonexistent", hours=1))
        ended.run = subprocess.Popen(["true"])
        ended.run.wait()
        ended.begun = time.monotonic() - ended.seconds + seconds_before_its_time
        ended.interval = 1
        return ended.goes_on()

    def test_at_its_time_outlived_the_fault(self):
        self.assertTrue(self.outlived(0))

    def test_before_its_time_did_not(self):
        self.assertFalse(self.outlived(60))


if __name__ == "__main__":
    unittest.main()
