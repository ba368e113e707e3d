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

struct Minimum {
  DEVICE static float of(float a, float b) { return b < a ? b : a; }
};
struct Product {
  DEVICE static float of(float a, float b) { return a * b; }
};

/// term(x) of all of `reduced`, put together by Operation; `neutral` changes nothing.
template <class Scalar, class Threads, class Operation, class Term>
DEVICE float put_together(const ReduceArguments& p, float neutral, Term term) {
  const unsigned kept = Threads::kept(), count = element_count(p.reduced);
  float value = neutral;
  if (kept < element_count(p.kept)) {
    const Scalar* x = static_cast<const Scalar*>(p.x) + offset_of(p.kept, kept);
    for (unsigned i = Threads::first(); i < count; i += Threads::step())
      value = Operation::of(value, term(to_float(x[offset_of(p.reduced, i)])));
  }
  return Threads::template all<Operation>(value);
}

template <class Scalar, class Threads> DEVICE float reduced(const ReduceArguments& p) {
  const auto same = [](float x) { return x; };
  switch (p.kind) {
  case ReduceArguments::product: return put_together<Scalar, Threads, Product>(p, 1.0F, same);
  case ReduceArguments::minimum: return put_together<Scalar, Threads, Minimum>(p, infinity, same);
  case ReduceArguments::maximum: return put_together<Scalar, Threads, Maximum>(p, -infinity, same);
  case ReduceArguments::squares: return put_together<Scalar, Threads, Sum>(p, 0.0F, [](float x) { return x * x; });
  case ReduceArguments::sum: return put_together<Scalar, Threads, Sum>(p, 0.0F, same);
  default: return put_together<Scalar, Threads, Sum>(p, 0.0F, same) / static_cast<float>(element_count(p.reduced));
  }
}

template <class Result, class Threads> DEVICE void write(const ReduceArguments& p, float value) {
  const unsigned kept = Threads::kept();
  if (kept < element_count(p.kept) && Threads::writes())
    static_cast<Result*>(p.y)[offset_of(p.y_kept, kept)] = from_float<Result>(value);
}

template <class Scalar, class Threads> DEVICE void reduce(const ReduceArguments& p) {
  let_next_start();
  wait_for_previous();
  write<Scalar, Threads>(p, activated_quickly(reduced<Scalar, Threads>(p), p.activation));
}

/// The extreme first, and then where it stands.
template <class Scalar, class Threads> DEVICE void find(const ReduceArguments& p) {
  let_next_start();
  wait_for_previous();
  const auto same = [](float x) { return x; };
  const bool least = p.kind == ReduceArguments::first_minimum || p.kind == ReduceArguments::last_minimum;
  const bool first = p.kind == ReduceArguments::first_minimum || p.kind == ReduceArguments::first_maximum;
  const float extreme = least ? put_together<Scalar, Threads, Minimum>(p, infinity, same)
                              : put_together<Scalar, Threads, Maximum>(p, -infinity, same);
  const unsigned kept = Threads::kept(), count = element_count(p.reduced);
  float place = first ? static_cast<float>(count - 1) : 0.0F;
  if (kept < element_count(p.kept)) {
    const Scalar* x = static_cast<const Scalar*>(p.x) + offset_of(p.kept, kept);
    for (unsigned i = Threads::first(); i < count; i += Threads::step())
      if (to_float(x[offset_of(p.reduced, i)]) == extreme)
        place = first ? Minimum::of(place, static_cast<float>(i)) : Maximum::of(place, static_cast<float>(i));
  }
  write<float, Threads>(p, first ? Threads::template all<Minimum>(place) : Threads::template all<Maximum>(place));
}

template <class Scalar, class Threads, bool logarithmic> DEVICE void softmax(const ReduceArguments& p) {
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
  const bool nothing = p.may_be_nothing && most == -infinity;
  const float log = logarithmic ? logarithm(sum) : 0.0F;
  for (unsigned i = Threads::first(); i < count; i += Threads::step()) {
    const float less = to_float(x[offset_of(p.reduced, i)]) - most;
    const float value = nothing ? 0.0F : logarithmic ? less - log : exponential(less) / sum;
    y[offset_of(p.y_reduced, i)] = from_float<Scalar>(value);
  }
}

} // namespace

KERNEL(reduce_rows_f, 256, ReduceArguments) { reduce<float, Rows>(arguments); }
KERNEL(reduce_rows_h, 256, ReduceArguments) { reduce<Half, Rows>(arguments); }
KERNEL(reduce_columns_f, 256, ReduceArguments) { reduce<float, Columns>(arguments); }
KERNEL(reduce_columns_h, 256, ReduceArguments) { reduce<Half, Columns>(arguments); }
KERNEL(find_rows_f, 256, ReduceArguments) { find<float, Rows>(arguments); }
KERNEL(find_rows_h, 256, ReduceArguments) { find<Half, Rows>(arguments); }
KERNEL(find_columns_f, 256, ReduceArguments) { find<float, Columns>(arguments); }
KERNEL(find_columns_h, 256, ReduceArguments) { find<Half, Columns>(arguments); }
KERNEL(softmax_rows_f, 256, ReduceArguments) { softmax<float, Rows, false>(arguments); }
KERNEL(softmax_rows_h, 256, ReduceArguments) { softmax<Half, Rows, false>(arguments); }
KERNEL(softmax_columns_f, 256, ReduceArguments) { softmax<float, Columns, false>(arguments); }
KERNEL(softmax_columns_h, 256, ReduceArguments) { softmax<Half, Columns, false>(arguments); }
KERNEL(log_softmax_rows_f, 256, ReduceArguments) { softmax<float, Rows, true>(arguments); }
KERNEL(log_softmax_rows_h, 256, ReduceArguments) { softmax<Half, Rows, true>(arguments); }
KERNEL(log_softmax_columns_f, 256, ReduceArguments) { softmax<float, Columns, true>(arguments); }
KERNEL(log_softmax_columns_h, 256, ReduceArguments) { softmax<Half, Columns, true>(arguments); }

} // namespace rtexec::tasks::cuda
