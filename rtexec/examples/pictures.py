#!/usr/bin/env python3
"""Publishes pictures through iceoryx, receives the boxes of a detector, and draws them into boxes.png:

    rtexec model yolov3-tiny --size 160
    rtexec profile pictures.toml & python3 pictures.py 100; wait   # measures while pictures arrive; returns no boxes
    rtexec run pictures.toml & python3 pictures.py; wait

Needs only iceoryx (apt-get install iceoryx libiceoryx-binding-c2). <rtexec/message.h> describes the messages: a header
of 128 bytes, followed by the elements of one tensor."""
import ctypes
import struct
import sys
import time
import zlib

iceoryx = ctypes.CDLL("libiceoryx_binding_c.so.2")


def function(name, result, *arguments):
    found = getattr(iceoryx, name)
    found.restype, found.argtypes = result, arguments
    return found


handle, text, out, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32
set_log_level = function("iox_set_loglevel", None, ctypes.c_int)
register = function("iox_runtime_init", None, text)
publisher = function("iox_pub_init", handle, handle, text, text, text, handle)
loan = function("iox_pub_loan_aligned_chunk", ctypes.c_int, handle, out, size, size)
publish = function("iox_pub_publish_chunk", None, handle, handle)
has_subscribers = function("iox_pub_has_subscribers", ctypes.c_bool, handle)
end_publisher = function("iox_pub_deinit", None, handle)
subscriber = function("iox_sub_init", handle, handle, text, text, text, handle)
take = function("iox_sub_take_chunk", ctypes.c_int, handle, out)
release = function("iox_sub_release_chunk", None, handle, handle)
end_subscriber = function("iox_sub_deinit", None, handle)
LOANED, TAKEN = 8, 3  # AllocationResult_SUCCESS, ChunkReceiveResult_SUCCESS

# magic, version, element, rank, bytes, sampled_ns, released_ns, job, (reserved), shape; see rtexec/message.h
HEADER = struct.Struct("<IHBBQqqQ24x8Q")
MAGIC, VERSION, UINT8, FLOAT32 = 0x4D585452, 1, 1, 8
WIDTH, HEIGHT, NETWORK = 160, 120, 160


def picture(number):
    """Returns a picture with a bright square, whose position depends on the number: rows of red, green and blue."""
    at, side = number * 4 % 60, 60
    dark, bright = b"\x30\x40\x30" * WIDTH, bytearray(b"\x30\x40\x30" * WIDTH)
    bright[3 * at:3 * (at + side)] = b"\xf0\xe0\xd0" * side
    return bytearray(b"".join(bright if at <= y < at + side else dark for y in range(HEIGHT)))


def send(to, pixels):
    """Publishes a picture. Returns the time at which it was taken, which identifies the answer to this picture."""
    taken = time.monotonic_ns()
    chunk = ctypes.c_void_p()
    if loan(to, ctypes.byref(chunk), HEADER.size + len(pixels), 64) != LOANED:
        sys.exit("iceoryx has no memory for a picture")
    header = HEADER.pack(MAGIC, VERSION, UINT8, 3, len(pixels), taken, 0, 0,
                         HEIGHT, WIDTH, 3, 0, 0, 0, 0, 0)
    ctypes.memmove(chunk.value, header + bytes(pixels), HEADER.size + len(pixels))
    publish(to, chunk)
    return taken


def receive(source):
    """Returns the number of a job, the time at which its picture was taken, and its boxes: left, top, right, bottom,
    score, class. Returns None if no message has arrived, or if the message has no boxes."""
    chunk = ctypes.c_void_p()
    if take(source, ctypes.byref(chunk)) != TAKEN:
        return None
    header = ctypes.string_at(chunk.value, HEADER.size)
    magic, version, element, rank, length, sampled, _, job, *shape = HEADER.unpack(header)
    answer = None
    if (magic, version, element, rank, shape[1]) == (MAGIC, VERSION, FLOAT32, 2, 6):
        numbers = ctypes.string_at(chunk.value + HEADER.size, length)
        answer = job, sampled, list(struct.iter_unpack("<6f", numbers))
    release(source, chunk)
    return answer


def draw(pixels, boxes):
    """Draws boxes into a picture. Boxes are in pixels of the network's input, into which the picture was
    letterboxed."""
    scale = min(NETWORK / WIDTH, NETWORK / HEIGHT)
    margins = (NETWORK - WIDTH * scale) / 2, (NETWORK - HEIGHT * scale) / 2
    for box in boxes:
        left, top, right, bottom = (round((edge - margins[i % 2]) / scale) for i, edge in enumerate(box[:4]))
        left, right = max(left, 0), min(right, WIDTH) - 1
        top, bottom = max(top, 0), min(bottom, HEIGHT) - 1
        edges = [(x, y) for x in range(left, right + 1) for y in (top, bottom)]
        edges += [(x, y) for y in range(top, bottom + 1) for x in (left, right)]
        for x, y in edges:
            pixels[3 * (y * WIDTH + x):3 * (y * WIDTH + x) + 3] = b"\xff\x00\x00"


def write_png(file, pixels):
    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[3 * WIDTH * y:3 * WIDTH * (y + 1)] for y in range(HEIGHT))
    with open(file, "wb") as png:
        png.write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)) +
                  part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))


def main(count):
    set_log_level(0)  # off
    register(b"pictures")  # waits for iceoryx's daemon; a run starts the daemon if none runs
    storage = (ctypes.c_uint64 * 2)()  # of publisher and subscriber; must outlive both
    to = publisher(ctypes.byref(storage, 0), b"camera", b"front", b"pictures", None)
    source = subscriber(ctypes.byref(storage, 8), b"camera", b"front", b"boxes", None)
    while not has_subscribers(to):
        time.sleep(0.05)
    sent, answers = {}, 0
    for number in range(count):
        pixels = picture(number)
        sent[send(to, pixels)] = pixels
        until = time.monotonic() + 0.25
        while time.monotonic() < until:
            time.sleep(0.005)
            job, sampled, boxes = receive(source) or (None, None, [])
            if sampled not in sent:  # no answer to a known picture
                continue
            print(f"job {job}: {len(boxes)} boxes, {(time.monotonic_ns() - sampled) / 1e6:.0f} ms after the picture")
            pixels = sent.pop(sampled)
            draw(pixels, boxes)
            write_png("boxes.png", pixels)
            answers += 1
    print(f"{answers} answers to {count} pictures")
    end_subscriber(source)
    end_publisher(to)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
