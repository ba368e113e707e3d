// Reductions and softmax over some dimensions of a tensor (reduced indices), for each index of the other dimensions
// (kept indices).
//
// Several threads share a kept index, and divide its reduced indices among them. In the kernels named "rows", these
// threads are a whole block or, if there is little to reduce, some lanes of a warp. The kernels named "columns" serve
// tensors in which neighbours in memory have different kept indices. There each lane of a warp has its own kept index,
// and the same lanes of several warps share it. network_arguments.hpp defines the numbers of threads and warps.
#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/integers.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

template <class T> using Parts = T[reduce_most_warps][32];

struct Sum {
  template <class T> DEVICE static T of(T a, T b) { return a + b; }
};
struct Product {
  template <class T> DEVICE static T of(T a, T b) { return a * b; }
};
struct Minimum {
  template <class T> DEVICE static T of(T a, T b) { return b < a ? b : a; }
};
struct Maximum {
  template <class T> DEVICE static T of(T a, T b) { return a < b ? b : a; }
};

DEVICE unsigned own_thread() { return static_cast<unsigned>(thread_index()); }
DEVICE unsigned of_block(unsigned threads) { return static_cast<unsigned>(block_threads()) / threads; }

/// Neighbouring threads that together reduce the elements of one kept index.
struct Rows {
  /// The thread processes the reduced indices first, first + step, first + 2 * step, and so on, for the index `kept`.
  unsigned step, kept, first;
  bool writes;

  DEVICE Rows(unsigned, unsigned reduced) : step(reduce_row_threads(reduced)) {
    const unsigned row = own_thread() / step;
    kept = static_cast<unsigned>(block_x()) * of_block(step) + row;
    first = own_thread() - row * step;
    writes = first == 0;
  }
  template <class Operation, class T> DEVICE T all(T value) const {
    for (unsigned lanes = step < 32 ? step : 32; lanes > 1; lanes /= 2)
      value = Operation::of(value, exchange(value, static_cast<int>(lanes / 2)));
    if (step <= 32) return value;
    auto& parts = shared_memory<Parts<T>>();
    if (thread_index() % 32 == 0) parts[thread_index() / 32][0] = value;
    barrier();
    value = parts[0][0];
    for (unsigned warp = 1; warp < step / 32; ++warp) value = Operation::of(value, parts[warp][0]);
    barrier();
    return value;
  }
};

/// Threads with the same lane number in several warps, which together reduce the elements of one kept index.
struct Columns {
  unsigned step, kept, first;
  bool writes;

  DEVICE Columns(unsigned all_kept, unsigned reduced) : step(reduce_column_warps(all_kept, reduced)) {
    const unsigned warp = own_thread() / 32, group = warp / step;
    kept = (static_cast<unsigned>(block_x()) * of_block(32 * step) + group) * 32 + own_thread() % 32;
    first = warp - group * step;
    writes = first == 0;
  }
  template <class Operation, class T> DEVICE T all(T value) const {
    if (step == 1) return value;
    auto& parts = shared_memory<Parts<T>>();
    const unsigned lane = own_thread() % 32, warp = own_thread() / 32;
    parts[warp][lane] = value;
    barrier();
    value = parts[warp - first][lane];
    for (unsigned i = 1; i < step; ++i) value = Operation::of(value, parts[warp - first + i][lane]);
    barrier();
    return value;
  }
};

/// The elements of a tensor from `begin` on, read as floats.
template <class Stored> struct Floats {
  using Scalar = Stored;
  using Value = float;
  const Scalar* const x;
  DEVICE Floats(const ReduceArguments& p, long long begin) : x(static_cast<const Scalar*>(p.x) + begin) {}
  DEVICE Value at(long long i) const { return to_float(x[i]); }
  DEVICE static unsigned order(Value value) { return order_of(value); }
};
/// The elements of a tensor from `begin` on, read as integers.
struct Integers {
  using Value = Integer;
  const void* const x;
  const long long begin;
  const Storage storage;
  DEVICE Integers(const ReduceArguments& p, long long first) : x(p.x), begin(first), storage(p.storage) {}
  DEVICE Value at(long long i) const { return load_integer(x, begin + i, storage); }
  DEVICE Integer order(Value value) const { return order_of(value, storage); }
};

