// The dimensions of a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rtexec::tasks {

using Shape = std::vector<std::int64_t>; // empty for a scalar; a dimension of 0 means that the tensor has no elements

/// Returns the product of the dimensions, without a check for overflow. The tensors of a Graph have at most
/// max_elements elements, so that the product cannot overflow.
[[nodiscard]] std::int64_t element_count(const Shape& shape);
/// Returns "1x3x224x224", or "scalar".
[[nodiscard]] std::string to_string(const Shape& shape);

} // namespace rtexec::tasks
