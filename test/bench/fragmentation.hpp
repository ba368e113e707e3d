// What memory objects take when each has chunks for itself, against one arena that they share (RT-Swap, RTSS 2023,
// section IV-A and Table II).
#pragma once

#include <rtexec/plan.hpp>

#include <cstddef>
#include <span>

namespace rtexec::bench {

struct Fragmentation {
  std::size_t small = 0; // objects below the granularity
  std::size_t large = 0;
  Bytes total;      // of the objects, none of which shares memory with another
  Bytes per_object; // with whole chunks for each object
  Bytes arena;      // with one object behind the other in whole chunks
};

/// `granularity`: of chunks, at least 1 byte.
[[nodiscard]] inline Fragmentation fragmentation(std::span<const MemoryObject> objects, Bytes granularity) {
  Fragmentation result;
  for (const MemoryObject& object : objects) {
    ++(object.size < granularity ? result.small : result.large);
    result.total += object.size;
    result.per_object += round_up(object.size, granularity);
  }
  result.arena = round_up(result.total, granularity);
  return result;
}

} // namespace rtexec::bench
