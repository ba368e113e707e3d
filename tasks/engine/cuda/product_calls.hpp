// What products of floats and of integers have in common.
#pragma once

#include "tasks/engine/cuda/lowering_context.hpp"

#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {

/// A matrix of all rows, under the output's shape.
struct Destination {
  PlacedTensor y, flat;
};
[[nodiscard]] Destination row_destination(LoweringContext& context, TensorId id, const Shape& flat, Storage of);

/// beta * c, for every row the same; empty without c. Nothing where c is more than a row.
[[nodiscard]] std::optional<std::vector<float>> row_bias(const LoweringContext& context, const Node& node,
                                                         const Gemm& gemm);

/// Where attention's result goes, [..., heads, m, e], of which heads and rows are exchanged in memory: what follows
/// wants the heads of a row side by side.
[[nodiscard]] PlacedTensor attended(LoweringContext& context, const Node& node);

} // namespace rtexec::tasks::cuda
