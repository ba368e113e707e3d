// One output of a workload for its receivers: a tensor, or a detector's boxes as a tensor.
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
/// The numbers of a box: left, top, right, bottom, score, class.
inline constexpr std::size_t numbers_of_box = 6;
/// The maximum number of boxes of one job that are forwarded.
inline constexpr std::size_t max_boxes = 256;
[[nodiscard]] std::array<float, numbers_of_box> numbers(const Box& box) noexcept;

/// Returns the size in bytes, even if the device has not allocated the buffer yet.
[[nodiscard]] std::size_t size_of_values(const Tensor& tensor) noexcept;
[[nodiscard]] std::string shown(const Tensor& tensor);

class Output {
 public:
  /// Returns the output of this name; an empty name stands for the only one. Returns bad_input if there is no such
  /// output, with the existing ones. A workload that never has detections has no output of that name.
  [[nodiscard]] static Result<Output> of(const Workload& workload, const std::string& name);

  [[nodiscard]] bool is_detections() const noexcept { return !tensor_; }
  /// Returns the tensor's number among the outputs.
  [[nodiscard]] std::size_t tensor() const noexcept { return *tensor_; }
  [[nodiscard]] bool is_tensor(std::size_t output) const noexcept { return tensor_ == output; }
  /// Returns the reason why values of this output cannot fill `input`; empty: they can. Detections fill float32 of
  /// shape [n, 6], at most n boxes.
  [[nodiscard]] std::string problem_of(const Workload& workload, const Tensor& input) const;
  /// Copies the output into `bytes`, which has the size of the tensor. Copies as many boxes as fit, and fills the rest
  /// with zeros.
  void copy(const OutputJob& results, std::span<std::byte> bytes) const noexcept;

  friend bool operator==(const Output&, const Output&) = default;

 private:
  std::optional<std::size_t> tensor_;
};

} // namespace rtexec::channels
