#!/usr/bin/env python3
"""theorem1_milp.py FILE: the volumes that the search for theorem1 chose, against a MILP solver's optimum of RT-Swap's (1a) to (1d).

Each line of FILE is one set and our answer: V, in_fixed, in, out_fixed, out, n, then T C most of each task, then the sum of our volumes or -1. Times are
integers. HiGHS works with tolerances: an optimum of its that is not feasible in fractions is no counter-example, and neither is one of ours that differs
where (1d) holds with less than 10^-9 of each task to spare, to which our shares are rounded up.
"""
import sys
from fractions import Fraction

import highspy


def solve(overflow, in_fixed, into, out_fixed, out, tasks, margin=0.0):
    """Volumes, or None."""
    highs = highspy.Highs()
    highs.silent()
    inf = highspy.kHighsInf
    shortest = min(period for period, _, _ in tasks)
    executions = sorted((execution for _, execution, _ in tasks), reverse=True) + [0]
    n = len(tasks)
    for _, _, most in tasks:  # x
        highs.addVar(0, most)
    for _ in tasks:  # z: whether x > 0
        highs.addVar(0, 1)
    blocking = 2 * n
    highs.addVar(executions[0] + executions[1], inf)
    for i in range(2 * n):
        highs.changeColIntegrality(i, highspy.HighsVarType.kInteger)
    for i in range(n):
        highs.changeColCost(i, 1)
    for i, (_, execution, most) in enumerate(tasks):
        highs.addRow(-inf, 0, 2, [i, n + i], [1, -most])
        others = [j for j in range(n) if j != i]
        highs.addRow(overflow, inf, len(others), others, [1] * len(others))  # (1c)
        highs.addRow(0, inf, 3, [blocking, i, n + i], [1, -out, -out_fixed])
        highs.addRow(execution, inf, 3, [blocking, i, n + i], [1, -into, -in_fixed])
    columns, values, constant = [blocking], [1.0], 0.0
    for i, (period, execution, _) in enumerate(tasks):
        columns += [i, n + i]
        values += [(into + out) * shortest / period, (in_fixed + out_fixed) * shortest / period]
        constant += execution * shortest / period
    highs.addRow(-inf, (1 - margin) * shortest - constant, len(columns), columns, values)  # (1d), times min T
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_feasibility_tolerance", 1e-9)
    highs.setOptionValue("primal_feasibility_tolerance", 1e-9)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return [round(value) for value in highs.getSolution().col_value[:n]]


def left(volumes, in_fixed, into, out_fixed, out, tasks):
    """Of (3), exactly."""
    executions = sorted((execution for _, execution, _ in tasks), reverse=True) + [0]
    blocking = executions[0] + executions[1]
    total = Fraction(0)
    for x, (period, execution, _) in zip(volumes, tasks):
        load, save = (in_fixed + x * into, out_fixed + x * out) if x else (0, 0)
        blocking = max(blocking, save, load + execution)
        total += Fraction(save + load + execution, period)
    return total + Fraction(blocking, min(period for period, _, _ in tasks))


def main():
    same = infeasible = tolerance = rounding = wrong = 0
    for number, line in enumerate(open(sys.argv[1])):
        words = [int(word) for word in line.split()]
        overflow, *cost, n = words[:6]
        tasks = [tuple(words[6 + 3 * i: 9 + 3 * i]) for i in range(n)]
        ours = words[-1]
        best = solve(overflow, *cost, tasks)
        theirs = -1 if best is None else sum(best)
        if ours == theirs:
            same += 1
            infeasible += ours < 0
        elif best is not None and left(best, *cost, tasks) > 1:
            tolerance += 1
        elif best is not None and left(best, *cost, tasks) > 1 - Fraction(n + 1, 10**9):
            rounding += 1
        else:
            wrong += 1
            if wrong <= 3:
                print(f"set {number}: HiGHS {best}, our sum {ours}: {line}", end="")
    print(f"{same} the same, {infeasible} of them without solution; {tolerance} within the solver's tolerance, {rounding} within our rounding, {wrong} others")
    if wrong:
        sys.exit("our volumes are not the best")
    if same < 100 or tolerance + rounding > same // 100 or not 0 < infeasible < same:
        sys.exit("too few of each kind")


main()
