"""report_perfetto.py FOLDER: reads run.perfetto-trace as Perfetto does, and holds it against expected.json."""
import json
import sys
from pathlib import Path

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

folder = Path(sys.argv[1])
expected = json.loads((folder / "expected.json").read_text())
trace = protos.Trace()
trace.ParseFromString((folder / "run.perfetto-trace").read_bytes())


def unknown(message):
    """Fields that the official descriptors do not know."""
    known = {field.number for field in message.DESCRIPTOR.fields}
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in [value] if hasattr(value, "ListFields") else value:
                yield from unknown(inner)
    copy = type(message)()
    copy.CopyFrom(message)
    copy.DiscardUnknownFields()
    if copy.ByteSize() != message.ByteSize():
        yield message.DESCRIPTOR.name, known


assert not list(unknown(trace)), "every field is known"
tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
processes = [t for t in tracks.values() if t.HasField("process")]
assert len(processes) == 1 and processes[0].process.process_name == "rtexec"
children = [t for t in tracks.values() if not t.HasField("process")]
assert all(t.parent_uuid == processes[0].uuid for t in children)
names = [t.name for t in sorted(children, key=lambda t: (t.sibling_order_rank, t.uuid))]
assert [name for name in dict.fromkeys(names) if "throttled" not in name] == expected["lanes"] + ["swapped memory"], names

# As trace_processor does: by time, of one time in the order of the file; an end closes the slice of its track that began last.
events = sorted((p for p in trace.packet if p.HasField("track_event")), key=lambda p: p.timestamp)
assert all(p.trusted_packet_sequence_id == 1 for p in trace.packet)
open_slices, bars, marks, memory = {}, [], [], []
for packet in events:
    event = packet.track_event
    track = tracks[event.track_uuid]
    if event.type == event.TYPE_SLICE_BEGIN:
        assert not open_slices.get(event.track_uuid), "slices of a track do not overlap"
        open_slices.setdefault(event.track_uuid, []).append((event.name, packet.timestamp))
    elif event.type == event.TYPE_SLICE_END:
        name, begin = open_slices[event.track_uuid].pop()
        bars.append([track.name, name, begin, packet.timestamp])
    elif event.type == event.TYPE_INSTANT:
        marks.append([track.name, event.name, packet.timestamp])
    else:
        assert event.type == event.TYPE_COUNTER and track.name == "swapped memory" and track.counter.unit == track.counter.UNIT_SIZE_BYTES
        memory.append([packet.timestamp, event.counter_value])
assert not any(open_slices.values()), "every slice has an end"
assert sorted(bars) == sorted(expected["bars"]), "every bar is a slice"
assert sorted(marks) == sorted(expected["marks"]), "every mark is an instant"
assert memory == expected["memory"], "every step is a count"
overlapping = [t for t in children if t.name == "front"]
assert len(overlapping) == 2, "a late job and the one after it are on tracks of one name"
print(f"{len(bars)} slices, {len(marks)} instants, {len(memory)} counts on {len(children)} tracks")
