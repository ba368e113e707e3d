// A recording session: between start() and stop(), the events of this process are written to CTF files in a folder.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "traces/reading/reader.hpp"
#include "traces/recording/lttng_session.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace rtexec::traces {

struct SessionOptions {
  bool layers = false; // true: also records layer_info, layer_begin and layer_end
  /// Size of all cores' ring buffers together, in shared memory. Each core gets at least 8 pages. The set-up gets 256
  /// KiB more for each core, or 1 MiB with layers
  Bytes buffer{std::uint64_t{16} << 20};
  /// Maximum size of all files of `events` together: older events are overwritten, the set-up is kept in addition.
  /// Absent: no limit
  std::optional<Bytes> limit = {};
};

/// start() and stop() are set-up code: both block for up to a few seconds. start() must be called before threads become
/// real-time threads, and before the process locks its memory, so that the ring buffers are locked too. Not
/// thread-safe.
class Session {
 public:
  /// Starts a daemon if none runs, and a session with a unique name that records only this process into `folder`.
  /// Returns once this process's events are enabled. `folder` must be new or empty. On failure, removes everything that
  /// it created. During the recording, the folder can be read up to the last one or two seconds, even if the daemons or
  /// this process are killed.
  /// Returns bad_input if the folder is not empty, or if the limit is below the size of the buffers. Returns refused if
  /// the machine lacks a requirement; the error says what to do.
  /// The calling thread must outlive the session (see Daemon).
  [[nodiscard]] static Result<Session> start(const std::filesystem::path& folder, const SessionOptions& options);

  /// Ends the recording, and also the daemon if start() started it, then reads the trace back. Must be called only
  /// once.
  [[nodiscard]] Result<Summary> stop();

  /// Returns the maximum number of events that one thread may emit between two calls of drain() without a loss. It
  /// holds even if the thread emits events faster than the daemon writes them.
  [[nodiscard]] std::uint64_t events_at_once() const noexcept { return session_.events_at_once(); }
  /// Waits until all recorded events are in files. Events emitted during the call are not recorded.
  [[nodiscard]] Result<> drain() { return session_.drain(); }

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return session_.folder(); }

 private:
  explicit Session(LttngSession session) : session_(std::move(session)) {}
  LttngSession session_; // its destructor ends the session if stop() was not called
};

/// Checks that the recording of a run in `folder` is complete: its last event must be run_end. Returns refused, with
/// the reason, if the recording is incomplete and the number of missing events is unknown.
[[nodiscard]] Result<> check_whole(const Summary& summary, const std::filesystem::path& folder);

} // namespace rtexec::traces
