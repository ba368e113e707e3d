// Merges the events of all streams of a trace in order of time. Each stream has an input port of its own, and the merge
// happens here, which costs less than libbabeltrace2's muxer. A stream that cannot be read further ends alone, and the
// others go on.
#pragma once

#include "traces/reading/reader.hpp"

namespace rtexec::traces {

class EventSink {
 public:
  virtual void event(const bt_event* event, Instant time) = 0;
  virtual void loss(const Loss& loss) = 0;
  [[nodiscard]] virtual bool stops() const { return false; }

 protected:
  ~EventSink() = default;
};

/// Passes the events of the recording in `folder` to `sink`. Returns the same errors as read_records().
[[nodiscard]] Result<ReadSummary> read_events(const std::filesystem::path& folder, EventSink& sink);

} // namespace rtexec::traces
