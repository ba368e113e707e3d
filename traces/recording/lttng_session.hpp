// The common base of Session and FlightRecorder: an LTTng session that records the events of this process alone.
//
// It has two channels: `setup` for events emitted once before the first job, `events` for the rest. So a flight
// recorder, whose old `events` are overwritten, keeps the set-up that explains them. The object owns the session, and
// the daemon if it started one. Set-up code: calls block for up to a few seconds. Not thread-safe.
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
  enum class Keeps { all, latest }; // all: in files, continuously; latest: in memory until snapshot()
  struct Options {
    Keeps keeps = Keeps::all;
    bool layers = false; // also layer_info, layer_begin and layer_end
    Bytes buffer;        // size of all cores' ring buffers for `events` together
    // maximum size of all files of `events`, at least `buffer`; newer events overwrite older ones
    std::optional<Bytes> limit = {};
  };

  /// Returns the same errors as Session::start().
  [[nodiscard]] static Result<LttngSession> start(const std::filesystem::path& folder, const Options& options);

  LttngSession(LttngSession&& other) noexcept;
  LttngSession& operator=(LttngSession&&) = delete;
  /// Ends the session if end() did not.
  ~LttngSession();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  /// Returns the number of events that fit into the buffers of one core in any case.
  [[nodiscard]] std::uint64_t events_at_once() const noexcept { return events_at_once_; }
  /// Returns once all recorded events are in files. Events emitted meanwhile are not recorded.
  [[nodiscard]] Result<> drain();
  /// Writes the events in memory into a new folder below folder(), whose name begins with `name`. Flushes its files to
  /// the disk and returns the folder.
  [[nodiscard]] Result<std::filesystem::path> snapshot(const std::string& name);
  /// Ends the recording. Afterwards all recorded events are in files, and the daemon has ended if start() started it.
  /// To be called once.
  [[nodiscard]] Result<> end();

 private:
  LttngSession(Daemon daemon, std::filesystem::path folder) : daemon_(std::move(daemon)), folder_(std::move(folder)) {}
  [[nodiscard]] Result<> create(const Options& options);
  [[nodiscard]] Result<> write_out();

  std::optional<Daemon> daemon_; // absent after end()
  RecordingMark mark_;           // set if the session keeps all events
  std::filesystem::path folder_;
  std::string name_; // empty while LTTng knows no session of this object
  std::uint64_t events_at_once_ = 0;
};

/// Returns the names of sessions that killed processes of rtexec left with a shared daemon. start() ends them, and
/// writes the events that flight recorders had in memory.
[[nodiscard]] std::vector<std::string> left_over_sessions();

} // namespace rtexec::traces
