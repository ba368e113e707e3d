// RouDi, the daemon of iceoryx, which gives processes their shared memory and brings publishers and subscribers
// together: is it there, and if not it is started, as a child of this process that ends with it. Set-up code.
#pragma once

#include <rtexec/result.hpp>

#include <cstdint>

namespace rtexec::channels::iceoryx {

/// Does a daemon listen?
[[nodiscard]] bool daemon_listens();

/// Tells one daemon's shared memory from that of the next; 0 where there is none.
[[nodiscard]] std::uint64_t daemon_memory();

/// Returns once a daemon listens: one that is there, or else `iox-roudi` of PATH, with what it says kept for errors.
/// The one that was started is ended at this process's exit, unless another process that this one may look at has its
/// memory mapped by then; a process that is killed leaves it behind, for the next to use. Errors: it is not installed
/// (says what to install), or did not come up (says what it said).
[[nodiscard]] Result<> ensure_daemon();

} // namespace rtexec::channels::iceoryx
