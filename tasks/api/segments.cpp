#include "tasks/api/segments.hpp"

#include <string>

namespace rtexec::tasks {

Result<std::vector<std::size_t>> segment_ends(std::span<const std::uint32_t> after, std::size_t layers) {
  std::vector<std::size_t> ends;
  for (const std::uint32_t layer : after) {
    const std::size_t end = std::size_t{layer} + 1;
    if (!ends.empty() && end <= ends.back())
      return fail(Errc::bad_input, "cut points must ascend: after layer " + std::to_string(ends.back() - 1) +
                                       " comes layer " + std::to_string(layer));
    if (end >= layers)
      return fail(Errc::bad_input, "no cut point is possible after layer " + std::to_string(layer) + " of " +
                                       std::to_string(layers) + ", which are counted from 0");
    ends.push_back(end);
  }
  ends.push_back(layers);
  return ends;
}

} // namespace rtexec::tasks