/// The elements of one kept index. Several threads divide these elements among them.
template <class Elements, class Threads> struct Index {
  using Value = typename Elements::Value;
  const ReduceArguments& p;
  const unsigned all_kept, reduced;
  const Threads threads;
  const bool inside;
  const Elements elements;
  const long long y; // offset of the result in y

  DEVICE explicit Index(const ReduceArguments& arguments)
      : p(arguments),
        all_kept(element_count(p.kept)),
        reduced(element_count(p.reduced)),
        threads(all_kept, reduced),
        inside(threads.kept < all_kept),
        elements(p, inside ? offset_of(p.kept, threads.kept) : 0),
        y(inside ? offset_of(p.y_kept, threads.kept) : 0) {}

  /// Calls f(x, i) for each of this thread's elements. x is the element and i its reduced index.
  template <class F> DEVICE void each(F f) const {
    if (!inside) return;
    if (p.reduced.rank == 1) {
      const long long stride = p.reduced.stride[0];
#pragma unroll 4
      for (unsigned i = threads.first; i < reduced; i += threads.step) f(elements.at(i * stride), i);
    } else {
      for (unsigned i = threads.first; i < reduced; i += threads.step) f(elements.at(offset_of(p.reduced, i)), i);
    }
  }

  /// Returns the combination by Operation of term(x) over all elements x. `neutral` must be the neutral element of
  /// Operation.
  template <class Operation, class T, class Term> DEVICE T put_together(T neutral, Term term) const {
    T value = neutral;
    each([&](Value element, unsigned) { value = Operation::of(value, term(element)); });
    return threads.template all<Operation>(value);
  }
  template <class Operation> DEVICE Value put_together(Value neutral) const {
    return put_together<Operation>(neutral, [](Value element) { return element; });
  }

  [[nodiscard]] DEVICE bool writes() const { return inside && threads.writes; }
};

template <class Elements, class Threads> DEVICE float reduced(const Index<Elements, Threads>& index) {
  switch (index.p.kind) {
  case ReduceArguments::product: return index.template put_together<Product>(1.0F);
  case ReduceArguments::minimum: return index.template put_together<Minimum>(infinity);
  case ReduceArguments::maximum: return index.template put_together<Maximum>(-infinity);
  case ReduceArguments::squares: return index.template put_together<Sum>(0.0F, [](float x) { return x * x; });
  case ReduceArguments::sum: return index.template put_together<Sum>(0.0F);
  default: return index.template put_together<Sum>(0.0F) / static_cast<float>(index.reduced);
  }
}

template <class Scalar, class Threads> DEVICE void reduce(const ReduceArguments& p) {
  let_next_start();
  const Index<Floats<Scalar>, Threads> index(p);
  wait_for_previous();
  const float value = activated_quickly(reduced(index), p.activation);
  if (index.writes()) static_cast<Scalar*>(p.y)[index.y] = from_float<Scalar>(value);
}

template <class Threads> DEVICE Integer reduced_integer(const Index<Integers, Threads>& index) {
  constexpr Integer all_bits = ~0ULL;
  const Storage storage = index.p.storage;
  const auto order = [storage](Integer x) { return order_of(x, storage); }; // this function is its own inverse
  switch (index.p.kind) {
  case ReduceArguments::product: return index.template put_together<Product>(Integer{1});
  case ReduceArguments::minimum: return order(index.template put_together<Minimum>(all_bits, order));
  case ReduceArguments::maximum: return order(index.template put_together<Maximum>(Integer{0}, order));
  case ReduceArguments::squares: return index.template put_together<Sum>(Integer{0}, [](Integer x) { return x * x; });
  default: return index.template put_together<Sum>(Integer{0});
  }
}

template <class Threads> DEVICE void reduce_integers(const ReduceArguments& p) {
  let_next_start();
  const Index<Integers, Threads> index(p);
  wait_for_previous();
  const Integer value = reduced_integer(index);
  if (index.writes()) store_integer(p.y, index.y, p.storage, value);
}

