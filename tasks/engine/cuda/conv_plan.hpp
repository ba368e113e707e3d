// The convolution kernels of this project: their list, the convolutions that each kernel supports, and their launches.
// Pure functions: no device is needed.
//
// The kernels compute an implicit matrix product (implicit GEMM). Its rows are output pixels, and its columns are
// output channels of one group. Each sum runs over the taps (elements of the filter window) and the input channels of
// the group. The kernels process 128 bytes of a row at a time. One block computes one tile of rows x columns.
//
// If there are few tiles, the sums are split: `splits` blocks share a tile. If these blocks form no cluster, each block
// writes its partial sums to `partial` and increments the tile's counter in `counters`. The last block to do so adds
// the partial sums in a fixed order. If the blocks form a cluster, each block adds up a share of the tile. It reads the
// partial sums from the shared memory of the other blocks.
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
  tf32x3, // float, Tensor Cores: three tf32 products for each float product; as accurate as float
  simt_h, // half, CUDA cores; computed in float
  half,   // half, Tensor Cores; sums are float
  simt_b, // int8, CUDA cores; one instruction adds four products
  int8,   // int8, Tensor Cores
};

struct ConvVariant {
  const char* kernel; // name of the kernel, and of this variant in profiles
  ConvMath math;
  int rows, columns; // size of a tile
  int threads;
  int shared; // bytes of dynamic shared memory
  int minimum_architecture;
};
[[nodiscard]] std::span<const ConvVariant> conv_variants();
/// Returns the variant named `kernel`, or null if there is none.
[[nodiscard]] const ConvVariant* find_conv_variant(std::string_view kernel);

/// True if `variant` computes `conv` correctly. The pixels, the channels of a group and the weights must begin at
/// multiples of 16 bytes, and the grid must not exceed its maximum size. The function reads only the alignment of
/// pointers; a null pointer counts as aligned.
[[nodiscard]] bool applies(const ConvVariant& variant, const ConvArguments& conv);

struct ConvChoice {
  const ConvVariant* variant = nullptr;
  int splits = 1;
  /// True if the blocks that share a tile form a cluster. They then add their sums in shared memory, without `partial`
  /// and `counters`. A cluster needs sm_90 and at most `max_in_cluster` splits.
  bool in_cluster = false;
};
inline constexpr int max_in_cluster = 8;

/// Convert a choice to a text such as "conv_tf32_64x64 splits 3 clustered", and back. parse_conv_choice() returns
/// bad_input if the variant or the number of splits does not exist.
[[nodiscard]] std::string to_string(const ConvChoice& choice);
[[nodiscard]] Result<ConvChoice> parse_conv_choice(std::string_view text);

struct ConvLaunch {
  Launch kernel;
  std::size_t partial = 0;  // number of floats of `partial` that the launch needs
  std::size_t counters = 0; // number of words of `counters` that the launch needs; they must be zero before it
};
/// Returns the launch of `choice`. The caller must also set ConvArguments::splits and in_cluster from `choice`.
[[nodiscard]] ConvLaunch plan_conv(const ConvChoice& choice, const ConvArguments& conv);
/// Returns the maximum number of splits that is useful for `conv` with `variant`.
[[nodiscard]] int max_splits(const ConvVariant& variant, const ConvArguments& conv);

/// Returns the choices that are worth measuring for `conv`, or no choices if no variant supports it. `architecture` is
/// 10 * major + minor. `multiprocessors` is the number of multiprocessors of the device.
[[nodiscard]] std::vector<ConvChoice> conv_candidates(Precision precision, int architecture, int multiprocessors,
                                                      const ConvArguments& conv);
/// Returns a choice for any device, without measuring. It uses CUDA cores only. The choice's `variant` is null if no
/// variant supports `conv`.
[[nodiscard]] ConvChoice default_conv(Precision precision, const ConvArguments& conv);

} // namespace rtexec::tasks::cuda
