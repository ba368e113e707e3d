// Where the largest (smallest) elements of rows stand.
#include "tasks/dnn/cuda/kernels/functions.cuh"
#include "tasks/dnn/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {

/// A number for each element of a row, smaller for what comes first: no two are equal.
using Rank = unsigned long long;
constexpr int digit_bits = 12, digits = 1 << digit_bits; // of ranks
constexpr int digits_of_thread = digits / top_most_kept;

/// What the threads of a block share that select the first of a row.
struct Selection {
  alignas(16) unsigned counts[digits]; // of ranks that have a digit
  Rank ranks[2][top_most_kept];
  unsigned selected;
  unsigned sums[32]; // of warps
  unsigned digit, before, with_digit;
};

namespace {

/// Each thread counts how many stand before its element: that is where its index goes.
template <class Scalar> DEVICE void top_indices(const TopIndicesArguments& p) {
  let_next_start();
  wait_for_previous();
  const Scalar* x = static_cast<const Scalar*>(p.x) + offset_of(p.x_view, static_cast<unsigned>(block_y()));
  const int own = static_cast<int>(first_item());
  if (own >= p.count) return;
  const float sign = p.largest ? 1.0F : -1.0F;
  const float value = sign * to_float(x[own * p.x_stride]);
  int before = 0;
#pragma unroll 8
  for (int i = 0; i < own; ++i) before += sign * to_float(x[i * p.x_stride]) >= value ? 1 : 0;
#pragma unroll 8
  for (int i = own + 1; i < p.count; ++i) before += sign * to_float(x[i * p.x_stride]) > value ? 1 : 0;
  if (before < p.kept)
    p.y[offset_of(p.y_view, static_cast<unsigned>(block_y())) + before * p.y_stride] = static_cast<float>(own);
}

template <class Scalar> constexpr int key_bits = 8 * static_cast<int>(sizeof(Scalar));
template <class Scalar> constexpr int index_bits = sizeof(Scalar) == 2 ? 32 : 28; // at least those of any index
template <class Scalar> constexpr int rank_bits = key_bits<Scalar> + index_bits<Scalar>;

DEVICE unsigned bits_of(float x) { return float_bits(x); }
DEVICE unsigned bits_of(Half x) { return x.bits; }

/// First the element, of which there is one zero, then its index.
template <class Scalar> DEVICE Rank rank_of(Scalar x, int index, bool largest) {
  constexpr unsigned sign = 1U << static_cast<unsigned>(key_bits<Scalar> - 1);
  const unsigned bits = bits_of(x), magnitude = bits & (sign - 1);
  const bool negative = (bits & sign) != 0;
  const unsigned key = negative == largest ? sign + magnitude : sign - magnitude;
  return static_cast<Rank>(key) << static_cast<unsigned>(index_bits<Scalar>) | static_cast<unsigned>(index);
}

/// For rows that are long. A block narrows down, digit by digit from counts, where the last rank that is kept is, until
/// what is up to there fits into a block; and puts that in order.
template <class Scalar> struct Selecting {
  static_assert(rank_bits<Scalar> % digit_bits == 0);
  static_assert(top_most_kept == 32 * 32); // sums of warps are summed up by a warp

  const TopIndicesArguments& p;
  Selection& shared;
  const Scalar* x;
  int own;
  Rank last = (1ULL << static_cast<unsigned>(rank_bits<Scalar>)) - 1; // the greatest with the digits that are known
  unsigned before = 0, with_known = 0; // how many ranks are less than all with these digits, and how many have them

  DEVICE void clear() {
    *reinterpret_cast<Words<digits_of_thread>*>(&shared.counts[own * digits_of_thread]) = {};
    if (own == 0) shared.selected = 0;
  }

  /// f(rank) for each of the row's, shared among the threads.
  template <class F> DEVICE void each(F f) const {
    constexpr int chunk = chunk_elements<Scalar>;
    const int chunks = p.x_stride == 1 && aligned(x) ? p.count / chunk : 0;
    const bool largest = p.largest;
#pragma unroll 1
    for (int i = own; i < chunks; i += block_threads()) {
      Chunk<Scalar> elements;
      elements.load(x + i * chunk);
#pragma unroll
      for (int j = 0; j < chunk; ++j) f(rank_of(elements.at(j), i * chunk + j, largest));
    }
#pragma unroll 1
    for (int i = chunks * chunk + own; i < p.count; i += block_threads()) f(rank_of(x[i * p.x_stride], i, largest));
  }

  /// Of all threads before this one.
  DEVICE unsigned sum_before(unsigned value) const {
    const int lane = own % 32, warp = own / 32;
    unsigned sum = 0, of_warp = value, of_warps = 0;
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
      const unsigned other = exchange(of_warp, mask);
      if (lane & mask) sum += other;
      of_warp += other;
    }
    if (lane == 0) shared.sums[warp] = of_warp;
    barrier();
    if (lane < warp) of_warps = shared.sums[lane];
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) of_warps += exchange(of_warps, mask);
    return sum + of_warps;
  }

  template <int shift> DEVICE void find_digit() {
    constexpr int known = shift + digit_bits;
    const SharedAddress to = shared_address(shared.counts);
    each([&](Rank rank) {
      const unsigned digit = static_cast<unsigned>(rank >> static_cast<unsigned>(shift)) & (digits - 1);
      if (known == rank_bits<Scalar> || rank >> static_cast<unsigned>(known) == last >> static_cast<unsigned>(known))
        count_up_shared(to + 4 * digit);
    });
    barrier();
    const auto counts = *reinterpret_cast<const Words<digits_of_thread>*>(&shared.counts[own * digits_of_thread]);
    clear();
    unsigned sum = 0;
    for (const unsigned count : counts.word) sum += count;
    sum = before + sum_before(sum);
    const auto kept = static_cast<unsigned>(p.kept);
#pragma unroll
    for (int i = 0; i < digits_of_thread; ++i) {
      if (sum < kept && kept <= sum + counts.word[i]) {
        shared.digit = static_cast<unsigned>(own * digits_of_thread + i);
        shared.before = sum;
        shared.with_digit = counts.word[i];
      }
      sum += counts.word[i];
    }
    barrier();
    last -= static_cast<Rank>(digits - 1 - shared.digit) << static_cast<unsigned>(shift);
    before = shared.before;
    with_known = shared.with_digit;
  }

  template <int shift = rank_bits<Scalar> - digit_bits> DEVICE void find_last() {
    find_digit<shift>();
    if constexpr (shift > 0)
      if (before + with_known > top_most_kept) find_last<shift - digit_bits>();
  }

  DEVICE void select() {
    const SharedAddress selected = shared_address(&shared.selected);
    each([&](Rank rank) {
      if (rank <= last) shared.ranks[0][count_up_shared(selected)] = rank;
    });
    barrier();
  }

  /// What this thread has of a pair whose other rank is `other`, of threads that differ by `step`: a step of a bitonic
  /// sort that makes runs of `run` ranks.
  DEVICE Rank of_pair(Rank rank, Rank other, int step, int run) const {
    const bool lesser = ((own & step) == 0) == ((own & run) == 0);
    return (other < rank) == lesser ? other : rank;
  }

  /// The one that comes after as many as there are threads before this one.
  DEVICE Rank in_order() const {
    const auto selected = static_cast<int>(before + with_known);
    int all = 32;
    while (all < selected) all *= 2;
    const bool active = own < all; // as all of its warp
    Rank rank = own < selected ? shared.ranks[0][own] : ~0ULL;
    int buffer = 0;
#pragma unroll 1
    for (int run = 2; run <= all; run *= 2) {
#pragma unroll 1
      for (int step = run / 2; step >= 32; step /= 2) {
        buffer = 1 - buffer;
        if (active) shared.ranks[buffer][own] = rank;
        barrier();
        if (active) rank = of_pair(rank, shared.ranks[buffer][own ^ step], step, run);
      }
#pragma unroll
      for (int step = 16; step > 0; step /= 2)
        if (active && step < run) rank = of_pair(rank, exchange(rank, step), step, run);
    }
    return rank;
  }
};

