// Which convolution kernels of ours there are, where each applies, and how it is launched. Pure: no device is needed.
//
// The kernels compute an implicit matrix product: rows are output pixels, columns are output channels of one group, the
// sum runs over kernel and channels in pieces of 128 bytes. A tile of rows x columns is one block's work. Where there
// are few tiles, the sum is split: `splits` blocks share a tile: each writes its part to `partial`, and the one that
// comes last (it counts in `counters`) adds them in a fixed order; or they are one cluster, and each adds up a share of
// the tile from the others' shared memory.
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

/// Storage and arithmetic of a kernel.
enum class ConvMath {
  simt_f, // float, multiply-add units
  tf32,   // float, matrix units on tf32
  tf32x3, // float, matrix units: each factor as a sum of two tf32, three products; as accurate as float
  simt_h, // half, multiply-add units in float
  half,   // half, matrix units with sums in float
  simt_b, // bytes, multiply-add units: four products at once
  int8,   // bytes, matrix units
};

struct ConvVariant {
  const char* kernel; // its name, and the variant's
  ConvMath math;
  int rows, columns; // of a tile
  int threads;
  int shared; // bytes, dynamic
  int minimum_architecture;
};
[[nodiscard]] std::span<const ConvVariant> conv_variants();
/// Null where there is none.
[[nodiscard]] const ConvVariant* find_conv_variant(std::string_view kernel);

/// True where `variant` computes `conv` rightly: pixels, channels of a group and weights begin at multiples of 16
/// bytes, and there are no more tiles than a grid can have. Depends on addresses only by their alignment: null pointers
/// are taken as aligned.
[[nodiscard]] bool applies(const ConvVariant& variant, const ConvArguments& conv);

struct ConvChoice {
  const ConvVariant* variant = nullptr;
  int splits = 1;
  /// Sm_90 on, up to `max_in_cluster` splits: they meet in shared memory, without partial and counters
  bool in_cluster = false;
};
inline constexpr int max_in_cluster = 8;

/// "conv_tf32_64x64 splits 3 clustered", and back; bad_input: there is no such variant or number.
[[nodiscard]] std::string to_string(const ConvChoice& choice);
[[nodiscard]] Result<ConvChoice> parse_conv_choice(std::string_view text);

struct ConvLaunch {
  Launch kernel;
  std::size_t partial = 0;  // floats
  std::size_t counters = 0; // words, zero before the launch
};
/// `choice` goes into ConvArguments::splits and in_cluster as well.
[[nodiscard]] ConvLaunch plan_conv(const ConvChoice& choice, const ConvArguments& conv);
/// Largest useful number of splits.
[[nodiscard]] int max_splits(const ConvVariant& variant, const ConvArguments& conv);

/// What is worth measuring for `conv`; empty where no variant applies. `architecture` as 10 * major + minor.
[[nodiscard]] std::vector<ConvChoice> conv_candidates(Precision precision, int architecture, int multiprocessors,
                                                      const ConvArguments& conv);
/// Without measuring: for any device, so multiply-add units only. Null variant where none applies.
[[nodiscard]] ConvChoice default_conv(Precision precision, const ConvArguments& conv);

} // namespace rtexec::tasks::cuda
