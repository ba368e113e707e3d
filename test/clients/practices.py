"""practices.py JOBS SEED: what programs do with CUDA besides kernels, by its runtime, on memory that others want too.

Copies and fills in graphs, recorded and put together, textures over linear memory, copies of every kind, functions of
the host, events between streams. It prints one line of JSON: a digest of all results, times, memory.
"""

import ctypes
import hashlib
import json
import sys
import time

import torch

jobs, seed = int(sys.argv[1]), int(sys.argv[2])
ROWS, WORDS = 512, 1024
SIZE = ROWS * WORDS * 4
TO_DEVICE, FROM_DEVICE, WITHIN = 1, 2, 3

runtime = ctypes.CDLL("libcudart.so.13")
word, big = ctypes.c_uint, ctypes.c_size_t


def call(name, *arguments):
    code = getattr(runtime, name)(*arguments)
    if code != 0:
        sys.exit(f"{name} says {code}")


def at(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class MemsetParams(ctypes.Structure):
    _fields_ = [
        ("dst", ctypes.c_void_p),
        ("pitch", big),
        ("value", word),
        ("elementSize", word),
        ("width", big),
        ("height", big),
    ]


class ChannelDesc(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int), ("z", ctypes.c_int), ("w", ctypes.c_int), ("f", ctypes.c_int)]


class ResourceDesc(ctypes.Structure):
    """cudaResourceDesc of linear memory; its union is larger."""

    _fields_ = [
        ("kind", ctypes.c_int),
        ("pointer", ctypes.c_void_p),
        ("channels", ChannelDesc),
        ("bytes", big),
        ("rest", ctypes.c_char * 128),
    ]


class TextureDesc(ctypes.Structure):
    _fields_ = [("all", ctypes.c_int * 32)]


def texture(memory):
    resource = ResourceDesc(2, memory.data_ptr(), ChannelDesc(32, 0, 0, 0, 2), memory.numel() * 4)
    made = ctypes.c_ulonglong()
    call("cudaCreateTextureObject", ctypes.byref(made), ctypes.byref(resource), ctypes.byref(TextureDesc()), None)
    return made.value


def put_together(source, to, host):
    """A graph of a fill and of copies, made node by node."""
    graph, nodes = ctypes.c_void_p(), [ctypes.c_void_p() for _ in range(3)]
    call("cudaGraphCreate", ctypes.byref(graph), 0)
    fill = MemsetParams(to.data_ptr(), 0, 0x40400000, 4, to.numel(), 1)
    call("cudaGraphAddMemsetNode", ctypes.byref(nodes[0]), graph, None, big(0), ctypes.byref(fill))
    copies = ((to, source, WITHIN), (host, to, FROM_DEVICE))
    for i, (there, here, kind) in enumerate(copies):
        call(
            "cudaGraphAddMemcpyNode1D",
            ctypes.byref(nodes[i + 1]),
            graph,
            ctypes.byref(nodes[i]),
            big(1),
            at(there),
            at(here),
            big(SIZE // 2 if kind == WITHIN else SIZE),
            kind,
        )
    made = ctypes.c_void_p()
    call("cudaGraphInstantiate", ctypes.byref(made), graph, ctypes.c_ulonglong(0))
    return made


torch.manual_seed(seed)
ballast = torch.full((700 << 18,), float(seed), device="cuda")
source, to, other = (torch.rand((ROWS, WORDS), device="cuda") for _ in range(3))
images = [torch.rand((ROWS, WORDS)).pin_memory() for _ in range(4)]
host = torch.empty((ROWS, WORDS)).pin_memory()
sample = torch.cuda._compile_kernel(
    """extern "C" __global__ void sample(const unsigned long long* texture, float* to, int count) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < count) to[i] += tex1Dfetch<float>(texture[0], count - 1 - i);
    }""",
    "sample",
)
handles = torch.tensor([texture(source)], dtype=torch.int64, device="cuda")
image = images[0].clone().pin_memory()
side = torch.cuda.Stream()

torch.cuda.synchronize()
recorded = torch.cuda.CUDAGraph()
with torch.cuda.graph(recorded):
    source.copy_(image, non_blocking=True)
    to.zero_()
    to.add_(source)
    other.copy_(to)
    host.copy_(other, non_blocking=True)
torch.cuda.synchronize()
time.sleep(1)  # others have the device: what follows is made over memory that is not there
built = put_together(source, to, host)
late = texture(other)
called = []
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
count_call = HOST_FUNCTION(lambda _: called.append(1))

digest, times = hashlib.sha256(), []
for job in range(jobs):
    begin = time.perf_counter()
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    image.copy_(images[job % 4])
    recorded.replay()
    sample((ROWS * WORDS // 256, 1, 1), (256, 1, 1), (handles, to, ROWS * WORDS))
    call("cudaLaunchHostFunc", stream, count_call, None)
    torch.cuda.synchronize()
    digest.update(host.numpy().tobytes())
    time.sleep(0.02)
    call("cudaGraphLaunch", built, stream)
    torch.cuda.synchronize()
    digest.update(host.numpy().tobytes())
    handles.fill_(late)
    time.sleep(0.02)
    sample((ROWS * WORDS // 256, 1, 1), (256, 1, 1), (handles, to, ROWS * WORDS))
    event = torch.cuda.Event()
    event.record()
    side.wait_event(event)
    call(
        "cudaMemcpy2DAsync",
        at(host),
        big(WORDS * 4),
        at(to),
        big(WORDS * 4),
        big(WORDS * 2),
        big(ROWS),
        FROM_DEVICE,
        ctypes.c_void_p(side.cuda_stream),
    )
    side.synchronize()
    time.sleep(0.02)
    call("cudaMemset2D", at(other), big(WORDS * 4), job, big(WORDS), big(ROWS))
    time.sleep(0.02)
    call("cudaMemcpy", at(to), at(other), big(SIZE), WITHIN)
    handles.fill_(texture(source))
    digest.update(host.numpy().tobytes())
    digest.update(to.sum(dtype=torch.float64).cpu().numpy().tobytes())
    times.append((time.perf_counter() - begin) * 1e3)
if len(called) != jobs or not bool((ballast == float(seed)).all()):
    sys.exit("functions of the host were not called, or contents were lost")

times.sort()
print(
    json.dumps(
        {
            "digest": digest.hexdigest()[:16],
            "p50": times[len(times) // 2],
            "p99": times[int(len(times) * 0.99)],
            "max": times[-1],
            "late": 0,
            "jobs": jobs,
            "reserved": torch.cuda.memory_reserved() >> 20,
        }
    )
)
