"""exchange.py MIB JOBS FILE: has the device in turns with another such process, each with MIB of memory; writes when
it asked, was granted, and had done.
exchange.py limit MIB: how long as many bytes take each way at once, by chunks of 64 MiB, between page-locked memory and
the device.
exchange.py saver MIB: the same process gives its memory to the host and takes it back, by torch_memory_saver.
"""

import json
import sys
import time

import torch


def take_turns(mib, jobs, file):
    import rtexec_client

    memory = torch.full((mib << 18,), 3.0, device="cuda")
    torch.cuda.synchronize()
    log = []
    for _ in range(jobs):
        asked = time.monotonic()
        rtexec_client.begin()
        granted = time.monotonic()
        memory.add_(1.0)
        torch.cuda.synchronize()
        time.sleep(0.03)  # the other asks meanwhile
        log.append((asked, granted, time.monotonic()))
        rtexec_client.end()
    with rtexec_client.job():
        right = all(each.item() == 3.0 + jobs for each in (memory.min(), memory.max()))
    json.dump({"right": right, "log": log}, open(file, "w"))


def limit(mib):
    count, size = mib // 64, 64 << 20
    host = [torch.empty(size, dtype=torch.uint8).pin_memory() for _ in range(2 * count)]
    device = [torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2 * count)]
    there, back = torch.cuda.Stream(), torch.cuda.Stream()
    times = []
    for _ in range(12):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for i in range(count):
            with torch.cuda.stream(there):
                device[i].copy_(host[i], non_blocking=True)
            with torch.cuda.stream(back):
                host[count + i].copy_(device[count + i], non_blocking=True)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    print(sorted(times[2:])[5])


def saver(mib):
    from torch_memory_saver import torch_memory_saver

    with torch_memory_saver.region(tag="memory", enable_cpu_backup=True):
        memory = torch.full((mib << 18,), 3.0, device="cuda")
    torch.cuda.synchronize()
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        torch_memory_saver.pause("memory")
        torch_memory_saver.resume("memory")
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    if not bool((memory == 3.0).all()):
        sys.exit("torch_memory_saver lost the contents")
    print(sorted(times)[2])


if sys.argv[1] in ("limit", "saver"):
    {"limit": limit, "saver": saver}[sys.argv[1]](int(sys.argv[2]))
else:
    take_turns(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
