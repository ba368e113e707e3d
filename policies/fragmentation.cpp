#include "policies/fragmentation.hpp"

namespace rtexec::policies {

Fragmentation fragmentation(std::span<const MemoryObject> objects, Bytes granularity) {
  Fragmentation result;
  for (const MemoryObject& object : objects) {
    ++(object.size < granularity ? result.small : result.large);
    result.total += object.size;
    result.per_object += round_up(object.size, granularity);
  }
  result.arena = round_up(result.total, granularity);
  return result;
}

} // namespace rtexec::policies
