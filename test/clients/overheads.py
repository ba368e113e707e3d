"""overheads.py: what one process pays, with librtexec-preload.so or without: start, allocation, job.
overheads.py turns: for each line of its input, the medians of some jobs, as JSON.
"""

import ctypes
import json
import os
import sys
import time

import torch
import torchvision

client = bool(os.environ.get("RTEXEC_CLIENT"))


def figures(times, scale=1e-3):
    times = sorted(times)
    p50, p99 = (times[min(len(times) - 1, int(len(times) * share))] * scale for share in (0.5, 0.99))
    mean = sum(times) / len(times) * scale
    return f"mean {mean:.2f}  p50 {p50:.2f}  p99 {p99:.2f}  max {times[-1] * scale:.2f}"


def host_mib():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines["VmRSS"].split()[0]) >> 10


def timed(function, times):
    begin = time.perf_counter_ns()
    function()
    times.append(time.perf_counter_ns() - begin)


def costs():
    begin = time.perf_counter()
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    print(f"  start of CUDA {(time.perf_counter() - begin) * 1e3:.0f} ms, host memory {host_mib()} MiB")

    runtime = ctypes.CDLL("libcudart.so.13")
    runtime.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
    runtime.cudaFree.argtypes = [ctypes.c_void_p]
    for size in (4096, 2 << 20, 20 << 20):
        allocations, frees = [], []
        for _ in range(30):
            pointers = [ctypes.c_void_p() for _ in range(10)]
            for pointer in pointers:
                timed(lambda: runtime.cudaMalloc(ctypes.byref(pointer), size), allocations)
                if not pointer.value:
                    sys.exit("out of memory")
            for pointer in pointers:
                timed(lambda: runtime.cudaFree(pointer), frees)
        # In the first round the arena grows.
        print(
            f"  cudaMalloc of {size >> 10} KiB {figures(allocations[10:])}, of the first ten max "
            f"{max(allocations[:10]) * 1e-3:.0f}; cudaFree {figures(frees[10:])} us"
        )

    if client:
        import rtexec_client

        begins, ends = [], []
        for _ in range(3000):
            timed(rtexec_client.begin, begins)
            timed(rtexec_client.end, ends)
            time.sleep(0.0003)
        print(f"  request to grant {figures(begins)} us; end {figures(ends)} us")
    else:  # as RT-Swap's library and scheduler speak
        there, back = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.close(there[1])  # so that it ends with the other side
            while os.read(there[0], 1):
                os.write(back[1], b"x")
            os._exit(0)
        trips = []
        for _ in range(3000):
            timed(lambda: (os.write(there[1], b"x"), os.read(back[0], 1)), trips)
            time.sleep(0.0003)
        print(f"  round trip through two pipes {figures(trips)} us")


def turns():
    torch.backends.cudnn.deterministic = True
    kinds = {}
    with torch.no_grad():
        word = torch.zeros(1, device="cuda")

        def launches():
            for _ in range(1000):
                word.add_(1)
            word.cpu()

        kinds["1000 launches"] = (launches, 5)
        for name, batch, jobs in (("resnet50", 1, 15), ("resnet152", 16, 7)):
            network = getattr(torchvision.models, name)(weights=None).eval().cuda()
            image = torch.randn(batch, 3, 224, 224).pin_memory()

            def job(network=network, image=image, there=image.cuda()):
                there.copy_(image, non_blocking=True)
                network(there).cpu()

            kinds[f"{name}, batch {batch}"] = (job, jobs)
        for job, _ in kinds.values():
            for _ in range(20):
                job()
        print("ready", flush=True)
        # Another such process takes turns with this one, on the same core
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        for _ in sys.stdin:
            medians = {}
            for kind, (job, jobs) in kinds.items():
                times = []
                job()
                for _ in range(jobs):
                    timed(job, times)
                medians[kind] = sorted(times)[len(times) // 2] * 1e-6
            print(json.dumps(medians), flush=True)


turns() if sys.argv[1:] == ["turns"] else costs()
