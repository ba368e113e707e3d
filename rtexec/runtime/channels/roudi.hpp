// Finds RouDi, the daemon of iceoryx. If the daemon does not run, starts it as a child of this process. The child ends
// when this process exits. The daemon allocates shared memory for processes, and connects publishers with subscribers.
// Set-up code.
#pragma once

#include <rtexec/result.hpp>

#include <cstdint>

namespace rtexec::channels::iceoryx {

/// Returns true if a daemon runs and accepts processes.
[[nodiscard]] bool daemon_listens();

/// Returns a number that identifies the daemon's shared memory. A restarted daemon has a different number. Returns 0 if
/// there is no such memory.
[[nodiscard]] std::uint64_t daemon_memory();

/// Ensures that a daemon listens. If no daemon listens, starts `iox-roudi` from PATH, keeps its output for error
/// messages, and waits until it listens. When this process exits, it ends the daemon that it started, unless another
/// visible process has mapped the daemon's memory. If this process is killed, its daemon remains for later processes.
/// Returns an error if the daemon is not installed (with the package to install), or did not start to listen (with its
/// output).
[[nodiscard]] Result<> ensure_daemon();

} // namespace rtexec::channels::iceoryx
