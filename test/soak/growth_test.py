#!/usr/bin/env python3
"""The rule of growth.py on recorded series: one of a run, one of a program that leaked, and both disturbed."""
import json
import pathlib
import random
import unittest

import growth

RECORDED = pathlib.Path(__file__).resolve().parent / "recorded"


def recorded(name):
    return json.loads((RECORDED / name).read_text())


def grows(samples, figure):
    return growth.grows(samples, figure, 0, samples[-1]["at"])


def changed(samples, figure, by):
    """Each value raised by what `by` says of its time, as a share of the whole."""
    end = samples[-1]["at"]
    return [{**sample, figure: sample[figure] + by(sample["at"] / end)} for sample in samples]


class Growth(unittest.TestCase):
    def setUp(self):
        self.steady, self.leaking = recorded("steady.json"), recorded("leaking.json")

    def test_a_run_that_keeps_what_it_has_does_not_grow(self):
        for figure in growth.TOLERANCE.keys() & self.steady[0].keys():
            self.assertFalse(grows(self.steady, figure), figure)

    def test_a_leak_of_memory_descriptors_and_threads_is_growth(self):
        for figure in ("resident_kb", "anonymous_kb", "descriptors", "threads"):
            self.assertTrue(grows(self.leaking, figure), figure)

    def test_a_slow_leak_in_a_steady_run_is_growth(self):
        self.assertTrue(grows(changed(self.steady, "resident_kb", lambda at: 400 * at), "resident_kb"))
        self.assertTrue(grows(changed(self.steady, "descriptors", lambda at: int(8 * at)), "descriptors"))

    def test_one_step_is_no_growth_whenever_it_comes(self):
        for place in (0.1, 0.3, 0.5, 0.6, 0.74, 0.9):
            stepped = changed(self.steady, "resident_kb", lambda at: 4096 if at > place else 0)
            self.assertFalse(grows(stepped, "resident_kb"), place)

    def test_warming_up_is_no_growth(self):
        self.assertFalse(grows(changed(self.steady, "resident_kb", lambda at: min(at, 0.2) * 1e6), "resident_kb"))

    def test_outliers_are_no_growth(self):
        chance = random.Random(1)
        noisy = changed(self.steady, "resident_kb", lambda at: 50_000 * at if chance.random() < 0.1 else 0)
        self.assertFalse(grows(noisy, "resident_kb"))

    def test_shrinking_is_no_growth(self):
        self.assertFalse(grows(changed(self.steady, "resident_kb", lambda at: -9000 * at), "resident_kb"))

    def test_a_run_that_ended_early_is_not_judged(self):
        early = [sample for sample in self.leaking if sample["at"] < self.leaking[-1]["at"] / 2]
        self.assertFalse(growth.grows(early, "resident_kb", 0, self.leaking[-1]["at"]))


if __name__ == "__main__":
    unittest.main()
