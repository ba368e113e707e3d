#include "tasks/media/detector.hpp"

#include "tasks/media/suppression.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace rtexec::tasks {
namespace {

float sigmoid(float x) noexcept { return 1 / (1 + std::exp(-x)); }

} // namespace

Detector::Detector(std::vector<DetectorHead> heads, std::size_t width, std::size_t height)
    : heads_(std::move(heads)), width_(static_cast<float>(width)), height_(static_cast<float>(height)) {
  std::size_t most = 0;
  for (const auto& head : heads_) most += head.anchors.size() * head.rows * head.columns;
  candidates_.reserve(most);
}

void Detector::decode(std::span<const rtexec::Tensor> outputs) noexcept {
  candidates_.clear();
  for (std::size_t i = 0; i < heads_.size(); ++i) collect(heads_[i], outputs[i].as<const float>());
  if (candidates_.size() > kMostCandidates) {
    const auto cut = candidates_.begin() + std::ptrdiff_t{kMostCandidates};
    std::ranges::nth_element(candidates_, cut, std::greater{}, &Box::score);
    candidates_.erase(cut, candidates_.end());
  }
  kept_ = std::min(suppress(candidates_, kMostOverlap), kMostBoxes);
}

void Detector::collect(const DetectorHead& head, std::span<const float> output) noexcept {
  const std::size_t plane = head.rows * head.columns;
  const float cell_width = width_ / static_cast<float>(head.columns),
              cell_height = height_ / static_cast<float>(head.rows);
  for (std::size_t a = 0; a < head.anchors.size(); ++a) {
    const float* const planes = output.data() + a * (5 + head.classes) * plane;
    for (std::size_t cell = 0; cell < plane; ++cell) {
      const auto value = [&](std::size_t number) { return planes[number * plane + cell]; };
      const float objectness = sigmoid(value(4));
      if (!(objectness >= kThreshold)) continue;
      std::size_t best = 0;
      for (std::size_t c = 1; c < head.classes; ++c)
        if (value(5 + c) > value(5 + best)) best = c;
      const float score = objectness * sigmoid(value(5 + best));
      if (!(score >= kThreshold)) continue;

      const std::size_t row = cell / head.columns, column = cell % head.columns;
      const float x = (static_cast<float>(column) + sigmoid(value(0))) * cell_width;
      const float y = (static_cast<float>(row) + sigmoid(value(1))) * cell_height;
      const float half_width = std::exp(value(2)) * head.anchors[a].width / 2;
      const float half_height = std::exp(value(3)) * head.anchors[a].height / 2;
      const Box box{std::clamp(x - half_width, 0.0f, width_),
                    std::clamp(y - half_height, 0.0f, height_),
                    std::clamp(x + half_width, 0.0f, width_),
                    std::clamp(y + half_height, 0.0f, height_),
                    score,
                    static_cast<std::uint32_t>(best)};
      // Both comparisons are false if a coordinate is NaN.
      if (box.right > box.left && box.bottom > box.top) candidates_.push_back(box);
    }
  }
}

} // namespace rtexec::tasks
