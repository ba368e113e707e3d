// A recording session: from start() to stop(), the events of this process go to CTF files in a folder.
#pragma once

#include "config/result.hpp"
#include "config/units.hpp"
#include "traces/daemon.hpp"
#include "traces/reader.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace rtexec::traces {

struct SessionOptions {
  bool layers = false;                   // also layer_info, layer_begin and layer_end
  Bytes buffer{std::uint64_t{16} << 20}; // of all cores' ring buffers together, shared memory; at least 8 pages per core are taken
};

/// Set-up code: both calls block for up to a few seconds. start() comes before threads become real-time ones, and before the
/// process locks its memory, so that the ring buffers get locked too. Not thread-safe.
class Session {
 public:
  /// Starts a daemon where none runs, a session of a unique name that records this process alone into `folder`, and returns
  /// once this process's events are on. `folder` must be new or empty. Nothing is left behind on failure.
  /// bad_input: the folder holds something. refused: whatever the machine lacks, and what to do.
  /// The calling thread must outlive the session (see Daemon).
  [[nodiscard]] static Result<Session> start(const std::filesystem::path& folder, const SessionOptions& options);

  /// Ends the recording and the daemon if start() started it, then reads the trace back. To be called once.
  [[nodiscard]] Result<Summary> stop();

  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;
  /// Ends a session that was not stopped.
  ~Session();

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  Session(Daemon daemon, std::filesystem::path folder) : daemon_(std::move(daemon)), folder_(std::move(folder)) {}
  [[nodiscard]] Result<> create(const SessionOptions& options);
  [[nodiscard]] Result<> end();

  std::optional<Daemon> daemon_; // absent once stopped
  std::filesystem::path folder_;
  std::string name_;             // empty while LTTng knows no session of ours
};

} // namespace rtexec::traces
