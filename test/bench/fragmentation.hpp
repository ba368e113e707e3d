// Compares the memory of objects with own chunks to that of objects in one shared arena (RT-Swap, RTSS 2023, section
// IV-A and Table II).
#pragma once

#include <rtexec/plan.hpp>

#include <cstddef>
#include <span>

namespace rtexec::bench {

struct Fragmentation {
  std::size_t small = 0; // number of objects below the granularity
  std::size_t large = 0;
  Bytes total;      // of the objects, none of which share memory
  Bytes per_object; // if each object has whole chunks of its own
  Bytes arena;      // if objects follow each other in whole chunks
};

/// Computes the figures. `granularity` is that of chunks, at least 1 byte.
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
