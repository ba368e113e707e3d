#!/usr/bin/env python3
"""Loads a task set, plans and runs it through the C interface, and reads the report: control.py TASKS.toml"""
import ctypes
import json
import sys

library = ctypes.CDLL("librtexec.so.0")


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("what", ctypes.c_char * 4096)]


class Miss(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("task", ctypes.c_char_p), ("job", ctypes.c_uint64),
                ("response_ns", ctypes.c_int64), ("deadline_ns", ctypes.c_int64)]


OnMiss = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Miss))


class Setup(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("force", ctypes.c_bool), ("workloads", ctypes.c_void_p),
                ("workload_count", ctypes.c_size_t), ("on_miss", OnMiss), ("context", ctypes.c_void_p)]


def function(name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


handle, text, error_out = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(Error)
load = function("rtexec_load", handle, text, error_out)
create = function("rtexec_create", handle, handle, ctypes.POINTER(Setup), error_out)
plan_of = function("rtexec_executive_plan", handle, handle)
plan_json = function("rtexec_plan_json", text, handle)
start = function("rtexec_start", ctypes.c_int, handle, error_out)
wait = function("rtexec_wait", ctypes.c_bool, handle, ctypes.c_int64)
stop = function("rtexec_stop", text, handle, error_out)
free_executive = function("rtexec_executive_free", None, handle)
free_task_set = function("rtexec_task_set_free", None, handle)


def main(file):
    error = Error()

    def insist(fine):
        if not fine:
            sys.exit(error.what.decode())
        return fine

    tasks = insist(load(file.encode(), error))
    late = OnMiss(lambda _, miss: print(f"job {miss.contents.job} of {miss.contents.task.decode()} was late"))
    executive = insist(create(tasks, Setup(size=ctypes.sizeof(Setup), on_miss=late), error))
    print("plan:", json.loads(plan_json(plan_of(executive)))["verdict"])
    insist(start(executive, error) == 0)
    wait(executive, -1)
    for task in json.loads(insist(stop(executive, error)))["tasks"]:
        print(f"{task['name']}: {task['completed']} jobs, longest response {task['response_ns']['max'] / 1e6} ms")
    free_executive(executive)
    free_task_set(tasks)


if __name__ == "__main__":
    main(sys.argv[1])
