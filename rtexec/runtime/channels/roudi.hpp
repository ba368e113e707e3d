// Finds RouDi, the daemon of iceoryx, or starts it as a child of this process that ends with it. The daemon gives
// processes their shared memory, and connects publishers with subscribers. Set-up code.
#pragma once

#include <rtexec/result.hpp>

#include <cstdint>

namespace rtexec::channels::iceoryx {

/// Returns true if a daemon listens.
[[nodiscard]] bool daemon_listens();

/// Identifies the daemon's shared memory, which differs between a daemon and its successor; 0 if there is none.
[[nodiscard]] std::uint64_t daemon_memory();

/// Returns once a daemon listens: a running one, or else `iox-roudi` of PATH, whose output is kept for errors. A
/// started daemon is ended when this process exits, unless another visible process has its memory mapped by then. A
/// killed process leaves its daemon behind for later processes. Returns an error if the daemon is not installed (with
/// the package to install), or did not come up (with its output).
[[nodiscard]] Result<> ensure_daemon();

} // namespace rtexec::channels::iceoryx
