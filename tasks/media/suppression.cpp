#include "tasks/media/suppression.hpp"

#include <algorithm>
#include <functional>

namespace rtexec::tasks {

float overlap(const Box& a, const Box& b) noexcept {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const float both = width * height;
  const auto area = [](const Box& box) { return (box.right - box.left) * (box.bottom - box.top); };
  return both / (area(a) + area(b) - both);
}

std::size_t suppress(std::span<Box> boxes, float most) noexcept {
  std::ranges::sort(boxes, std::greater{}, &Box::score);
  std::size_t kept = 0;
  for (const Box& box : boxes) {
    const auto covers = [&](const Box& better) { return better.label == box.label && overlap(better, box) > most; };
    if (std::ranges::none_of(boxes.first(kept), covers)) boxes[kept++] = box;
  }
  return kept;
}

} // namespace rtexec::tasks
