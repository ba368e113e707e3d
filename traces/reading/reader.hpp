// Reads a recorded trace (CTF) back in order of time, in constant memory: decoded into records beside the set-up of the
// run, or event by event. A damaged trace is read as far as it goes, each stream to its own end, and what is missing is
// said.
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

struct bt_event; // of libbabeltrace2

namespace rtexec::traces {

/// Events that happened and are not in the trace: those that a full buffer refused, packets that were never written,
/// and what a damaged file no longer holds. What a flight recorder overwrote before its first packet is none.
struct Loss {
  /// Between which they happened; min(), max(): the beginning, the end of the recording
  Instant from = Instant::min(), to = Instant::max();
  std::uint64_t events = 0, packets = 0; // both 0: nobody knows how many
};

struct Losses {
  std::uint64_t events = 0;
  std::uint64_t packets = 0;
};

/// Takes a trace in order of time. Its functions must not throw.
class RecordHandler {
 public:
  virtual void record(const Record& record) = 0;
  /// Given when the time of the records reaches its begin.
  virtual void loss(const Loss& loss) = 0;
  /// Asked before each event: true ends the reading.
  [[nodiscard]] virtual bool stops() const { return false; }

 protected:
  ~RecordHandler() = default;
};

struct ReadSummary {
  std::uint64_t events = 0;
  Losses lost;               // of known number
  bool lost_unknown = false; // others were lost whose number nobody knows
  Instant first{}, last{};   // times of the first and of the last event
  std::string host;          // that recorded it; empty: not known
  /// Of the first event, by that host's wall clock
  std::optional<std::chrono::sys_time<Duration>> began;
  /// What is missing from the trace, or not known to the version that recorded it
  std::vector<std::string> notes;
};

/// Fills `setup` as its events are met, all before the first job_release, and gives each event of `folder` to
/// `handler`: those of the set-up, and those that are not ours, as RecordKind::other. bad_input: there is no trace,
/// there are several, or nothing can be read. refused: libbabeltrace2 lacks its plug-ins, or there is no room for the
/// temporary copy of a damaged file. cancelled: `handler` stopped it.
[[nodiscard]] Result<ReadSummary> read_records(const std::filesystem::path& folder, RunSetup& setup,
                                               RecordHandler& handler);

/// The same, of a daemon's recording too, where tasks come later: its set-up is read to the end first. As often as it
/// is called with the same `setup`.
[[nodiscard]] Result<ReadSummary> read_with_setup(const std::filesystem::path& folder, RunSetup& setup,
                                                  RecordHandler& handler);

/// One recorded event; valid, with its texts, during the call that it is given to.
class RecordedEvent {
 public:
  RecordedEvent(const bt_event* event, Instant time);

  /// "rtexec:job_release", ...
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// When it was recorded, on CLOCK_MONOTONIC.
  [[nodiscard]] Instant time() const noexcept { return time_; }
  /// Absent where the event has no such field, or one of another type. An enumeration is an integer, and a text where
  /// its value has a name.
  [[nodiscard]] std::optional<std::int64_t> integer(const char* field) const;
  [[nodiscard]] std::optional<std::string_view> text(const char* field) const;

 private:
  const bt_event* event_;
  std::string_view name_;
  Instant time_;
};

/// Calls `each`, which must not throw, with every event under `folder`. Errors as of read_records().
[[nodiscard]] Result<ReadSummary> read_trace(const std::filesystem::path& folder,
                                             const std::function<void(const RecordedEvent&)>& each);

struct Summary : ReadSummary {
  std::map<std::string, std::uint64_t, std::less<>> by_name; // "rtexec:job_release" -> count
};

[[nodiscard]] Result<Summary> summarize(const std::filesystem::path& folder);

} // namespace rtexec::traces
