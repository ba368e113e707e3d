// Our convolution kernels: which exist, which convolutions each one supports, and how each is launched. Pure: no device
// is needed.
//
// The kernels compute an implicit matrix product (implicit GEMM). Rows are output pixels, columns are output channels
// of one group, and the sum runs over kernel and channels in pieces of 128 bytes. One block computes one tile of rows x
// columns. If there are few tiles, the sum is split: `splits` blocks share a tile. Without a cluster, each block writes
// its part to `partial` and increments the tile's counter in `counters`. The last block then adds the parts in a fixed
// order. As a cluster, each block adds up a share of the tile from the other blocks' shared memory.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::tasks::cuda {

/// The storage and arithmetic of a kernel.
enum class ConvMath {
  simt_f, // float, CUDA cores
  tf32,   // float, Tensor Cores in tf32
  tf32x3, // float, Tensor Cores: each factor as a sum of two tf32, three products; as accurate as float
  simt_h, // half, CUDA cores in float
  half,   // half, Tensor Cores with sums in float
  simt_b, // int8, CUDA cores: four products at once
  int8,   // int8, Tensor Cores
};

struct ConvVariant {
  const char* kernel; // the name of the kernel and of the variant
  ConvMath math;
  int rows, columns; // of a tile
  int threads;
  int shared; // bytes of dynamic shared memory
  int minimum_architecture;
};
[[nodiscard]] std::span<const ConvVariant> conv_variants();
/// Returns null if no variant has this name.
[[nodiscard]] const ConvVariant* find_conv_variant(std::string_view kernel);

/// True if `variant` computes `conv` correctly. Pixels, channels of a group and weights must begin at multiples of 16
/// bytes, and the tiles must fit into a grid. Reads only the alignment of pointers; a null pointer counts as aligned.
[[nodiscard]] bool applies(const ConvVariant& variant, const ConvArguments& conv);

struct ConvChoice {
  const ConvVariant* variant = nullptr;
  int splits = 1;
  /// True if the splits form a cluster and combine their sums in shared memory, without `partial` and `counters`. Needs
  /// sm_90 and at most `max_in_cluster` splits.
  bool in_cluster = false;
};
inline constexpr int max_in_cluster = 8;

/// Convert a choice to text such as "conv_tf32_64x64 splits 3 clustered", and back. Parsing returns bad_input if there
/// is no such variant or number of splits.
[[nodiscard]] std::string to_string(const ConvChoice& choice);
[[nodiscard]] Result<ConvChoice> parse_conv_choice(std::string_view text);

struct ConvLaunch {
  Launch kernel;
  std::size_t partial = 0;  // floats
  std::size_t counters = 0; // words, zero before the launch
};
/// Returns the launch of `choice`. The caller must also set ConvArguments::splits and in_cluster from `choice`.
[[nodiscard]] ConvLaunch plan_conv(const ConvChoice& choice, const ConvArguments& conv);
/// Returns the largest useful number of splits.
[[nodiscard]] int max_splits(const ConvVariant& variant, const ConvArguments& conv);

/// Returns the choices that are worth measuring for `conv`; empty if no variant applies. `architecture` is 10 * major +
/// minor.
[[nodiscard]] std::vector<ConvChoice> conv_candidates(Precision precision, int architecture, int multiprocessors,
                                                      const ConvArguments& conv);
/// Returns a choice for any device without measuring, so it uses CUDA cores only. The variant is null if none applies.
[[nodiscard]] ConvChoice default_conv(Precision precision, const ConvArguments& conv);

} // namespace rtexec::tasks::cuda
