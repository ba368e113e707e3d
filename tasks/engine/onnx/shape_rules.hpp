// The ONNX rules for shapes, axes and indices, shared by tensors and shape arithmetic.
#pragma once

#include "tasks/engine/onnx/node_context.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::tasks::onnx_source {

/// Returns the axes from input 1 if this opset passes them there, else from the attribute.
[[nodiscard]] std::vector<std::int64_t> axes_of(NodeContext& node);
/// Returns `given`, counted from the front and without duplicates, or all axes of `rank` dimensions if `given` is null.
[[nodiscard]] std::vector<std::size_t> named_axes(NodeContext& node, std::size_t rank,
                                                  const std::vector<std::int64_t>* given);

/// Returns the shape that Reshape requests for an input of shape `x`: 0 copies a dimension, -1 takes the remaining
/// elements.
[[nodiscard]] Shape requested_shape(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& request);
[[nodiscard]] Shape squeezed(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& axes);
[[nodiscard]] Shape unsqueezed(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& axes);

/// The range that Slice takes of one dimension.
struct Cut {
  std::int64_t start = 0, step = 1, count = 0;
};
/// Returns one range for each dimension of a Slice of `x`.
[[nodiscard]] std::vector<Cut> cuts_of(NodeContext& node, const Shape& x);

/// Returns indices into a dimension of `size`; negative ones count from the end. Refuses indices outside.
[[nodiscard]] std::vector<std::int64_t> checked_indices(NodeContext& node, std::vector<std::int64_t> indices,
                                                        std::int64_t size);

/// Returns the target type of Cast.
[[nodiscard]] ElementType cast_target(NodeContext& node);
/// Returns the ONNX name of an onnx.TensorProto.DataType.
[[nodiscard]] std::string type_name(std::int64_t data_type);
/// Returns the engine's type for ONNX elements in inputs, outputs and constants, or nullopt if it is not supported.
/// BFLOAT16, which neither C++ nor .npy has, is read as float32 with the low bits zero.
[[nodiscard]] std::optional<ElementType> element_type(std::int64_t data_type);
inline constexpr const char* supported_types =
    "FLOAT, DOUBLE, FLOAT16, BFLOAT16, BOOL, INT8 to INT64 and UINT8 to UINT64";
/// Returns the type that an attribute names.
[[nodiscard]] ElementType data_type(NodeContext& node, const char* attribute);
/// Returns the shape that NumPy broadcasts both shapes to.
[[nodiscard]] Shape broadcast(NodeContext& node, const Shape& a, const Shape& b);
/// Returns the product of the dimensions [first, last).
[[nodiscard]] std::int64_t product(const Shape& shape, std::size_t first, std::size_t last);

} // namespace rtexec::tasks::onnx_source
