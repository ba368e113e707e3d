// Non-maximum suppression: keeps the best boxes of each class, and removes boxes that overlap a better box.
#include "tasks/engine/host/kernels/steps.hpp"

#include <algorithm>

namespace rtexec::tasks::kernels {
namespace {

struct Box {
  float top, left, bottom, right;
  [[nodiscard]] float area() const noexcept { return (bottom - top) * (right - left); }
};

/// Returns the intersection over union of two boxes.
float overlap(const Box& a, const Box& b) noexcept {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0)) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

using Index = std::int64_t;

class SuppressionStep final : public Step {
 public:
  SuppressionStep(const NonMaxSuppression& suppression, const Shape& scores, std::int64_t rows)
      : s_(suppression), images_(scores[0]), classes_(scores[1]), count_(scores[2]), rows_(rows) {}

  /// Returns the number of floats of workspace. The workspace holds the indices of the boxes sorted by score, then the
  /// indices of the kept boxes.
  std::size_t workspace() const override {
    return static_cast<std::size_t>(count_ + s_.most) * sizeof(Index) / sizeof(float);
  }

  void run(const Operands& o) const noexcept override {
    Index* y = o.output<Index>();
    for (std::int64_t image = 0; image < images_; ++image)
      for (std::int64_t of = 0; of < classes_; ++of) {
        const float* const boxes = o.input(0) + image * count_ * 4;
        const auto kept =
            keep(boxes, o.input(1) + (image * classes_ + of) * count_, reinterpret_cast<Index*>(o.workspace));
        for (const Index box : kept)
          for (const Index part : {image, of, box}) *y++ = part;
      }
    std::fill(y, o.output<Index>() + rows_ * 3, Index{-1});
  }

 private:
  [[nodiscard]] Box box_at(const float* boxes, Index index) const noexcept {
    const float* const b = boxes + index * 4;
    if (s_.centred) return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
    return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
  }

  /// Returns the indices of the kept boxes of one class. A score that is NaN is not above any threshold.
  std::span<const Index> keep(const float* boxes, const float* scores, Index* workspace) const noexcept {
    const auto score = [&](Index index) { return scores[index]; };
    Index *const order = workspace, *end = order;
    for (std::int64_t i = 0; i < count_; ++i)
      if (s_.score ? scores[i] > *s_.score : scores[i] == scores[i]) *end++ = i;
    std::sort(order, end, [&](Index a, Index b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
    Index *const kept = workspace + count_, *last = kept;
    for (const Index* next = order; next != end && last != kept + s_.most; ++next) {
      const auto box = box_at(boxes, *next);
      const auto overlaps = [&](Index other) { return overlap(box, box_at(boxes, other)) > s_.overlap; };
      if (std::none_of(kept, last, overlaps)) *last++ = *next;
    }
    return {kept, last};
  }

  NonMaxSuppression s_;
  std::int64_t images_, classes_, count_, rows_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const NonMaxSuppression& suppression) {
  return std::make_unique<SuppressionStep>(suppression, graph.tensors[node.inputs[1]].shape,
                                           graph.tensors[node.output].shape[0]);
}

} // namespace rtexec::tasks::kernels