/// Computes the index of an extreme: finds the extreme value first, then its index.
template <class Elements, class Threads> DEVICE void find(const ReduceArguments& p) {
  let_next_start();
  const Index<Elements, Threads> index(p);
  wait_for_previous();
  const bool least = p.kind == ReduceArguments::first_minimum || p.kind == ReduceArguments::last_minimum;
  const bool first = p.kind == ReduceArguments::first_minimum || p.kind == ReduceArguments::first_maximum;
  using Order = decltype(index.elements.order({}));
  const auto order = [&](typename Elements::Value x) {
    const Order value = index.elements.order(x);
    return least ? ~value : value;
  };
  const Order extreme = index.template put_together<Maximum>(Order{0}, order);
  unsigned place = first ? index.reduced - 1 : 0;
  index.each([&](typename Elements::Value x, unsigned i) {
    if (order(x) == extreme) place = first ? Minimum::of(place, i) : Maximum::of(place, i);
  });
  place = first ? index.threads.template all<Minimum>(place) : index.threads.template all<Maximum>(place);
  if (index.writes()) static_cast<long long*>(p.y)[index.y] = place;
}

template <class Scalar, class Threads, bool logarithmic> DEVICE void softmax(const ReduceArguments& p) {
  let_next_start();
  const Index<Floats<Scalar>, Threads> index(p);
  wait_for_previous();
  const float most = index.template put_together<Maximum>(-infinity);
  const float sum = index.template put_together<Sum>(0.0F, [&](float x) { return exponential(x - most); });
  if (!index.inside) return;
  Scalar* y = static_cast<Scalar*>(p.y) + index.y;
  const bool nothing = p.may_be_nothing && most == -infinity;
  const float log = logarithmic ? logarithm(sum) : 0.0F;
  index.each([&](float x, unsigned i) {
    const float less = x - most;
    const float value = nothing ? 0.0F : logarithmic ? less - log : exponential(less) / sum;
    y[offset_of(p.y_reduced, i)] = from_float<Scalar>(value);
  });
}

} // namespace

KERNEL(reduce_rows_f, 256, ReduceArguments) { reduce<float, Rows>(arguments); }
KERNEL(reduce_rows_h, 256, ReduceArguments) { reduce<Half, Rows>(arguments); }
KERNEL(reduce_columns_f, 256, ReduceArguments) { reduce<float, Columns>(arguments); }
KERNEL(reduce_columns_h, 256, ReduceArguments) { reduce<Half, Columns>(arguments); }
KERNEL(find_rows_f, 256, ReduceArguments) { find<Floats<float>, Rows>(arguments); }
KERNEL(find_rows_h, 256, ReduceArguments) { find<Floats<Half>, Rows>(arguments); }
KERNEL(find_columns_f, 256, ReduceArguments) { find<Floats<float>, Columns>(arguments); }
KERNEL(find_columns_h, 256, ReduceArguments) { find<Floats<Half>, Columns>(arguments); }
KERNEL(reduce_rows_i, 256, ReduceArguments) { reduce_integers<Rows>(arguments); }
KERNEL(reduce_columns_i, 256, ReduceArguments) { reduce_integers<Columns>(arguments); }
KERNEL(find_rows_i, 256, ReduceArguments) { find<Integers, Rows>(arguments); }
KERNEL(find_columns_i, 256, ReduceArguments) { find<Integers, Columns>(arguments); }
KERNEL(softmax_rows_f, 256, ReduceArguments) { softmax<float, Rows, false>(arguments); }
KERNEL(softmax_rows_h, 256, ReduceArguments) { softmax<Half, Rows, false>(arguments); }
KERNEL(softmax_columns_f, 256, ReduceArguments) { softmax<float, Columns, false>(arguments); }
KERNEL(softmax_columns_h, 256, ReduceArguments) { softmax<Half, Columns, false>(arguments); }
KERNEL(log_softmax_rows_f, 256, ReduceArguments) { softmax<float, Rows, true>(arguments); }
KERNEL(log_softmax_rows_h, 256, ReduceArguments) { softmax<Half, Rows, true>(arguments); }
KERNEL(log_softmax_columns_f, 256, ReduceArguments) { softmax<float, Columns, true>(arguments); }
KERNEL(log_softmax_columns_h, 256, ReduceArguments) { softmax<Half, Columns, true>(arguments); }

} // namespace rtexec::tasks::cuda
