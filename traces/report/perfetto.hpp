// Writes a run as a Perfetto trace, which ui.perfetto.dev and trace_processor open. Each lane of a Gantt is a track,
// each bar a slice, each mark an instant; a counter shows the swapped memory in use.
//
// Format: Perfetto's public protobuf messages (protos/perfetto/trace/trace_packet.proto and track_event/), whose field
// numbers do not change. The writer streams in constant memory: each added bar, mark or step is written at once.
// Readers sort by time, so bars may be added in the order of their ends.
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
  /// Uses only the tasks, the lanes and the memory_capacity of `about`; a memory_capacity above 0 means that memory is
  /// swapped. `out` must outlive the writer. The caller must check `out` for errors.
  PerfettoWriter(std::ostream& out, const Gantt& about);

  /// Writes a bar. Overlapping bars of a lane are on several tracks of one name, which Perfetto shows as one track.
  /// Bars of a throttled core, and of a job preempted on the device, have separate tracks.
  void add(const GanttBar& bar);
  void add(const GanttMark& mark);
  void add(const GanttStep& step);

 private:
  struct Track {
    std::uint64_t uuid = 0;
    Instant busy_until = Instant::min();
  };
  /// The tracks of one lane.
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
  std::uint64_t memory_ = 0; // ID of the track of the swapped memory
};

} // namespace rtexec::traces
