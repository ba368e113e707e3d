"""Whether a series of samples grows: the rule by which a soak judges memory, descriptors and threads.

The samples of a run are divided into quarters by time. A series grows if the median of the third quarter is above that
of the second, and that of the fourth above that of the third, each by more than a tolerance. The first quarter is not
looked at: caches fill, threads start. One step, at whatever time, is no growth; a leak, and a staircase, is one.
"""
import statistics

# What a figure may rise by from quarter to quarter: a few pages of memory, no descriptor, no thread, nothing on a GPU.
TOLERANCE = {"resident_kb": 64, "anonymous_kb": 64, "locked_kb": 64, "gpu_kb": 0, "descriptors": 0, "threads": 0}


def quarters(samples, begin, end):
    """The samples (dicts with "at") of each quarter of the time from `begin` to `end`."""
    parts = [[], [], [], []]
    for sample in samples:
        place = int(4 * (sample["at"] - begin) / (end - begin)) if end > begin else 0
        parts[min(3, max(0, place))].append(sample)
    return parts


def medians(samples, figure, begin, end):
    """Of each quarter; None where it has no sample."""
    return [
        statistics.median(sample[figure] for sample in part) if part else None
        for part in quarters(samples, begin, end)
    ]


def grows(samples, figure, begin, end):
    _, second, third, fourth = medians(samples, figure, begin, end)
    if None in (second, third, fourth):
        return False
    tolerance = TOLERANCE[figure]
    return third - second > tolerance and fourth - third > tolerance
