// The weights of int8 layers in the layout that kernels read.
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "tasks/engine/cuda/int8_plan.hpp"

#include <cstdint>
#include <vector>

namespace rtexec::tasks::cuda {

struct Int8Weights {
  std::vector<std::int8_t> packed; // [out][taps][channels]; zero in padding channels
  std::vector<std::int32_t> sums;  // for each output channel, the sum of its weights
};
/// Packs the constant weights of `node`, a convolution or matrix product. `channels` is the number of input channels
/// including padding.
[[nodiscard]] Int8Weights int8_weights(const Graph& graph, const Node& node, const QuantizedConstant& weights,
                                       std::int64_t channels);

/// Returns how much a value exceeds the signed byte that stores it: 128 for u8, otherwise 0.
[[nodiscard]] constexpr float shift_of(Storage storage) { return storage == Storage::u8 ? 128 : 0; }
/// Convert the scale and zero point of values to the scale and zero point of the bytes that store the values in
/// `storage`. Parameters of floats do not change.
[[nodiscard]] inline Dequantise stored_as(Storage storage, const Dequantise& from) {
  return {from.scale, from.zero - shift_of(storage)};
}
[[nodiscard]] inline Levels stored_as(Storage storage, const Quantise& to) {
  const float shift = shift_of(storage);
  return {to.scale, to.zero - shift, to.low - shift, to.high - shift};
}

} // namespace rtexec::tasks::cuda
