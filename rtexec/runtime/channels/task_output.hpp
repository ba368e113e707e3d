// One output of a workload as receivers see it: a tensor, or the boxes of a detector in the form of a tensor.
#pragma once

#include <rtexec/channels.hpp>
#include <rtexec/workload.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace rtexec::channels {

inline constexpr std::string_view detections = "detections";
/// The number of values for a box: left, top, right, bottom, score, class.
inline constexpr std::size_t numbers_of_box = 6;
/// The maximum number of boxes of one job that are forwarded.
inline constexpr std::size_t max_boxes = 256;
[[nodiscard]] std::array<float, numbers_of_box> numbers(const Box& box) noexcept;

/// Returns the size of the tensor in bytes, computed from its type and shape. The tensor's buffer may not be allocated
/// yet.
[[nodiscard]] std::size_t size_of_values(const Tensor& tensor) noexcept;
[[nodiscard]] std::string shown(const Tensor& tensor);

class Output {
 public:
  /// Returns the workload's output of this name. An empty name means the only output; "detections" means the boxes of a
  /// detector. Returns bad_input, with the names of all outputs, if there is no such output.
  [[nodiscard]] static Result<Output> of(const Workload& workload, const std::string& name);

  [[nodiscard]] bool is_detections() const noexcept { return !tensor_; }
  /// Returns the number of the tensor among the workload's outputs. The output must be a tensor, not boxes.
  [[nodiscard]] std::size_t tensor() const noexcept { return *tensor_; }
  [[nodiscard]] bool is_tensor(std::size_t output) const noexcept { return tensor_ == output; }
  /// Returns the reason why values of this output cannot fill `input`, or an empty text if they can. Boxes can fill a
  /// float32 tensor of shape [n, 6], which holds at most n boxes.
  [[nodiscard]] std::string problem_of(const Workload& workload, const Tensor& input) const;
  /// Copies the output into `bytes`, which must have the size of the receiving tensor. If the output is boxes, copies
  /// as many boxes as fit, and fills the rest with zeros.
  void copy(const OutputJob& results, std::span<std::byte> bytes) const noexcept;

  friend bool operator==(const Output&, const Output&) = default;

 private:
  std::optional<std::size_t> tensor_;
};

} // namespace rtexec::channels
