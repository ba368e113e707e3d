"""darknet.py weights CFG FILE: seeded weights for a network of Darknet; activations neither vanish nor overflow.
darknet.py run FOLDER CFG FILE JOBS: Darknet's own library, FOLDER/libdarknet.so, executes it; it prints a line of JSON.

The library is that of github.com/pjreddie/darknet, built from its unmodified source:
  make GPU=1 ARCH="-gencode arch=compute_90,code=sm_90" CFLAGS="-w -fPIC -Ofast -DGPU
  -DcudaThreadSynchronize=cudaDeviceSynchronize" LDFLAGS="-lm -pthread -L/usr/local/cuda/lib64 -lcuda -lcudart -lcublas
  -lcurand -lstdc++" libdarknet.so
"""

import ctypes
import hashlib
import json
import pathlib
import struct
import sys
import time

import numpy

FLOATS = ctypes.POINTER(ctypes.c_float)


def layers(path):
    found = []
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            found.append((line[1:-1], {}))
        elif "=" in line:
            key, value = line.split("=", 1)
            found[-1][1][key.strip()] = value.strip()
    return found[1:]  # the first describes the input


def write_weights(path, file):
    """In the order in which Darknet reads them: biases, what batch normalization has, filters."""
    random = numpy.random.default_rng(1)
    channels, now = [], 3
    for kind, options in layers(path):
        if kind == "convolutional":
            filters, size, groups = (int(options.get(key, 1)) for key in ("filters", "size", "groups"))
            inputs = now // groups * size * size
            (random.standard_normal(filters, dtype=numpy.float32) * 0.1).tofile(file)
            if int(options.get("batch_normalize", 0)):
                for value in (0.7, 0.0, 1.0):  # scale, mean, variance
                    numpy.full(filters, value, numpy.float32).tofile(file)
            spread = numpy.float32((1.5 / inputs) ** 0.5)
            (random.standard_normal(inputs * filters, dtype=numpy.float32) * spread).tofile(file)
            now = filters
        elif kind == "route":
            now = sum(channels[int(each)] for each in options["layers"].split(","))
        channels.append(now)


def run(folder, cfg, weights, jobs):
    darknet = ctypes.CDLL(str(pathlib.Path(folder, "libdarknet.so").resolve()))
    darknet.load_network.restype = ctypes.c_void_p
    darknet.load_network.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
    darknet.set_batch_network.argtypes = [ctypes.c_void_p, ctypes.c_int]
    darknet.network_predict.restype = FLOATS
    darknet.network_predict.argtypes = [ctypes.c_void_p, FLOATS]
    for size in (darknet.network_width, darknet.network_height, darknet.network_outputs):
        size.argtypes = [ctypes.c_void_p]
    network = darknet.load_network(cfg.encode(), weights.encode(), 0)
    darknet.set_batch_network(network, 1)
    pixels = 3 * darknet.network_width(network) * darknet.network_height(network)
    outputs = darknet.network_outputs(network)
    digest, times = hashlib.sha256(), []
    for job in range(jobs):
        image = numpy.random.default_rng(job).random(pixels, dtype=numpy.float32)
        begin = time.perf_counter()
        result = darknet.network_predict(network, image.ctypes.data_as(FLOATS))
        times.append((time.perf_counter() - begin) * 1e3)
        result = numpy.ctypeslib.as_array(result, (outputs,))
        if not numpy.isfinite(result).all() or result.std() == 0:
            raise SystemExit("the outputs are no numbers to compare")
        digest.update(result.tobytes())
    times.sort()
    print(
        json.dumps(
            {
                "digest": digest.hexdigest()[:16],
                "numbers": outputs,
                "p50": times[len(times) // 2],
                "p99": times[int(len(times) * 0.99)],
                "max": times[-1],
                "late": 0,
                "jobs": jobs,
            }
        )
    )


if sys.argv[1] == "weights":
    with open(sys.argv[3], "wb") as out:
        out.write(struct.pack("<iiiQ", 0, 2, 0, 0))
        write_weights(pathlib.Path(sys.argv[2]), out)
else:
    run(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
