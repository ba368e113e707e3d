// Helpers that the lowering of float products and int8 products share.
#pragma once

#include "tasks/engine/cuda/lowering_context.hpp"

#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {

/// The output of a matrix product. `y` has the output's shape, and `flat` is the same memory as a matrix of all rows.
struct Destination {
  PlacedTensor y, flat;
};
[[nodiscard]] Destination row_destination(LoweringContext& context, TensorId id, const Shape& flat, Storage of);

/// Returns beta * c as one row that is added to every row; empty if there is no c. Returns nullopt if c is more than
/// one row.
[[nodiscard]] std::optional<std::vector<float>> row_bias(const LoweringContext& context, const Node& node,
                                                         const Gemm& gemm);

/// Returns the destination of an attention's result, [..., heads, m, e]. Heads and rows are exchanged in memory: the
/// next nodes need the heads of a row side by side.
[[nodiscard]] PlacedTensor attended(LoweringContext& context, const Node& node);

} // namespace rtexec::tasks::cuda
