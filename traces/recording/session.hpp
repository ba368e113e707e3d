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
  /// Of all cores' ring buffers together, shared memory; at least 8 pages per core are taken, and for the set-up 256
  /// KiB
  Bytes buffer{std::uint64_t{16} << 20};
  /// On disk, all files together: the latest events are kept, and the set-up beside them
  std::optional<Bytes> limit = {};
};

/// Set-up code: both calls block for up to a few seconds. start() comes before threads become real-time ones, and
/// before the process locks its memory, so that the ring buffers get locked too. Not thread-safe.
class Session {
 public:
  /// Starts a daemon where none runs, a session of a unique name that records this process alone into `folder`, and
  /// returns once this process's events are on. `folder` must be new or empty. Nothing is left behind on failure.
  /// While it goes on, what is in the folder can be read, all but the last second or two, whatever becomes of daemons
  /// and of this process.
  /// bad_input: the folder holds something, or the limit is below the size of the buffers. refused: whatever the
  /// machine lacks, and what to do.
  /// The calling thread must outlive the session (see Daemon).
  [[nodiscard]] static Result<Session> start(const std::filesystem::path& folder, const SessionOptions& options);

  /// Ends the recording and the daemon if start() started it, then reads the trace back. To be called once.
  [[nodiscard]] Result<Summary> stop();

  /// For whoever emits faster than the daemon writes, from one thread: after so many events it waits in drain(), and
  /// loses none.
  [[nodiscard]] std::uint64_t events_at_once() const noexcept { return session_.events_at_once(); }
  /// Returns once all that was recorded is in files. What is emitted meanwhile is not recorded.
  [[nodiscard]] Result<> drain() { return session_.drain(); }

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return session_.folder(); }

 private:
  explicit Session(LttngSession session) : session_(std::move(session)) {}
  LttngSession session_; // ended by its destructor where stop() was not called
};

/// Checks the recording of a run in `folder`, whose last event is run_end. refused: it is not whole, and nobody knows
/// how many events are missing; says why.
[[nodiscard]] Result<> check_whole(const Summary& summary, const std::filesystem::path& folder);

} // namespace rtexec::traces
