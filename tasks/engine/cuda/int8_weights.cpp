#include "tasks/engine/cuda/int8_weights.hpp"

namespace rtexec::tasks::cuda {

Int8Weights int8_weights(const Graph& graph, const Node& node, const QuantizedConstant& weights,
                         std::int64_t channels) {
  const auto& shape = graph.tensors[node.inputs[1]].shape;
  const bool is_conv = shape.size() == 4;
  const auto* gemm = std::get_if<Gemm>(&node.operation);
  const bool in_rows = is_conv || (gemm && gemm->transpose_b);
  const auto out = shape[in_rows ? 0 : 1], in = shape[in_rows ? 1 : 0], taps = is_conv ? shape[2] * shape[3] : 1;
  Int8Weights result;
  result.packed.resize(static_cast<std::size_t>(out * taps * channels), 0);
  result.sums.resize(static_cast<std::size_t>(out), 0);
  for (std::int64_t o = 0; o < out; ++o)
    for (std::int64_t c = 0; c < in; ++c)
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const auto weight = weights.values[static_cast<std::size_t>(in_rows ? (o * in + c) * taps + tap : c * out + o)];
        result.packed[static_cast<std::size_t>((o * taps + tap) * channels + c)] = weight;
        result.sums[static_cast<std::size_t>(o)] += weight;
      }
  return result;
}

} // namespace rtexec::tasks::cuda
