// Merges the events of all streams of a trace in order of time. Each stream has its own input port, and this code
// merges the streams, which costs less than libbabeltrace2's muxer. If a stream becomes unreadable, only that stream
// ends; the reading of all other streams continues.
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
