// Decodes boxes from the output tensors (heads) of a YOLOv3-type detector (Redmon, Farhadi: YOLOv3, 2018, section 2).
#pragma once

#include "tasks/media/network_output.hpp"

#include <cstddef>
#include <vector>

namespace rtexec::tasks {

/// An anchor box, in pixels of the network's input.
struct Anchor {
  float width = 0;
  float height = 0;
};

/// One output tensor of shape [1, anchors * (5 + classes), rows, columns]. The planes of each anchor are tx, ty, tw, th
/// (raw position and size of the box), objectness, and a plane for each class.
struct DetectorHead {
  std::vector<Anchor> anchors;
  std::size_t classes = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// A decoder of boxes. Keeps boxes whose objectness times best class probability is at least kThreshold. To bound the
/// time, non-maximum suppression (suppression.hpp) receives only the best kMostCandidates of these boxes. At most
/// kMostBoxes of the boxes that it keeps are reported.
class Detector final : public OutputDecoder {
 public:
  static constexpr float kThreshold = 0.5f;
  static constexpr float kMostOverlap = 0.45f;
  static constexpr std::size_t kMostCandidates = 512;
  static constexpr std::size_t kMostBoxes = 100;

  /// `width` and `height` are the size of the network's input, in pixels.
  Detector(std::vector<DetectorHead> heads, std::size_t width, std::size_t height);

  void decode(std::span<const rtexec::Tensor> outputs) noexcept override;
  [[nodiscard]] bool detects() const noexcept override { return true; }
  [[nodiscard]] std::span<const Box> boxes() const noexcept override { return {candidates_.data(), kept_}; }

 private:
  void collect(const DetectorHead& head, std::span<const float> output) noexcept;

  std::vector<DetectorHead> heads_;
  float width_;
  float height_;
  std::vector<Box> candidates_; // has capacity for a box of every cell and anchor
  std::size_t kept_ = 0;
};

} // namespace rtexec::tasks
