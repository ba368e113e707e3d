// Finds RouDi, the daemon of iceoryx. If it does not run, starts it as a child of this process, which ends with the
// process. The daemon gives processes their shared memory, and connects publishers with subscribers. Set-up code.
#pragma once

#include <rtexec/result.hpp>

#include <cstdint>

namespace rtexec::channels::iceoryx {

/// Returns true if a daemon runs and accepts processes.
[[nodiscard]] bool daemon_listens();

/// Returns a number that identifies the daemon's shared memory, and so distinguishes a daemon from its successor.
/// Returns 0 if there is no such memory.
[[nodiscard]] std::uint64_t daemon_memory();

/// Makes sure that a daemon listens, and returns then. If none does, starts `iox-roudi` of PATH, whose output is kept
/// for errors. When this process exits, it ends the daemon that it started, unless another process that it can see has
/// mapped the daemon's memory. If this process is killed, its daemon remains for later processes. Returns an error if
/// the daemon is not installed (with the package to install), or did not start to listen (with its output).
[[nodiscard]] Result<> ensure_daemon();

} // namespace rtexec::channels::iceoryx
