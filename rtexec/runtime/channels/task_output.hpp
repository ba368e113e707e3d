// One output of a workload as others take it: a tensor, or the boxes of a detector as one.
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
/// Left, top, right, bottom, score, class.
inline constexpr std::size_t numbers_of_box = 6;
/// Of one job that are handed on, at most.
inline constexpr std::size_t max_boxes = 256;
[[nodiscard]] std::array<float, numbers_of_box> numbers(const Box& box) noexcept;

/// In bytes, also where the device has not given the buffer yet.
[[nodiscard]] std::size_t size_of_values(const Tensor& tensor) noexcept;
[[nodiscard]] std::string shown(const Tensor& tensor);

class Output {
 public:
  /// The one of this name; an empty name stands for the only one. bad_input: there is none, with those that there are;
  /// detections of a workload that never has any are none.
  [[nodiscard]] static Result<Output> of(const Workload& workload, const std::string& name);

  [[nodiscard]] bool is_detections() const noexcept { return !tensor_; }
  /// Of a tensor, its number among the outputs.
  [[nodiscard]] std::size_t tensor() const noexcept { return *tensor_; }
  [[nodiscard]] bool is_tensor(std::size_t output) const noexcept { return tensor_ == output; }
  /// Empty, or why values of this output cannot fill `input`: detections fill float32 of shape [n, 6], n boxes at most.
  [[nodiscard]] std::string problem_of(const Workload& workload, const Tensor& input) const;
  /// Copies it into `bytes`, as large as the tensor. Boxes: those that there is room for, and zeros behind them.
  void copy(const OutputJob& results, std::span<std::byte> bytes) const noexcept;

  friend bool operator==(const Output&, const Output&) = default;

 private:
  std::optional<std::size_t> tensor_;
};

} // namespace rtexec::channels
