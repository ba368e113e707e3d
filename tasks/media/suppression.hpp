// Greedy non-maximum suppression: of boxes of one class that overlap too much, the best one stays.
#pragma once

#include <rtexec/box.hpp>

#include <cstddef>
#include <span>

namespace rtexec::tasks {

/// Area of the intersection over that of the union, 0 to 1.
[[nodiscard]] float overlap(const Box& a, const Box& b) noexcept;

/// Sorts `boxes` by falling score and moves those that stay to the front: each box whose overlap with every kept box of
/// its class is at most `most`. Returns how many stay. O(n^2) at worst; no allocation.
std::size_t suppress(std::span<Box> boxes, float most) noexcept;

} // namespace rtexec::tasks
