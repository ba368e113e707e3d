// Reads a recorded trace (CTF) in order of time and in constant memory. Either decodes the trace into records and the
// set-up of the run, or passes the events on one by one. A damaged trace is read as far as possible; each stream is
// read to its own end. The summary names the missing parts.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "traces/reading/record.hpp"
#include "traces/reading/recorded_setup.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct bt_event; // type of libbabeltrace2

namespace rtexec::traces {

/// A loss of events: they happened, but the trace does not contain them. Causes are full buffers, packets that were
/// never written, and the lost parts of a damaged file. Events that a flight recorder overwrote before its first packet
/// do not count as lost.
struct Loss {
  /// The interval in which the lost events happened. min() means the beginning, max() the end of the recording
  Instant from = Instant::min(), to = Instant::max();
  std::uint64_t events = 0, packets = 0; // both 0: the number is unknown
};

struct Losses {
  std::uint64_t events = 0;
  std::uint64_t packets = 0;
};

/// Receives a trace in order of time. Its functions must not throw.
class RecordHandler {
 public:
  virtual void record(const Record& record) = 0;
  /// Called when the time of the records reaches the begin of the loss.
  virtual void loss(const Loss& loss) = 0;
  /// Checked before each event. If true, the reading ends.
  [[nodiscard]] virtual bool stops() const { return false; }

 protected:
  ~RecordHandler() = default;
};

struct ReadSummary {
  std::uint64_t events = 0;
  Losses lost;               // losses whose number is known
  bool lost_unknown = false; // true if events of unknown number were lost besides `lost`
  Instant first{}, last{};   // times of the first and of the last event
  std::string host;          // the host on which the trace was recorded; empty: unknown
  /// The time of the first event by that host's wall clock
  std::optional<std::chrono::sys_time<Duration>> began;
  /// Notes on missing parts of the trace, and on fields that the recording version of rtexec did not know
  std::vector<std::string> notes;
};

/// Reads the trace in `folder`. Fills `setup` from the set-up events, which all come before the first job_release.
/// Passes each event to `handler`; set-up events and events of other programs have RecordKind::other. Returns bad_input
/// if there is no trace, if there are several traces, or if nothing can be read. Returns refused if libbabeltrace2
/// lacks its plug-ins, or if there is no space for the temporary copy of a damaged file. Returns cancelled if `handler`
/// stopped the reading.
[[nodiscard]] Result<ReadSummary> read_records(const std::filesystem::path& folder, RunSetup& setup,
                                               RecordHandler& handler);

/// Reads a trace as read_records() does, but also accepts a daemon's recording, in which tasks come later: reads all
/// set-up events first. May be called any number of times with the same `setup`.
[[nodiscard]] Result<ReadSummary> read_with_setup(const std::filesystem::path& folder, RunSetup& setup,
                                                  RecordHandler& handler);

/// A recorded event. The event and its texts are valid only during the call that receives the event.
class RecordedEvent {
 public:
  RecordedEvent(const bt_event* event, Instant time);

  /// Returns the event's full name, for example "rtexec:job_release".
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// Returns the time of recording, on CLOCK_MONOTONIC.
  [[nodiscard]] Instant time() const noexcept { return time_; }
  /// Returns nullopt if the event has no such field, or if the field does not have the requested type. An enumeration
  /// can be read as an integer, and also as a text if its value has a name.
  [[nodiscard]] std::optional<std::int64_t> integer(const char* field) const;
  [[nodiscard]] std::optional<std::string_view> text(const char* field) const;

 private:
  const bt_event* event_;
  std::string_view name_;
  Instant time_;
};

/// Calls `each`, which must not throw, with every event under `folder`. Returns the same errors as read_records().
[[nodiscard]] Result<ReadSummary> read_trace(const std::filesystem::path& folder,
                                             const std::function<void(const RecordedEvent&)>& each);

struct Summary : ReadSummary {
  std::map<std::string, std::uint64_t, std::less<>> by_name; // "rtexec:job_release" -> count
};

[[nodiscard]] Result<Summary> summarize(const std::filesystem::path& folder);

} // namespace rtexec::traces
