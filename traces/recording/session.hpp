// A recording session: from start() to stop(), the events of this process go to CTF files in a folder.
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
  bool layers = false; // also layer_info, layer_begin and layer_end
  /// Size of all cores' ring buffers together, in shared memory. Each core gets at least 8 pages, and for the set-up
  /// 256 KiB more, or 1 MiB with layers
  Bytes buffer{std::uint64_t{16} << 20};
  /// Maximum size of all files together: the latest events are kept, and the set-up besides
  std::optional<Bytes> limit = {};
};

/// start() and stop() are set-up code: both block for up to a few seconds. Call start() before threads become real-time
/// ones, and before the process locks its memory, so that the ring buffers get locked too. Not thread-safe.
class Session {
 public:
  /// Starts a daemon if none runs, and a session of a unique name that records this process alone into `folder`.
  /// Returns once this process's events are enabled. `folder` must be new or empty. Leaves nothing behind on failure.
  /// During the recording, the folder can be read up to the last second or two, even if the daemons or this process are
  /// killed.
  /// Returns bad_input if the folder holds something, or the limit is below the size of the buffers. Returns refused,
  /// with what to do, if the machine lacks something.
  /// The calling thread must outlive the session (see Daemon).
  [[nodiscard]] static Result<Session> start(const std::filesystem::path& folder, const SessionOptions& options);

  /// Ends the recording and the daemon if start() started it, then reads the trace back. To be called once.
  [[nodiscard]] Result<Summary> stop();

  /// Returns the number of events after which a single thread that emits faster than the daemon writes must call
  /// drain(), so that none is lost.
  [[nodiscard]] std::uint64_t events_at_once() const noexcept { return session_.events_at_once(); }
  /// Returns once all recorded events are in files. Events emitted meanwhile are not recorded.
  [[nodiscard]] Result<> drain() { return session_.drain(); }

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return session_.folder(); }

 private:
  explicit Session(LttngSession session) : session_(std::move(session)) {}
  LttngSession session_; // its destructor ends the session if stop() was not called
};

/// Checks the recording of a run in `folder`, whose last event is run_end. Returns refused, with the reason, if it is
/// incomplete and the number of missing events is unknown.
[[nodiscard]] Result<> check_whole(const Summary& summary, const std::filesystem::path& folder);

} // namespace rtexec::traces
