// A run as a Perfetto trace: ui.perfetto.dev and trace_processor open it. A track per lane of a Gantt, with a slice per
// bar and an instant per mark, and a counter of the swapped memory in use.
//
// Format: Perfetto's public protobuf messages (protos/perfetto/trace/trace_packet.proto and track_event/), whose field
// numbers do not change. Streams, in constant memory: what is added is written at once. Readers sort by time, so that
// it is enough to add bars in the order of their ends.
#pragma once

#include "traces/analysis/gantt.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::traces {

class PerfettoWriter {
 public:
  /// Of `about` the tasks, the lanes and whether memory is swapped (memory_capacity) are taken, nothing else. `out`
  /// outlives the writer; whether it took everything is the caller's to ask.
  PerfettoWriter(std::ostream& out, const Gantt& about);

  /// Bars of a lane that overlap are put on tracks of one name, which Perfetto shows as one; where a core is throttled,
  /// or a job preempted on the device, they have tracks of their own.
  void add(const GanttBar& bar);
  void add(const GanttMark& mark);
  void add(const GanttStep& step);

 private:
  struct Track {
    std::uint64_t uuid = 0;
    Instant busy_until = Instant::min();
  };
  /// Of one lane.
  struct Tracks {
    std::vector<Track> jobs, aside;
  };

  Track& make_track(std::vector<Track>& tracks, std::uint32_t lane, const std::string& name);
  [[nodiscard]] std::uint64_t track_of(const GanttBar& bar);
  void describe(std::uint64_t uuid, std::string_view name, std::uint64_t rank, bool counter);
  void write(std::string_view packet);

  std::ostream& out_;
  std::vector<std::string> tasks_;
  std::vector<GanttLane> lanes_;
  std::vector<Tracks> tracks_; // by lane
  std::uint64_t next_uuid_ = 1;
  std::uint64_t memory_ = 0; // its track
};

} // namespace rtexec::traces
