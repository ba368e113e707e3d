#include "rtexec/runtime/channels/task_output.hpp"

#include "tasks/base/shape.hpp"
#include "rtexec/runtime/channels/bytes.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::channels {
namespace {

bool holds_boxes(const Tensor& tensor) {
  return tensor.type == ElementType::float32 && !tensor.shape.empty() &&
         tensor.shape.back() == static_cast<std::int64_t>(numbers_of_box);
}

constexpr const char* no_boxes =
    "it has no boxes: rtexec.task = \"detect\" is missing in its model's metadata, or its workload is not a detector";

bool makes_boxes(const Workload& workload) { return workload.recognises() == Recognition::boxes; }

std::string known(const Workload& workload) {
  std::string names = makes_boxes(workload) ? std::string(detections) : "";
  for (const Tensor& tensor : workload.outputs()) names += (names.empty() ? "" : ", ") + tensor.name;
  return names.empty() ? "none" : names;
}

} // namespace

std::size_t size_of_values(const Tensor& tensor) noexcept {
  return size_of(tensor.type) * static_cast<std::size_t>(tasks::element_count(tensor.shape));
}

std::string shown(const Tensor& tensor) {
  std::string dimensions;
  for (const std::int64_t size : tensor.shape) dimensions += (dimensions.empty() ? "" : ", ") + std::to_string(size);
  return std::string(name(tensor.type)) + " [" + dimensions + "]";
}

std::array<float, numbers_of_box> numbers(const Box& box) noexcept {
  return {box.left, box.top, box.right, box.bottom, box.score, static_cast<float>(box.label)};
}

Result<Output> Output::of(const Workload& workload, const std::string& name) {
  Output output;
  const auto tensors = workload.outputs();
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  if (name == detections && !makes_boxes(workload))
    return fail(Errc::bad_input, no_boxes + std::string("; known: ") + known(workload));
  if (name == detections) return output;
  if (name.empty() && tensors.size() == 1) output.tensor_ = 0;
  else if (found != tensors.end()) output.tensor_ = static_cast<std::size_t>(found - tensors.begin());
  if (output.tensor_) return output;
  return fail(Errc::bad_input, (name.empty() ? "it has " + std::to_string(tensors.size()) + " outputs: name one of them"
                                             : "it has no output '" + name + "'") +
                                   "; known: " + known(workload));
}

std::string Output::problem_of(const Workload& workload, const Tensor& input) const {
  if (is_detections())
    return holds_boxes(input) ? ""
                              : "boxes need an input of float32 [n, 6], and '" + input.name + "' is " + shown(input);
  const Tensor& given = workload.outputs()[*tensor_];
  if (given.type == input.type && given.shape == input.shape) return {};
  return "'" + given.name + "' is " + shown(given) + ", and the input '" + input.name + "' is " + shown(input);
}

void Output::copy(const OutputJob& results, std::span<std::byte> bytes) const noexcept {
  if (tensor_) {
    copy_bytes(results.outputs[*tensor_].bytes, bytes);
    return;
  }
  constexpr std::size_t size = numbers_of_box * sizeof(float);
  const std::size_t boxes = std::min(bytes.size() / size, results.detections.size());
  for (std::size_t i = 0; i < boxes; ++i)
    std::memcpy(bytes.data() + i * size, numbers(results.detections[i]).data(), size);
  std::ranges::fill(bytes.subspan(boxes * size), std::byte{0});
}

} // namespace rtexec::channels
