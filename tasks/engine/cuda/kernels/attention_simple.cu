// Attention for any size, any strides and any device. One block computes each query. First its threads divide the keys
// among them; shared memory holds the scores of some keys at a time. Then the threads divide the columns of the values
// among them.
#include "tasks/engine/cuda/kernels/functions.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {

struct AttentionScores {
  float of[1024];
  float parts[4];
};

namespace {

constexpr int threads = 128;
constexpr int keys_at_once = 1024;
constexpr int own_columns = attention_most_columns / threads;

template <bool largest> DEVICE float together(AttentionScores& shared, float value) {
  for (int mask = 16; mask > 0; mask /= 2) {
    const float other = exchange(value, mask);
    value = largest ? at_least(value, other) : value + other;
  }
  barrier();
  if (thread_index() % 32 == 0) shared.parts[thread_index() / 32] = value;
  barrier();
  value = shared.parts[0];
  for (int i = 1; i < threads / 32; ++i) value = largest ? at_least(value, shared.parts[i]) : value + shared.parts[i];
  return value;
}

template <class Scalar> DEVICE void attend_simply(const AttentionArguments& p) {
  let_next_start();
  wait_for_previous();
  auto& shared = shared_memory<AttentionScores>();
  const unsigned batch = static_cast<unsigned>(block_y());
  const long long row = block_x();
  const Scalar* q = static_cast<const Scalar*>(p.q) + offset_of(p.q_batch, batch) + row * p.q_row;
  const Scalar* k = static_cast<const Scalar*>(p.k) + offset_of(p.k_batch, batch);
  const Scalar* v = static_cast<const Scalar*>(p.v) + offset_of(p.v_batch, batch);
  const Scalar* mask =
      p.mask ? static_cast<const Scalar*>(p.mask) + offset_of(p.mask_batch, batch) + row * p.mask_row : nullptr;
  float most = -infinity, total = 0, sums[own_columns] = {};
  for (int first = 0; first < p.n; first += keys_at_once) {
    const int count = p.n - first < keys_at_once ? p.n - first : keys_at_once;
    float largest = most;
    for (int i = thread_index(); i < count; i += threads) {
      float score = 0;
      for (int d = 0; d < p.d; ++d)
        score = multiply_add(to_float(q[d * p.q_column]), to_float(k[(first + i) * p.k_row + d * p.k_column]), score);
      score *= p.scale;
      if (mask) score += to_float(mask[(first + i) * p.mask_column]);
      shared.of[i] = score;
      largest = at_least(largest, score);
    }
    largest = together<true>(shared, largest);
    const float base = largest == -infinity ? 0.0F : largest;
    float sum = 0;
    for (int i = thread_index(); i < count; i += threads) {
      shared.of[i] = shared.of[i] == -infinity ? 0.0F : exponential(shared.of[i] - base);
      sum += shared.of[i];
    }
    sum = together<false>(shared, sum); // ensures that all threads have written their scores
    const float shrunk = exponential(most - base);
    most = largest;
    total = multiply_add(total, shrunk, sum);
#pragma unroll
    for (int j = 0; j < own_columns; ++j) {
      const int column = thread_index() + j * threads;
      if (column >= p.e) continue;
      sums[j] *= shrunk;
      for (int i = 0; i < count; ++i)
        sums[j] = multiply_add(shared.of[i], to_float(v[(first + i) * p.v_row + column * p.v_column]), sums[j]);
    }
    barrier();
  }
  Scalar* y = static_cast<Scalar*>(p.y) + offset_of(p.y_batch, batch) + row * p.y_row;
#pragma unroll
  for (int j = 0; j < own_columns; ++j) {
    const int column = thread_index() + j * threads;
    if (column < p.e) y[column * p.y_column] = from_float<Scalar>(total > 0.0F ? sums[j] / total : 0.0F);
  }
}

} // namespace

KERNEL(attention_f, 128, AttentionArguments) { attend_simply<float>(arguments); }
KERNEL(attention_h, 128, AttentionArguments) { attend_simply<Half>(arguments); }

} // namespace rtexec::tasks::cuda
