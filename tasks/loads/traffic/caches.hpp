// The sizes of the caches. The buffers of traffic generators must be larger than these caches. The kernel describes
// caches under /sys/devices/system/cpu/cpu*/cache. Used during set-up.
#pragma once

#include <rtexec/units.hpp>
#include "hal/machine_files.hpp"

namespace rtexec::tasks {

struct CacheFacts {
  Bytes last_level{0}; // size of the largest highest-level cache of all cores; 0: unknown
  Bytes line{64};      // line size of that cache; 64 if unknown
};

/// Returns the caches of the online cores. `machine` may be a recorded directory tree instead of this machine.
[[nodiscard]] CacheFacts cache_facts(const hal::Machine& machine = hal::Machine());

/// Returns the default buffer size of a generator. The generator accesses its buffer from begin to end again and again
/// (a sweep). The size is four times the last-level cache, at least 16 MiB (the buffer of Nigam's thesis, Algorithm 2)
/// and at most 256 MiB. If twice the cache size exceeds 256 MiB, the result is twice the cache size. Returns 64 MiB if
/// the cache size is unknown. Some caches, such as the caches of servers, retain a part of the lines of a sweep. Such
/// caches still serve a fraction of the accesses, at most cache size / buffer size: 41 % at worst on a server with a
/// cache of 105 MiB.
[[nodiscard]] Bytes sweep_size(const CacheFacts& caches);

} // namespace rtexec::tasks
