// Finds out if the disk of a file has poll queues, from the kernel's files /sys/dev/block/MAJOR:MINOR/queue/.
//
// Set-up only, from any thread.
#pragma once

#include <rtexec/units.hpp>

#include <optional>

namespace rtexec::hal {

/// Returns the maximum size, a power of two, of a transfer that the disk of `file` does not split. The kernel does not
/// poll the completion of split transfers. Returns nullopt if the disk has no poll queues. Also returns nullopt if the
/// file system is on several disks or on no disk.
[[nodiscard]] std::optional<Bytes> longest_polled_transfer(int file);

} // namespace rtexec::hal
