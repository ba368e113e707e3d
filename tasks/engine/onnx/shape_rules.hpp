// The ONNX rules for shapes, axes and indices, shared by tensors and shape arithmetic.
#pragma once

#include "tasks/engine/onnx/node_context.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::tasks::onnx_source {

/// Returns the axes of the node. They are input 1 if the node's opset passes axes as an input, and otherwise an
/// attribute.
[[nodiscard]] std::vector<std::int64_t> axes_of(NodeContext& node);
/// Returns the axes `given` as indices from the front, without duplicates. Returns all axes of `rank` dimensions if
/// `given` is null.
[[nodiscard]] std::vector<std::size_t> named_axes(NodeContext& node, std::size_t rank,
                                                  const std::vector<std::int64_t>* given);

/// Returns the shape that a Reshape with the sizes `request` makes of shape `x`. A size of 0 copies the dimension of
/// `x`. A size of -1 becomes the size with which the number of elements stays the same.
[[nodiscard]] Shape requested_shape(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& request);
[[nodiscard]] Shape squeezed(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& axes);
[[nodiscard]] Shape unsqueezed(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& axes);

/// The range of one dimension that a Slice selects.
struct Cut {
  std::int64_t start = 0, step = 1, count = 0;
};
/// Returns the selected range of each dimension for a Slice of a tensor of shape `x`.
[[nodiscard]] std::vector<Cut> cuts_of(NodeContext& node, const Shape& x);

/// Returns indices into a dimension of `size`. Negative indices count from the end. Refuses indices outside of the
/// dimension.
[[nodiscard]] std::vector<std::int64_t> checked_indices(NodeContext& node, std::vector<std::int64_t> indices,
                                                        std::int64_t size);

/// Returns the target type of Cast.
[[nodiscard]] ElementType cast_target(NodeContext& node);
/// Returns the ONNX name of a value of onnx.TensorProto.DataType.
[[nodiscard]] std::string type_name(std::int64_t data_type);
/// Returns the engine's type for elements of an ONNX type, or nullopt if the type is not supported. BFLOAT16 becomes
/// float32 with zeros in the low bits, because neither C++ nor .npy has that type.
[[nodiscard]] std::optional<ElementType> element_type(std::int64_t data_type);
inline constexpr const char* supported_types =
    "FLOAT, DOUBLE, FLOAT16, BFLOAT16, BOOL, INT8 to INT64 and UINT8 to UINT64";
/// Returns the element type that an attribute names.
[[nodiscard]] ElementType data_type(NodeContext& node, const char* attribute);
/// Returns the shape to which `a` and `b` are broadcast as in NumPy.
[[nodiscard]] Shape broadcast(NodeContext& node, const Shape& a, const Shape& b);
/// Returns the product of the dimensions [first, last).
[[nodiscard]] std::int64_t product(const Shape& shape, std::size_t first, std::size_t last);

} // namespace rtexec::tasks::onnx_source
