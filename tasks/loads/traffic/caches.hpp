// The caches that traffic has to get past, as the kernel describes them under /sys/devices/system/cpu/cpu*/cache.
// Set-up code.
#pragma once

#include <rtexec/units.hpp>
#include "hal/machine_files.hpp"

namespace rtexec::tasks {

struct CacheFacts {
  Bytes last_level{0}; // one cache of the highest level, the largest of all cores; 0: the kernel does not say
  Bytes line{64};      // of that cache; 64 where the kernel does not say
};

/// Of the cores that are online. A recorded tree stands in for a board.
[[nodiscard]] CacheFacts cache_facts(const hal::Machine& machine = hal::Machine());

/// What a generator sweeps where nobody says: four times the last-level cache, but 16 MiB at least (the buffer of
/// Nigam's thesis, Algorithm 2) and 256 MiB at most; twice the cache where even that is more. 64 MiB where the cache is
/// not known. A cache that keeps a part of the lines of a sweep (server caches do) still serves up to cache / buffer of
/// them: on a server with 105 MiB, 41 % at worst.
[[nodiscard]] Bytes sweep_size(const CacheFacts& caches);

} // namespace rtexec::tasks
