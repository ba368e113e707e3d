// Greedy non-maximum suppression: if boxes of one class overlap too much, only the box with the best score is kept.
#pragma once

#include <rtexec/box.hpp>

#include <cstddef>
#include <span>

namespace rtexec::tasks {

/// Returns the intersection over union (IoU) of two boxes, 0 to 1.
[[nodiscard]] float overlap(const Box& a, const Box& b) noexcept;

/// Sorts `boxes` by descending score and moves the kept boxes to the front. A box is kept if its overlap with every
/// kept box of its class is at most `most`. Returns the number of kept boxes. Takes O(n^2) time at worst, and does not
/// allocate.
std::size_t suppress(std::span<Box> boxes, float most) noexcept;

} // namespace rtexec::tasks
