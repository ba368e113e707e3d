// Helper functions that the lowerings of float products and int8 products share.
#pragma once

#include "tasks/engine/cuda/lowering_context.hpp"

#include <optional>
#include <vector>

namespace rtexec::tasks::cuda {

/// The destination of a matrix product. `y` has the output's shape; `flat` is the same memory as a matrix with all
/// rows.
struct Destination {
  PlacedTensor y, flat;
};
[[nodiscard]] Destination row_destination(LoweringContext& context, TensorId id, const Shape& flat, Storage of);

/// Returns the row beta * c of `gemm` if c is a single row, which is added to every row of the product. Returns an
/// empty row if there is no c, and nullopt if c has more than one row.
[[nodiscard]] std::optional<std::vector<float>> row_bias(const LoweringContext& context, const Node& node,
                                                         const Gemm& gemm);

/// Returns the destination of the attention's result, [..., heads, m, e]. In memory, the dimensions heads and m are
/// exchanged, because the next nodes read the heads of one row together.
[[nodiscard]] PlacedTensor attended(LoweringContext& context, const Node& node);

} // namespace rtexec::tasks::cuda
