#include "tasks/engine/cuda/conv_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace rtexec::tasks::cuda {
namespace {

constexpr int piece = 128;       // number of bytes of each row that are multiplied in one iteration
constexpr int row = piece + 16;  // bytes from one row to the next in shared memory
constexpr int alignment = 16;    // alignment of copied 16-byte chunks, in bytes
constexpr int matrix_units = 80; // first architecture with these Tensor Core kernels
constexpr int clusters = 90;

constexpr int min_shared = 48 << 10; // shared memory, in bytes, that every architecture allows a block

/// Returns the maximum shared memory of a block in bytes (CUDA C++ Programming Guide, compute capabilities).
int max_shared(int architecture) {
  switch (architecture) {
  case 72: return 96 << 10;
  case 75: return 64 << 10;
  case 80:
  case 87: return 163 << 10;
  case 86:
  case 89:
  case 120:
  case 121: return 99 << 10;
  case 90:
  case 100:
  case 101:
  case 103: return 227 << 10;
  default: return min_shared;
  }
}

constexpr int storage_size(ConvMath math) {
  if (math == ConvMath::simt_b || math == ConvMath::int8) return 1;
  return math == ConvMath::simt_h || math == ConvMath::half ? 2 : 4;
}

#define SIMT(math, storage, rows, columns, own_rows, own_columns, stages) \
  {"conv_" #math "_" #rows "x" #columns,                                  \
   ConvMath::math,                                                        \
   rows,                                                                  \
   columns,                                                               \
   rows / own_rows * columns / own_columns,                               \
   stages * (rows + columns) * row,                                       \
   0},
#define MATRIX(math, storage, product, rows, columns, down, across, stages) \
  {"conv_" #math "_" #rows "x" #columns "_" #down "x" #across,              \
   ConvMath::math,                                                          \
   rows,                                                                    \
   columns,                                                                 \
   down * across * 32,                                                      \
   stages * (rows + columns) * row,                                         \
   matrix_units},
#define SIMT_VARIANTS VARIANTS(simt_f, float) VARIANTS(simt_h, Half) VARIANTS(simt_b, Byte)
#define MATRIX_VARIANTS              \
  VARIANTS(tf32, float, Tf32Product) \
  VARIANTS(tf32x3, float, Tf32x3Product) VARIANTS(half, Half, HalfProduct) VARIANTS(int8, Byte, ByteProduct)
constexpr ConvVariant table[] = {
#include "tasks/engine/cuda/kernels/conv_variants.inc"
};

int up(int value, int unit) { return (value + unit - 1) / unit; }

int pixels(const ConvArguments& conv) { return conv.batch * conv.out_height * conv.out_width; }

int pieces(const ConvVariant& variant, const ConvArguments& conv) {
  return up(conv.kernel_h * conv.kernel_w * conv.channels * storage_size(variant.math), piece);
}

/// Returns the number of tiles of `conv`. If the sum is not split, this is also the number of blocks.
int tiles(const ConvVariant& variant, const ConvArguments& conv) {
  return up(pixels(conv), variant.rows) * up(conv.out_channels, variant.columns) * conv.groups;
}

bool aligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % alignment == 0; }

/// True if most of the work on tiles is useful. At most half of a tile's columns may lie beyond the group's channels,
/// and at most half of its rows beyond the last pixel. The limits are looser for small tiles and small sizes.
bool fits(const ConvVariant& variant, const ConvArguments& conv) {
  const auto waste = [](int size, int unit) { return up(size, unit) * unit > 2 * std::max(size, 8); };
  return !waste(conv.out_channels, variant.columns) &&
         (variant.rows <= 16 || !waste(std::max(pixels(conv), 16), variant.rows));
}

/// Returns the arithmetic for `conv` on Tensor Cores if `matrix` is set, otherwise on CUDA cores.
ConvMath math_of(Precision precision, const ConvArguments& conv, bool matrix) {
  if (conv.is_int8) return matrix ? ConvMath::int8 : ConvMath::simt_b;
  if (precision == Precision::fp16) return matrix ? ConvMath::half : ConvMath::simt_h;
  if (!matrix) return ConvMath::simt_f;
  return precision == Precision::tf32 ? ConvMath::tf32 : ConvMath::tf32x3;
}

/// True if the arithmetic of `variant` is worth measuring for `conv`. `matrix` is true if the device has Tensor Cores.
bool computes(const ConvVariant& variant, Precision precision, const ConvArguments& conv, bool matrix) {
  const bool as_precise = precision == Precision::fp32 && !conv.is_int8 && variant.math == ConvMath::simt_f;
  return variant.math == math_of(precision, conv, matrix) || as_precise;
}

