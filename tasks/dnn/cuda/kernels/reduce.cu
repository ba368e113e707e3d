// Means and softmax over some dimensions for each index of the others.
//
// "rows": a block for each index that is kept; its threads share the indices that are reduced. "columns": for where
// neighbours in memory are kept, not reduced: each lane of a block has an index that is kept, its warps share those
// that are reduced.
#include "tasks/dnn/cuda/kernels/activation.cuh"
#include "tasks/dnn/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

constexpr int most_warps = 8;
using Parts = float[most_warps][32];

struct Sum {
  DEVICE static float of(float a, float b) { return a + b; }
};
struct Maximum {
  DEVICE static float of(float a, float b) { return a < b ? b : a; }
};

DEVICE long long offset_of(const View& view, unsigned index) {
  long long at = 0;
  each_index<1>(view, index, [&](int d, int i) { at += i * view.stride[d]; });
  return at;
}

/// The threads of a block that work on one index: the whole block.
struct Rows {
  DEVICE static unsigned kept() { return static_cast<unsigned>(block_x()); }
  DEVICE static unsigned first() { return static_cast<unsigned>(thread_index()); }
  DEVICE static unsigned step() { return static_cast<unsigned>(block_threads()); }
  DEVICE static bool writes() { return thread_index() == 0; }
  template <class Operation> DEVICE static float all(float value) {
    for (int mask = 16; mask > 0; mask /= 2) value = Operation::of(value, exchange(value, mask));
    const int warps = block_threads() / 32;
    if (warps == 1) return value;
    auto& parts = shared_memory<Parts>();
    if (thread_index() % 32 == 0) parts[thread_index() / 32][0] = value;
    barrier();
    value = parts[0][0];
    for (int warp = 1; warp < warps; ++warp) value = Operation::of(value, parts[warp][0]);
    barrier();
    return value;
  }
};

/// One lane of each warp.
struct Columns {
  DEVICE static unsigned kept() {
    return static_cast<unsigned>(block_x()) * 32U + static_cast<unsigned>(thread_index()) % 32U;
  }
  DEVICE static unsigned first() { return static_cast<unsigned>(thread_index()) / 32U; }
  DEVICE static unsigned step() { return static_cast<unsigned>(block_threads()) / 32U; }
  DEVICE static bool writes() { return thread_index() < 32; }
  template <class Operation> DEVICE static float all(float value) {
    auto& parts = shared_memory<Parts>();
    const int lane = thread_index() % 32, warps = block_threads() / 32;
    parts[thread_index() / 32][lane] = value;
    barrier();
    value = parts[0][lane];
    for (int warp = 1; warp < warps; ++warp) value = Operation::of(value, parts[warp][lane]);
    barrier();
    return value;
  }
};

template <class Scalar, class Threads> DEVICE void reduce_mean(const ReduceArguments& p) {
  let_next_start();
  wait_for_previous();
  const unsigned kept = Threads::kept(), count = element_count(p.reduced);
  const bool inside = kept < element_count(p.kept);
  float sum = 0;
  if (inside) {
    const Scalar* x = static_cast<const Scalar*>(p.x) + offset_of(p.kept, kept);
    for (unsigned i = Threads::first(); i < count; i += Threads::step()) sum += to_float(x[offset_of(p.reduced, i)]);
  }
  sum = Threads::template all<Sum>(sum);
  if (inside && Threads::writes())
    static_cast<Scalar*>(p.y)[offset_of(p.y_kept, kept)] = from_float<Scalar>(sum / static_cast<float>(count));
}

template <class Scalar, class Threads> DEVICE void softmax(const ReduceArguments& p) {
  let_next_start();
  wait_for_previous();
  const unsigned kept = Threads::kept(), count = element_count(p.reduced);
  const bool inside = kept < element_count(p.kept);
  const Scalar* x = static_cast<const Scalar*>(p.x) + (inside ? offset_of(p.kept, kept) : 0);
  float most = -infinity;
  if (inside)
    for (unsigned i = Threads::first(); i < count; i += Threads::step())
      most = Maximum::of(most, to_float(x[offset_of(p.reduced, i)]));
  most = Threads::template all<Maximum>(most);
  float sum = 0;
  if (inside)
    for (unsigned i = Threads::first(); i < count; i += Threads::step())
      sum += exponential(to_float(x[offset_of(p.reduced, i)]) - most);
  sum = Threads::template all<Sum>(sum);
  if (!inside) return;
  Scalar* y = static_cast<Scalar*>(p.y) + offset_of(p.y_kept, kept);
  for (unsigned i = Threads::first(); i < count; i += Threads::step())
    y[offset_of(p.y_reduced, i)] = from_float<Scalar>(exponential(to_float(x[offset_of(p.reduced, i)]) - most) / sum);
}

} // namespace

KERNEL(reduce_mean_rows_f, 256, ReduceArguments) { reduce_mean<float, Rows>(arguments); }
KERNEL(reduce_mean_rows_h, 256, ReduceArguments) { reduce_mean<Half, Rows>(arguments); }
KERNEL(reduce_mean_columns_f, 256, ReduceArguments) { reduce_mean<float, Columns>(arguments); }
KERNEL(reduce_mean_columns_h, 256, ReduceArguments) { reduce_mean<Half, Columns>(arguments); }
KERNEL(softmax_rows_f, 256, ReduceArguments) { softmax<float, Rows>(arguments); }
KERNEL(softmax_rows_h, 256, ReduceArguments) { softmax<Half, Rows>(arguments); }
KERNEL(softmax_columns_f, 256, ReduceArguments) { softmax<float, Columns>(arguments); }
KERNEL(softmax_columns_h, 256, ReduceArguments) { softmax<Half, Columns>(arguments); }

} // namespace rtexec::tasks::cuda
