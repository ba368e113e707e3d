// The common base of Session and FlightRecorder: an LTTng session that records the events of this process alone.
//
// The session has two channels: `setup` for events emitted once before the first job, and `events` for all other
// events. A flight recorder overwrites old events of `events` but keeps the set-up, which is needed to read them. The
// object owns the session, and also the daemon if it started the daemon. Set-up code: calls block for up to a few
// seconds. Not thread-safe.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "traces/reading/recording_mark.hpp"
#include "traces/recording/daemon.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::traces {

class LttngSession {
 public:
  enum class Keeps {
    all,
    latest
  }; // all: continuously writes all events to files; latest: keeps events in memory until snapshot()
  struct Options {
    Keeps keeps = Keeps::all;
    bool layers = false; // true: also records layer_info, layer_begin and layer_end
    Bytes buffer;        // size of all cores' ring buffers for `events` together
    // Maximum size of all files of `events`, at least `buffer`. Newer events overwrite older events. Absent: no limit
    std::optional<Bytes> limit = {};
  };

  /// Returns the same errors as Session::start().
  [[nodiscard]] static Result<LttngSession> start(const std::filesystem::path& folder, const Options& options);

  LttngSession(LttngSession&& other) noexcept;
  LttngSession& operator=(LttngSession&&) = delete;
  /// Ends the session, unless end() was called.
  ~LttngSession();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  /// Returns the number of events that always fit into the buffers of one core.
  [[nodiscard]] std::uint64_t events_at_once() const noexcept { return events_at_once_; }
  /// Waits until all recorded events are in files. Events emitted during the call are not recorded.
  [[nodiscard]] Result<> drain();
  /// Writes the events in memory into a new folder in folder(). The new folder's name begins with `name`. Flushes its
  /// files to the disk and returns the new folder.
  [[nodiscard]] Result<std::filesystem::path> snapshot(const std::string& name);
  /// Ends the recording. Afterwards all recorded events are in files. If start() started the daemon, the daemon has
  /// ended. Must be called only once.
  [[nodiscard]] Result<> end();

 private:
  LttngSession(Daemon daemon, std::filesystem::path folder) : daemon_(std::move(daemon)), folder_(std::move(folder)) {}
  [[nodiscard]] Result<> create(const Options& options);
  [[nodiscard]] Result<> write_out();

  std::optional<Daemon> daemon_; // absent after end()
  RecordingMark mark_;           // set if the session keeps all events
  std::filesystem::path folder_;
  std::string name_; // empty if LTTng has no session of this object
  std::uint64_t events_at_once_ = 0;
};

/// Returns the names of sessions that killed processes of rtexec left in a shared daemon. start() ends such sessions,
/// and writes the events that flight recorders had in memory.
[[nodiscard]] std::vector<std::string> left_over_sessions();

} // namespace rtexec::traces