/// Returns the numbers of splits to measure: 1, and the numbers with which there are about one, two, three and four
/// blocks for each multiprocessor.
std::vector<int> splits_to_try(const ConvVariant& variant, const ConvArguments& conv, int multiprocessors) {
  const int most = max_splits(variant, conv);
  std::vector<int> splits{1};
  for (const int waves : {1, 2, 3, 4}) {
    const int wanted = std::clamp(waves * multiprocessors / tiles(variant, conv), 1, most);
    if (std::ranges::find(splits, wanted) == splits.end()) splits.push_back(wanted);
  }
  return splits;
}

} // namespace

std::span<const ConvVariant> conv_variants() { return table; }

const ConvVariant* find_conv_variant(std::string_view kernel) {
  const auto found =
      std::ranges::find(table, kernel, [](const ConvVariant& variant) { return std::string_view(variant.kernel); });
  return found == std::end(table) ? nullptr : &*found;
}

std::string to_string(const ConvChoice& choice) {
  return choice.variant->kernel + (" splits " + std::to_string(choice.splits)) +
         (choice.in_cluster ? " clustered" : "");
}

Result<ConvChoice> parse_conv_choice(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string kernel, separator, clustered, more;
  ConvChoice choice;
  const bool read = static_cast<bool>(words >> kernel >> separator >> choice.splits);
  words >> clustered >> more;
  choice.variant = find_conv_variant(kernel);
  choice.in_cluster = clustered == "clustered";
  const int most = choice.in_cluster ? max_in_cluster : 64;
  if (!read || separator != "splits" || !choice.variant || choice.splits < 1 || choice.splits > most ||
      (!clustered.empty() && !choice.in_cluster) || !more.empty())
    return fail(Errc::bad_input, "there is no convolution kernel '" + std::string(text) + "'");
  return choice;
}

bool applies(const ConvVariant& variant, const ConvArguments& conv) {
  const int size = storage_size(variant.math);
  const auto whole = [&](int elements) { return elements * size % alignment == 0; };
  const bool in_grid = up(conv.out_channels, variant.columns) <= max_blocks && conv.groups <= max_blocks;
  return whole(conv.channels) && whole(conv.x_stride) && aligned(conv.x) && aligned(conv.weights) && in_grid;
}

int max_splits(const ConvVariant& variant, const ConvArguments& conv) {
  constexpr int min_pieces = 2; // minimum number of pieces in one split
  return std::clamp(std::min(pieces(variant, conv) / min_pieces, max_blocks / conv.groups), 1, 64);
}

ConvLaunch plan_conv(const ConvChoice& choice, const ConvArguments& conv) {
  const ConvVariant& variant = *choice.variant;
  ConvLaunch launch;
  launch.kernel = {variant.kernel,
                   static_cast<unsigned>(up(pixels(conv), variant.rows)),
                   static_cast<unsigned>(up(conv.out_channels, variant.columns)),
                   static_cast<unsigned>(conv.groups * choice.splits),
                   static_cast<unsigned>(variant.threads),
                   static_cast<unsigned>(variant.shared)};
  if (choice.in_cluster) {
    launch.kernel.cluster_z = static_cast<unsigned>(choice.splits);
  } else if (choice.splits > 1) {
    launch.counters = static_cast<std::size_t>(tiles(variant, conv));
    launch.partial = launch.counters * static_cast<std::size_t>(choice.splits * variant.rows * variant.columns);
  }
  return launch;
}

std::vector<ConvChoice> conv_candidates(Precision precision, int architecture, int multiprocessors,
                                        const ConvArguments& conv) {
  std::vector<ConvChoice> candidates;
  const bool matrix = architecture >= matrix_units;
  for (const ConvVariant& variant : table) {
    if (!applies(variant, conv) || !fits(variant, conv)) continue;
    if (variant.minimum_architecture > architecture || variant.shared > max_shared(architecture)) continue;
    if (!computes(variant, precision, conv, matrix)) continue;
    for (const int splits : splits_to_try(variant, conv, multiprocessors)) {
      candidates.push_back({&variant, splits, false});
      if (architecture >= clusters && splits > 1 && splits <= max_in_cluster)
        candidates.push_back({&variant, splits, true});
    }
  }
  return candidates;
}

ConvChoice default_conv(Precision precision, const ConvArguments& conv) {
  const ConvMath math = math_of(precision, conv, false);
  constexpr int multiprocessors = 32; // number of multiprocessors of a medium-sized device
  ConvChoice best;
  int best_blocks = 0;
  for (const ConvVariant& variant : table) {
    if (variant.math != math || variant.shared > min_shared || !applies(variant, conv) || !fits(variant, conv))
      continue;
    const ConvChoice choice{&variant, std::clamp(multiprocessors / tiles(variant, conv), 1, max_splits(variant, conv)),
                            false};
    const int blocks = tiles(variant, conv) * choice.splits;
    if (!best.variant || (best_blocks < multiprocessors && blocks > best_blocks)) {
      best = choice;
      best_blocks = blocks;
    }
  }
  return best;
}

} // namespace rtexec::tasks::cuda
