#include "tasks/engine/graph/constant_ranges.hpp"

#include <algorithm>

namespace rtexec::tasks {

void ConstantRanges::read(std::size_t layer, std::size_t offset) {
  const auto behind = std::ranges::upper_bound(constants_, Bytes{offset}, {}, &MemoryObject::offset);
  const MemoryObject& object = *(behind - 1);
  ConstantRange& range = ranges_[layer];
  const bool first = range.begin == range.end;
  range = {first ? object.offset : std::min(range.begin, object.offset),
           std::max(range.end, object.offset + object.size)};
}

} // namespace rtexec::tasks
