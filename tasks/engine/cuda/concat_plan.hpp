// Plans which tensors are written directly into the buffer of a concatenation of images, so that no copy is needed.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace rtexec::tasks::cuda {

struct ConcatPlan {
  struct Slot {
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t group = none;
    std::int64_t first = 0; // first index of the tensor along the group's axis
  };
  struct Group {
    Shape shape;            // shape of the whole concatenation
    std::size_t axis = 1;   // 1: channels
    std::int64_t pixel = 1; // number of elements from one pixel to the next
  };
  std::vector<Slot> slots;   // one for each tensor
  std::vector<Group> groups; // one for each planned concatenation; each group has one buffer
};

/// Plans the concatenations of `graph`. Every slot along the channels begins at a multiple of `unit` elements. `rows`
/// is the result of row_layout(): for each tensor, true if it is stored row-major, not as an image.
[[nodiscard]] ConcatPlan plan_concats(const Graph& graph, const std::vector<bool>& rows, std::int64_t unit);

} // namespace rtexec::tasks::cuda
