// Finds out if the disk of a file has poll queues, from the kernel's files /sys/dev/block/MAJOR:MINOR/queue/.
//
// Set-up only, from any thread.
#pragma once

#include <rtexec/units.hpp>

#include <optional>

namespace rtexec::hal {

/// Returns the longest transfer, a power of two, that the disk of `file` takes without splitting it. The kernel does
/// not poll the completion of split transfers. Returns nullopt if the disk has no poll queues, or if they cannot be
/// determined (a file system on several disks, or on none).
[[nodiscard]] std::optional<Bytes> longest_polled_transfer(int file);

} // namespace rtexec::hal
