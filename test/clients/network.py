"""network.py NAME BATCH JOBS plain|graph|compile [PERIOD WCET]: a network of torchvision, seeded weights and inputs.

Nothing of it knows rtexec, but for a period: then jobs are declared, and begin and end where the program says. It
prints one line of JSON: a digest of all outputs, times, memory. MEMORY_MIB limits it by PyTorch's own means: where
there is more memory, libraries choose other algorithms, and outputs have other bits.
"""

import hashlib
import json
import os
import sys
import time

import torch
import torchvision

name, batch, jobs, mode = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
period, wcet = map(float, sys.argv[5:7]) if len(sys.argv) > 5 else (0, 0)
client = bool(os.environ.get("RTEXEC_CLIENT"))
if period and client:
    import rtexec_client

torch.manual_seed(1)
torch.use_deterministic_algorithms(True, warn_only=True)
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False

if memory := int(os.environ.get("MEMORY_MIB", 0)):
    torch.cuda.set_per_process_memory_fraction((memory << 20) / torch.cuda.get_device_properties(0).total_memory)
begin = time.perf_counter()
torch.zeros(1, device="cuda")
start_ms = (time.perf_counter() - begin) * 1e3

detector = hasattr(torchvision.models.detection, name)
if detector:
    build = getattr(torchvision.models.detection, name)
    model = build(weights=None, weights_backbone=None, min_size=480, max_size=640, box_score_thresh=0.01)
else:
    model = getattr(torchvision.models, name)(weights=None)
model = model.eval().cuda()
shape = (batch, 3, 480, 640) if detector else (batch, 3, 224, 224)
inputs = [torch.randn(shape, generator=torch.Generator().manual_seed(i)).pin_memory() for i in range(4)]


def tensors(outputs):
    return [outputs] if torch.is_tensor(outputs) else [each for one in outputs for each in one.values()]


with torch.no_grad():
    forward = torch.compile(model) if mode == "compile" else model
    image = inputs[0].cuda()
    argument = list(image) if detector else image
    for _ in range(3):
        outputs = forward(argument)
    torch.cuda.synchronize()
    graph = None
    if mode == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = forward(argument)

    bound = rtexec_client.declare(period, period, wcet) if period and client else None
    digest, times, late = hashlib.sha256(), [], 0
    release = time.perf_counter()
    for job in range(jobs):
        if period:
            release += period
            time.sleep(max(0.0, release - time.perf_counter()))
        begin = time.perf_counter()
        if period and client:
            rtexec_client.begin()
        image.copy_(inputs[job % 4], non_blocking=True)
        if graph:
            graph.replay()
        else:
            outputs = forward(argument)
        results = [each.cpu() for each in tensors(outputs)]
        if period and client:
            rtexec_client.end()
        times.append((time.perf_counter() - begin) * 1e3)
        late += bool(period) and times[-1] > period * 1e3
        for each in results:
            digest.update(each.numpy().tobytes())

times.sort()
print(
    json.dumps(
        {
            "digest": digest.hexdigest()[:16],
            "numbers": sum(each.numel() for each in results),
            "p50": times[len(times) // 2],
            "p99": times[int(len(times) * 0.99)],
            "max": times[-1],
            "late": late,
            "jobs": jobs,
            "start": start_ms,
            "reserved": torch.cuda.memory_reserved() >> 20,
            "bound": bound,
        }
    )
)
