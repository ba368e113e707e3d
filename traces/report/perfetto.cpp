#include "traces/report/perfetto.hpp"

#include "traces/report/export_names.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace rtexec::traces {
namespace {

/// A protobuf message in wire format. Its fields are in the order in which they were added.
class Message {
 public:
  Message& number(unsigned field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message& text(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(unsigned field, const Message& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Field numbers.
namespace trace {
constexpr unsigned packet = 1;
}
namespace packet {
constexpr unsigned timestamp = 8, sequence = 10, track_event = 11, sequence_flags = 13, track_descriptor = 60;
}
namespace track {
constexpr unsigned uuid = 1, name = 2, process = 3, parent = 5, counter = 8, child_ordering = 11, rank = 12;
}
namespace process {
constexpr unsigned pid = 1, name = 6;
}
namespace counter {
constexpr unsigned unit = 3;
}
namespace event {
constexpr unsigned annotation = 4, type = 9, track = 11, category = 22, name = 23, counter_value = 30;
}
namespace annotation {
constexpr unsigned number = 3, text = 6, name = 10;
}
// Values.
enum Type : std::uint64_t { slice_begin = 1, slice_end = 2, instant = 3, counter_value = 4 };
constexpr std::uint64_t state_cleared = 1, explicit_order = 3, unit_bytes = 3, process_uuid = 1;

std::uint64_t count_of(Instant at) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(at.time_since_epoch().count(), 0));
}

Message event_of(Type type, std::uint64_t uuid) {
  Message result;
  result.number(event::type, type).number(event::track, uuid);
  return result;
}

Message packet_of(Instant at, const Message& event) {
  Message result;
  result.number(packet::timestamp, count_of(at)).number(packet::sequence, 1).message(packet::track_event, event);
  return result;
}

/// Annotates an event with the bar's task and with the number of its job, buffer or tile.
void annotate(Message& event, std::span<const std::string> tasks, const GanttBar& bar) {
  using enum GanttBar::Kind;
  const auto number = [&](std::string_view of, std::uint64_t value) {
    event.message(event::annotation, Message().text(annotation::name, of).number(annotation::number, value));
  };
  if (bar.kind == throttled) return;
  event.message(event::annotation,
                Message().text(annotation::name, "task").text(annotation::text, task_name(tasks, bar.job.task)));
  if (bar.kind < load) return number("job", bar.job.number);
  if (bar.kind != load) number("buffer", bar.owner);
  if (bar.kind == prefetch || bar.kind == make) number("tile", bar.job.number);
}

} // namespace

PerfettoWriter::PerfettoWriter(std::ostream& out, const Gantt& about)
    : out_(out), tasks_(about.tasks), lanes_(about.lanes), tracks_(lanes_.size()) {
  Message descriptor;
  descriptor.number(track::uuid, next_uuid_++)
      .message(track::process, Message().number(process::pid, 1).text(process::name, "rtexec"));
  descriptor.number(track::child_ordering, explicit_order);
  write(Message()
            .number(packet::sequence, 1)
            .number(packet::sequence_flags, state_cleared)
            .message(packet::track_descriptor, descriptor)
            .bytes());
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) make_track(tracks_[lane].jobs, lane, lanes_[lane].name);
  if (about.memory_capacity == 0) return;
  memory_ = next_uuid_++;
  describe(memory_, "swapped memory", lanes_.size(), true);
}

void PerfettoWriter::write(std::string_view packet) { out_ << Message().text(trace::packet, packet).bytes(); }

void PerfettoWriter::describe(std::uint64_t uuid, std::string_view name, std::uint64_t rank, bool counts) {
  Message descriptor;
  descriptor.number(track::uuid, uuid)
      .text(track::name, name)
      .number(track::parent, process_uuid)
      .number(track::rank, rank);
  if (counts) descriptor.message(track::counter, Message().number(counter::unit, unit_bytes));
  write(Message().number(packet::sequence, 1).message(packet::track_descriptor, descriptor).bytes());
}

PerfettoWriter::Track& PerfettoWriter::make_track(std::vector<Track>& tracks, std::uint32_t lane,
                                                  const std::string& name) {
  tracks.push_back({.uuid = next_uuid_++});
  describe(tracks.back().uuid, name, lane, false);
  return tracks.back();
}

/// Returns the track of a bar. An end event closes the last slice that began on its track, so the slices of one track
/// must not overlap.
std::uint64_t PerfettoWriter::track_of(const GanttBar& bar) {
  const bool aside = bar.kind == GanttBar::Kind::throttled || bar.kind == GanttBar::Kind::preempted;
  auto& tracks = aside ? tracks_[bar.lane].aside : tracks_[bar.lane].jobs;
  const auto free = std::ranges::find_if(tracks, [&](const Track& track) { return track.busy_until <= bar.begin; });
  const std::string& of = lanes_[bar.lane].name;
  Track& track =
      free != tracks.end() ? *free : make_track(tracks, bar.lane, aside ? of + ", " + std::string(name(bar.kind)) : of);
  track.busy_until = bar.end;
  return track.uuid;
}

void PerfettoWriter::add(const GanttBar& bar) {
  if (bar.lane >= lanes_.size()) return;
  const std::uint64_t uuid = track_of(bar);
  Message begin = event_of(slice_begin, uuid);
  begin.text(event::category, name(bar.kind)).text(event::name, label(tasks_, bar));
  annotate(begin, tasks_, bar);
  write(packet_of(bar.begin, begin).bytes());
  write(packet_of(bar.end, event_of(slice_end, uuid)).bytes());
}

void PerfettoWriter::add(const GanttMark& mark) {
  const auto lane = std::ranges::find_if(
      lanes_, [&](const GanttLane& l) { return l.kind == GanttLane::Kind::task && l.index == mark.job.task; });
  if (lane == lanes_.end()) return;
  Message event = event_of(instant, tracks_[static_cast<std::size_t>(lane - lanes_.begin())].jobs.front().uuid);
  event.text(event::category, name(mark.kind)).text(event::name, label(tasks_, mark));
  write(packet_of(mark.at, event).bytes());
}

void PerfettoWriter::add(const GanttStep& step) {
  if (memory_)
    write(packet_of(step.at, event_of(counter_value, memory_).number(event::counter_value, step.bytes)).bytes());
}

} // namespace rtexec::traces
