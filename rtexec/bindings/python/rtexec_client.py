"""Where the jobs of a program under rtexecd begin and end, for programs in Python: one file, nothing to build.

    import rtexec_client

    rtexec_client.declare(period=0.1, deadline=0.1, wcet=0.02)   # once a CUDA context is there

    with rtexec_client.job():
        outputs = model(inputs)

    @rtexec_client.job
    def detect(image): ...

Without librtexec-preload.so, or without a daemon, jobs are nothing, and declare() returns None.
"""
import contextlib
import ctypes
import functools
import inspect

OK, ABSENT, REFUSED, NOT_PROVED = range(4)
TELL, SKIP_NEXT, STOP = range(3)


class Error(Exception):
    """What the daemon refused, and why."""


class NotProved(Error):
    """A deadline that could not be promised: the text has the inequality and its numbers."""


class _Declaration(ctypes.Structure):
    _fields_ = [
        ("period_ns", ctypes.c_int64),
        ("deadline_ns", ctypes.c_int64),
        ("wcet_ns", ctypes.c_int64),
        ("priority", ctypes.c_int32),
        ("on_overrun", ctypes.c_int32),
    ]


def _library():
    program = ctypes.CDLL(None)
    try:
        program.rtexec_client_last_error.restype = ctypes.c_char_p
        program.rtexec_client_job_declare.argtypes = [ctypes.POINTER(_Declaration), ctypes.POINTER(ctypes.c_int64)]
    except AttributeError:
        return None
    return program


_preloaded = _library()


def _checked(code):
    if code in (OK, ABSENT):
        return code == OK
    text = _preloaded.rtexec_client_last_error().decode(errors="replace")
    raise (NotProved if code == NOT_PROVED else Error)(text)


def declare(period, deadline=None, wcet=None, priority=0, on_overrun=TELL):
    """Jobs come at least `period` seconds apart, end within `deadline` (the period) of their begin, and have the device
    for at most `wcet` (the deadline). Returns within which time they end, as it was promised; None: nobody promises."""
    deadline = period if deadline is None else deadline
    wcet = deadline if wcet is None else wcet
    if _preloaded is None:
        return None
    times = [round(seconds * 1e9) for seconds in (period, deadline, wcet)]
    bound = ctypes.c_int64()
    code = _preloaded.rtexec_client_job_declare(_Declaration(*times, priority, on_overrun), ctypes.byref(bound))
    return bound.value / 1e9 if _checked(code) else None


def begin():
    """Waits until the device is this process's. False: there is no daemon. Jobs nest: the outermost counts."""
    return _preloaded is not None and _checked(_preloaded.rtexec_client_job_begin())


def end():
    """Waits until the device has done what it was given, and gives it back."""
    return _preloaded is not None and _checked(_preloaded.rtexec_client_job_end())


_going_on = inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction


@contextlib.contextmanager
def _job():
    begin()
    try:
        yield
    finally:
        end()


def job(function=None):
    """A context manager, job(), or a decorator of a function, @job: not of one that goes on after it has returned."""
    if function is None:
        return _job()
    if any(is_one(function) for is_one in _going_on):
        raise TypeError(f"{function!r} goes on after it has returned: write `with job():` in it, around its work")

    @functools.wraps(function)
    def whole(*arguments, **named):
        with _job():
            return function(*arguments, **named)

    return whole
