#include "tasks/engine/cuda/attention_plan.hpp"

#include <algorithm>
#include <array>

namespace rtexec::tasks::cuda {
namespace {

constexpr int max_shared = 99 << 10; // bytes of shared memory that every architecture from sm_80 on allows a block
constexpr int many_blocks = 128;     // minimum number of blocks that keeps a large device busy

struct Row {
  int element, chunk; // size of an element in bytes; number of elements in 16 bytes
};
Row row_of(Precision precision) { return precision == Precision::fp16 ? Row{2, 8} : Row{4, 4}; }

bool whole(const View& view, int chunk) {
  for (int d = 0; d < view.rank; ++d)
    if (view.stride[d] % chunk != 0) return false;
  return true;
}

int shared_for(int size, int key_warps, Precision precision) {
  const auto [element, chunk] = row_of(precision);
  const int row = size * element + 16, rows = attention_warps / key_warps * 16;
  const int keys = key_warps * (element == 2 ? attention_keys<short> : attention_keys<float>);
  const int together = key_warps == 1 ? 0 : (2 * attention_warps * 16 + attention_warps * 16 * (size + 4)) * 4;
  return std::max(rows * row + 2 * (2 * keys * row), together);
}

} // namespace

#define NAMES(math, size) \
  std::array { "attention_" #math "_" #size "_1", "attention_" #math "_" #size "_2", "attention_" #math "_" #size "_4" }
const char* attention_kernel(Precision precision, int size, int key_warps) {
  static constexpr std::array names{std::array{NAMES(tf32x3, 32), NAMES(tf32x3, 64), NAMES(tf32x3, 128)},
                                    std::array{NAMES(tf32, 32), NAMES(tf32, 64), NAMES(tf32, 128)},
                                    std::array{NAMES(half, 32), NAMES(half, 64), NAMES(half, 128)}};
  const std::size_t math = precision == Precision::fp32 ? 0 : precision == Precision::tf32 ? 1 : 2;
  return names[math][size == 32 ? 0 : size == 64 ? 1 : 2][key_warps == 1 ? 0 : key_warps == 2 ? 1 : 2];
}
#undef NAMES

std::optional<Launch> plan_attention(const AttentionArguments& a, Precision precision) {
  const auto [element, chunk] = row_of(precision);
  const auto rows = [&](long long row, long long column, const View& batch) {
    return column == 1 && row % chunk == 0 && whole(batch, chunk);
  };
  const int longest = std::max(a.d, a.e);
  if (longest > 128 || a.d % chunk != 0 || a.e % chunk != 0 || a.y_column != 1 ||
      !rows(a.q_row, a.q_column, a.q_batch) || !rows(a.k_row, a.k_column, a.k_batch) ||
      !rows(a.v_row, a.v_column, a.v_batch) || a.y_row % 2 != 0 || !whole(a.y_batch, 2))
    return std::nullopt;
  const int size = longest <= 32 ? 32 : longest <= 64 ? 64 : 128;
  int batches = 1;
  for (int d = 0; d < a.q_batch.rank; ++d) batches *= a.q_batch.shape[d];
  if (batches > max_blocks) return std::nullopt;
  std::optional<Launch> best;
  for (const int key_warps : {1, 2, 4}) {
    const int own_rows = attention_warps / key_warps * 16, blocks = (a.m + own_rows - 1) / own_rows;
    const int shared = shared_for(size, key_warps, precision);
    if (shared > max_shared) continue;
    best = Launch{attention_kernel(precision, size, key_warps),
                  static_cast<unsigned>(blocks),
                  static_cast<unsigned>(batches),
                  1,
                  attention_warps * 32,
                  static_cast<unsigned>(shared)};
    if (blocks * batches >= many_blocks) break;
  }
  return best;
}

} // namespace rtexec::tasks::cuda
