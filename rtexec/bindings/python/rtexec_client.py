"""Declares the beginning and the end of the jobs of a Python program under rtexecd. One file, nothing to build.

    import rtexec_client

    rtexec_client.declare(period=0.1, deadline=0.1, wcet=0.02)   # after a CUDA context is created

    with rtexec_client.job():
        outputs = model(inputs)

    @rtexec_client.job
    def detect(image): ...

Without librtexec-preload.so, or without a daemon, jobs have no effect, and declare() returns None.
"""
import contextlib
import ctypes
import functools
import inspect

OK, ABSENT, REFUSED, NOT_PROVED = range(4)
TELL, SKIP_NEXT, STOP = range(3)


class Error(Exception):
    """The daemon refused a request. The text has the request and the reason."""


class NotProved(Error):
    """The deadline could not be promised. The text has the inequality and its numbers."""


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
    """Declares that jobs begin at least `period` seconds apart, must end within `deadline` seconds of their beginning,
    and use the device for at most `wcet` seconds. Defaults: `deadline` is the period, `wcet` is the deadline. Returns
    the promised maximum time from a job's beginning to its end, in seconds. None: there is no promise."""
    deadline = period if deadline is None else deadline
    wcet = deadline if wcet is None else wcet
    if _preloaded is None:
        return None
    times = [round(seconds * 1e9) for seconds in (period, deadline, wcet)]
    bound = ctypes.c_int64()
    code = _preloaded.rtexec_client_job_declare(_Declaration(*times, priority, on_overrun), ctypes.byref(bound))
    return bound.value / 1e9 if _checked(code) else None


def begin():
    """Waits until this process owns the device. Returns False if there is no daemon. Calls may be nested: only the
    outermost pair of begin() and end() has an effect."""
    return _preloaded is not None and _checked(_preloaded.rtexec_client_job_begin())


def end():
    """Waits until the device has finished all work of this process, and releases the device."""
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
    """Returns a context manager, job(), or decorates a function, @job. The decorated function must not continue after
    it has returned, as generators and coroutines do."""
    if function is None:
        return _job()
    if any(is_one(function) for is_one in _going_on):
        raise TypeError(f"{function!r} goes on after it has returned: write `with job():` in it, around its work")

    @functools.wraps(function)
    def whole(*arguments, **named):
        with _job():
            return function(*arguments, **named)

    return whole
