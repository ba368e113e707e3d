#include "tasks/engine/graph/graph.hpp"

namespace rtexec::tasks {

bool adds_a_row(const Graph& graph, const Node& gemm) {
  if (gemm.inputs.size() < 3) return true;
  const auto& c = graph.tensors[gemm.inputs[2]];
  const auto count = element_count(c.shape), columns = graph.tensors[gemm.output].shape.back();
  return c.constant() && (count == 1 || (count == columns && c.shape.back() == columns));
}

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(element_count(tensor.shape)) * stored_size(tensor.type);
}

std::int64_t wrapped(std::int64_t value, ElementType type) {
  switch (type) {
  case ElementType::boolean: return value != 0;
  case ElementType::uint8: return static_cast<std::uint8_t>(value);
  case ElementType::int8: return static_cast<std::int8_t>(value);
  case ElementType::uint16: return static_cast<std::uint16_t>(value);
  case ElementType::int16: return static_cast<std::int16_t>(value);
  case ElementType::uint32: return static_cast<std::uint32_t>(value);
  case ElementType::int32: return static_cast<std::int32_t>(value);
  default: return value;
  }
}

std::span<const std::byte> stored(const Tensor& constant) {
  return is_integer(constant.type) ? constant.integers.bytes() : std::as_bytes(std::span(constant.values));
}

std::string dimensions(const Shape& shape) {
  if (shape.empty()) return "no dimension (a scalar)";
  return std::to_string(shape.size()) + (shape.size() == 1 ? " dimension (" : " dimensions (") + to_string(shape) + ")";
}

std::vector<std::int64_t> dense_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::vector<std::int64_t> broadcast(const Shape& from, const std::vector<std::int64_t>& strides, const Shape& to) {
  std::vector<std::int64_t> result(to.size(), 0);
  const auto missing = to.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1) result[missing + d] = strides[d];
  return result;
}

} // namespace rtexec::tasks
