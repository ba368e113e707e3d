// Whether the disk of a file has poll queues, as the kernel's files say (/sys/dev/block/MAJOR:MINOR/queue/).
//
// Set-up only, from any thread.
#pragma once

#include <rtexec/units.hpp>

#include <optional>

namespace rtexec::hal {

/// The longest transfer of a power of two that the disk of `file` takes in one piece: those that it has to cut are not
/// polled. None where it has no poll queues, or nothing tells of it (a file system on several disks, or on none).
[[nodiscard]] std::optional<Bytes> longest_polled_transfer(int file);

} // namespace rtexec::hal
