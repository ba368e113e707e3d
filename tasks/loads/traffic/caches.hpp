// The caches that traffic generators must exceed, as the kernel describes them under
// /sys/devices/system/cpu/cpu*/cache. Set-up code.
#pragma once

#include <rtexec/units.hpp>
#include "hal/machine_files.hpp"

namespace rtexec::tasks {

struct CacheFacts {
  Bytes last_level{0}; // size of one cache of the highest level, the largest of all cores; 0: unknown
  Bytes line{64};      // line size of that cache; 64 if unknown
};

/// Returns the caches of the online cores. A recorded tree can replace a board.
[[nodiscard]] CacheFacts cache_facts(const hal::Machine& machine = hal::Machine());

/// Returns the default buffer of a generator: four times the last-level cache, at least 16 MiB (the buffer of Nigam's
/// thesis, Algorithm 2) and at most 256 MiB. If twice the cache exceeds that, returns twice the cache. Returns 64 MiB
/// if the cache is unknown. A cache that retains a part of the lines of a sweep (as server caches do) still serves up
/// to cache / buffer of them: on a server with 105 MiB, 41 % at worst.
[[nodiscard]] Bytes sweep_size(const CacheFacts& caches);

} // namespace rtexec::tasks
