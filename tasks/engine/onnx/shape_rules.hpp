// What shapes, axes and indices mean in ONNX, for tensors and for shape arithmetic alike.
#pragma once

#include "tasks/engine/onnx/node_context.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::tasks::onnx_source {

/// Axes from input 1 where this opset has them there, or else from the attribute.
[[nodiscard]] std::vector<std::int64_t> axes_of(NodeContext& node);
/// `given`, counted from the front and each once, or all axes of a tensor of `rank` dimensions where it is null.
[[nodiscard]] std::vector<std::size_t> named_axes(NodeContext& node, std::size_t rank,
                                                  const std::vector<std::int64_t>* given);

/// The shape that Reshape asks for, for an input of shape `x`: 0 copies a dimension, -1 takes what is left.
[[nodiscard]] Shape requested_shape(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& request);
[[nodiscard]] Shape squeezed(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& axes);
[[nodiscard]] Shape unsqueezed(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& axes);

/// What Slice takes of one dimension.
struct Cut {
  std::int64_t start = 0, step = 1, count = 0;
};
/// One cut for each dimension of a Slice of `x`.
[[nodiscard]] std::vector<Cut> cuts_of(NodeContext& node, const Shape& x);

/// Indices into a dimension of `size`, negative ones counted from the end.
[[nodiscard]] std::vector<std::int64_t> checked_indices(NodeContext& node, std::vector<std::int64_t> indices,
                                                        std::int64_t size);

/// What Cast converts to.
[[nodiscard]] ElementType cast_target(NodeContext& node);
/// Of an onnx.TensorProto.DataType, as ONNX has it.
[[nodiscard]] std::string type_name(std::int64_t data_type);
/// The type that such elements have in and out of a network, and as constants; none where they are not supported.
/// BFLOAT16, which neither C++ nor .npy has, is FLOAT without its last bits: floats.
[[nodiscard]] std::optional<ElementType> element_type(std::int64_t data_type);
inline constexpr const char* supported_types =
    "FLOAT, DOUBLE, FLOAT16, BFLOAT16, BOOL, INT8 to INT64 and UINT8 to UINT64";
/// That an attribute names.
[[nodiscard]] ElementType data_type(NodeContext& node, const char* attribute);
/// The shape that NumPy broadcasts both to.
[[nodiscard]] Shape broadcast(NodeContext& node, const Shape& a, const Shape& b);
/// Of the dimensions [first, last).
[[nodiscard]] std::int64_t product(const Shape& shape, std::size_t first, std::size_t last);

} // namespace rtexec::tasks::onnx_source
