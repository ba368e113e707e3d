// What Session and FlightRecorder stand on: a session that LTTng knows, which records the events of this process alone.
//
// Two channels: `setup` for what is said once before the first job, `events` for the rest. So a flight recorder, whose
// `events` are overwritten by newer ones, keeps what they mean. Owns the session, and the daemon where it started one.
// Set-up code: calls block for up to a few seconds. Not thread-safe.
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
  enum class Keeps { all, latest }; // in files as they come; in memory until snapshot()
  struct Options {
    Keeps keeps = Keeps::all;
    bool layers = false;             // also layer_info, layer_begin and layer_end
    Bytes buffer;                    // of all cores' ring buffers for `events` together
    std::optional<Bytes> limit = {}; // of all files of `events`, at least `buffer`: newer events overwrite older
  };

  /// Errors: see Session::start().
  [[nodiscard]] static Result<LttngSession> start(const std::filesystem::path& folder, const Options& options);

  LttngSession(LttngSession&& other) noexcept;
  LttngSession& operator=(LttngSession&&) = delete;
  /// Ends the session where end() did not.
  ~LttngSession();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  /// So many events fit into the buffers of one core, at least.
  [[nodiscard]] std::uint64_t events_at_once() const noexcept { return events_at_once_; }
  /// Returns once all that was recorded is in files. What is emitted meanwhile is not recorded.
  [[nodiscard]] Result<> drain();
  /// Writes what is in memory into a new folder below folder(), whose name begins with `name`, and on the disk; returns
  /// that folder.
  [[nodiscard]] Result<std::filesystem::path> snapshot(const std::string& name);
  /// Everything recorded is in files afterwards, and the daemon has ended if start() started it. To be called once.
  [[nodiscard]] Result<> end();

 private:
  LttngSession(Daemon daemon, std::filesystem::path folder) : daemon_(std::move(daemon)), folder_(std::move(folder)) {}
  [[nodiscard]] Result<> create(const Options& options);
  [[nodiscard]] Result<> write_out();

  std::optional<Daemon> daemon_; // absent once ended
  RecordingMark mark_;           // where it keeps all
  std::filesystem::path folder_;
  std::string name_; // empty while LTTng knows no session of ours
  std::uint64_t events_at_once_ = 0;
};

/// Names of sessions that processes of rtexec left with a shared daemon when they were killed; start() ends them, and
/// writes what flight recorders had in memory.
[[nodiscard]] std::vector<std::string> left_over_sessions();

} // namespace rtexec::traces