template <class Scalar> DEVICE void top_selected(const TopIndicesArguments& p) {
  let_next_start();
  const unsigned row = static_cast<unsigned>(block_y());
  const int own = thread_index();
  const Scalar* x = static_cast<const Scalar*>(p.x) + offset_of(p.x_view, row);
  float* y = p.y + offset_of(p.y_view, row) + own * p.y_stride;
  Selecting<Scalar> selecting{p, shared_memory<Selection>(), x, own};
  selecting.clear();
  barrier();
  wait_for_previous();
  selecting.find_last();
  selecting.select();
  const Rank rank = selecting.in_order();
  constexpr Rank index = (1ULL << static_cast<unsigned>(index_bits<Scalar>)) - 1;
  if (own < p.kept) *y = static_cast<float>(static_cast<unsigned>(rank & index));
}

} // namespace

KERNEL(top_indices_f, 128, TopIndicesArguments) { top_indices<float>(arguments); }
KERNEL(top_indices_h, 128, TopIndicesArguments) { top_indices<Half>(arguments); }
KERNEL(top_selected_f, top_most_kept, TopIndicesArguments) { top_selected<float>(arguments); }
KERNEL(top_selected_h, top_most_kept, TopIndicesArguments) { top_selected<Half>(arguments); }

} // namespace rtexec::tasks::cuda
