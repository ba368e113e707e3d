// Top-k: the indices of the largest (or smallest) elements of rows.
#include "tasks/engine/cuda/kernels/integers.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {

/// A sort key that is different for each element of a row. Elements with smaller ranks come first.
using Rank = unsigned long long;
constexpr int digit_bits = 12, digits = 1 << digit_bits; // number of bits of a digit; ranks are selected digit by digit
constexpr int digits_of_thread = digits / top_most_kept;

/// The shared memory of a block that selects the first elements of a row.
struct Selection {
  alignas(16) unsigned counts[digits]; // for each digit, the number of ranks
  Rank ranks[2][top_most_kept];
  unsigned selected;
  unsigned sums[32]; // one for each warp
  unsigned digit, before, with_digit;
};

namespace {

/// A row of floats.
template <class Scalar> struct FloatRow {
  static constexpr int key_bits = 8 * static_cast<int>(sizeof(Scalar));
  static constexpr int chunk = chunk_elements<Scalar>;
  const Scalar* x;
  long long stride;
  bool largest;
  DEVICE FloatRow(const TopKArguments& p, unsigned row)
      : x(static_cast<const Scalar*>(p.x) + offset_of(p.x_view, row)), stride(p.x_stride), largest(p.largest) {}

  DEVICE float value(int i) const { return to_float(x[i * stride]); }
  DEVICE unsigned key(int i) const { return key_of(x[i * stride]); }
  [[nodiscard]] DEVICE bool in_chunks() const { return stride == 1 && aligned(x); }
  /// Calls f(key, i) for each element of chunk number `number`. i is the element's index.
  template <class F> DEVICE void each_of_chunk(int number, F f) const {
    Chunk<Scalar> elements;
    elements.load(x + number * chunk);
#pragma unroll
    for (int j = 0; j < chunk; ++j) f(key_of(elements.at(j)), number * chunk + j);
  }

 private:
  DEVICE static unsigned bits_of(float value) { return float_bits(value); }
  DEVICE static unsigned bits_of(Half value) { return value.bits; }
  /// Returns the sort key of a value; smaller keys come first. Positive and negative zero have the same key, and all
  /// NaNs have the same key.
  DEVICE unsigned key_of(Scalar value) const {
    constexpr unsigned sign = 1U << static_cast<unsigned>(key_bits - 1),
                       infinite = key_bits == 16 ? 0x7c00U : 0x7f800000U;
    const unsigned bits = bits_of(value), magnitude = bits & (sign - 1);
    if (magnitude > infinite) return largest ? 0 : sign + (sign - 1);
    const bool negative = (bits & sign) != 0;
    return negative == largest ? sign + magnitude : sign - magnitude;
  }
};

/// A row of integers.
struct IntegerRow {
  static constexpr int key_bits = 32;
  static constexpr int chunk = 1;
  const void* x;
  long long begin, stride;
  Storage storage;
  bool largest;
  DEVICE IntegerRow(const TopKArguments& p, unsigned row)
      : x(p.x), begin(offset_of(p.x_view, row)), stride(p.x_stride), storage(p.storage), largest(p.largest) {}

  /// Returns the sort key of element i; larger keys come first.
  DEVICE Integer value(int i) const {
    const Integer order = order_of(load_integer(x, begin + i * stride, storage), storage);
    return largest ? order : ~order;
  }
  /// Returns the sort key of element i, for types of at most 32 bits; smaller keys come first.
  DEVICE unsigned key(int i) const {
    const auto bits = static_cast<unsigned>(load_integer(x, begin + i * stride, storage));
    const unsigned order = is_signed(storage) ? bits ^ 0x80000000U : bits;
    return largest ? ~order : order;
  }
  [[nodiscard]] DEVICE bool in_chunks() const { return false; }
  template <class F> DEVICE void each_of_chunk(int, F) const {}
};

/// Returns the number of elements that come before element `own`. An element equal to `own` comes before it if its
/// index is lower.
template <class Row, class Strictly, class OrEqual>
DEVICE int count_before(const Row& row, int own, int count, Strictly strictly, OrEqual or_equal) {
  int before = 0;
#pragma unroll 8
  for (int i = 0; i < own; ++i) before += or_equal(row.value(i)) ? 1 : 0;
#pragma unroll 8
  for (int i = own + 1; i < count; ++i) before += strictly(row.value(i)) ? 1 : 0;
  return before;
}
template <class Scalar> DEVICE int count_before(const FloatRow<Scalar>& row, int own, int count) {
  const float value = row.value(own);
  const bool largest = row.largest;
  if (value != value)
    return count_before(
        row, own, count, [&](float x) { return !largest && x == x; }, [&](float x) { return !largest || x != x; });
  if (largest) // NaN comes before all numbers
    return count_before(
        row, own, count, [&](float x) { return !(x <= value); }, [&](float x) { return !(x < value); });
  return count_before(
      row, own, count, [&](float x) { return x < value; }, [&](float x) { return x <= value; });
}
DEVICE int count_before(const IntegerRow& row, int own, int count) {
  const Integer value = row.value(own);
  return count_before(
      row, own, count, [&](Integer x) { return x > value; }, [&](Integer x) { return x >= value; });
}

/// Computes the top-k indices of short rows. Each thread has one element, and counts the elements that come before it.
/// If this count is below `kept`, the count is the position at which the thread writes the element's index to y.
template <class Row> DEVICE void top_indices(const TopKArguments& p) {
  let_next_start();
  wait_for_previous();
  const Row row(p, static_cast<unsigned>(block_y()));
  const int own = static_cast<int>(first_item());
  if (own >= p.count) return;
  const int before = count_before(row, own, p.count);
  if (before < p.kept) p.y[offset_of(p.y_view, static_cast<unsigned>(block_y())) + before * p.y_stride] = own;
}

template <class Row> constexpr int index_bits = Row::key_bits == 16 ? 32 : 28; // number of bits for any index
template <class Row> constexpr int rank_bits = Row::key_bits + index_bits<Row>;

/// Returns a rank that orders elements by key, and elements with equal keys by index.
template <class Row> DEVICE Rank rank_of(unsigned key, int index) {
  return static_cast<Rank>(key) << static_cast<unsigned>(index_bits<Row>) | static_cast<unsigned>(index);
}

/// Selects the first elements of long rows by radix select. A block finds the rank of the last kept element digit by
/// digit: it counts how often each digit occurs. It stops when the ranks up to the known digits fit into the block, and
/// sorts these ranks.
template <class Row> struct Selecting {
  static_assert(rank_bits<Row> % digit_bits == 0);
  static_assert(top_most_kept == 32 * 32); // so that one warp can add up the sums of all warps

  const TopKArguments& p;
  Selection& shared;
  Row row;
  int own;
  Rank last = (1ULL << static_cast<unsigned>(rank_bits<Row>)) - 1; // the largest rank with the known digits
  /// The number of ranks below the ranks with the known digits, and the number of ranks with the known digits.
  unsigned before = 0, with_known = 0;

  DEVICE void clear() {
    *reinterpret_cast<Words<digits_of_thread>*>(&shared.counts[own * digits_of_thread]) = {};
    if (own == 0) shared.selected = 0;
  }

  /// Calls f(rank) for each rank of the row. The threads of the block divide the row among them.
  template <class F> DEVICE void each(F f) const {
    const int chunks = row.in_chunks() ? p.count / Row::chunk : 0;
#pragma unroll 1
    for (int i = own; i < chunks; i += block_threads())
      row.each_of_chunk(i, [&](unsigned key, int index) { f(rank_of<Row>(key, index)); });
#pragma unroll 1
    for (int i = chunks * Row::chunk + own; i < p.count; i += block_threads()) f(rank_of<Row>(row.key(i), i));
  }

  /// Returns the sum of `value` over all threads with a lower number than this thread.
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
      if (known == rank_bits<Row> || rank >> static_cast<unsigned>(known) == last >> static_cast<unsigned>(known))
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

  template <int shift = rank_bits<Row> - digit_bits> DEVICE void find_last() {
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

  /// Returns the rank that this thread keeps in one step of a bitonic sort. `rank` is the thread's own rank. `other` is
  /// the rank of the thread whose number differs by `step`. The sort currently forms runs of `run` ranks.
  DEVICE Rank of_pair(Rank rank, Rank other, int step, int run) const {
    const bool lesser = ((own & step) == 0) == ((own & run) == 0);
    return (other < rank) == lesser ? other : rank;
  }

  /// Sorts the selected ranks. Returns the rank whose position in the order is this thread's number.
  DEVICE Rank in_order() const {
    const auto selected = static_cast<int>(before + with_known);
    int all = 32;
    while (all < selected) all *= 2;
    const bool active = own < all; // equal for all threads of a warp
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

template <class Row> DEVICE void top_selected(const TopKArguments& p) {
  let_next_start();
  const unsigned number = static_cast<unsigned>(block_y());
  const int own = thread_index();
  long long* y = p.y + offset_of(p.y_view, number) + own * p.y_stride;
  Selecting<Row> selecting{p, shared_memory<Selection>(), Row(p, number), own};
  selecting.clear();
  barrier();
  wait_for_previous();
  selecting.find_last();
  selecting.select();
  const Rank rank = selecting.in_order();
  constexpr Rank index = (1ULL << static_cast<unsigned>(index_bits<Row>)) - 1;
  if (own < p.kept) *y = static_cast<long long>(rank & index);
}

} // namespace

KERNEL(top_indices_f, 128, TopKArguments) { top_indices<FloatRow<float>>(arguments); }
KERNEL(top_indices_h, 128, TopKArguments) { top_indices<FloatRow<Half>>(arguments); }
KERNEL(top_indices_i, 128, TopKArguments) { top_indices<IntegerRow>(arguments); }
KERNEL(top_selected_f, top_most_kept, TopKArguments) { top_selected<FloatRow<float>>(arguments); }
KERNEL(top_selected_h, top_most_kept, TopKArguments) { top_selected<FloatRow<Half>>(arguments); }
KERNEL(top_selected_i, top_most_kept, TopKArguments) { top_selected<IntegerRow>(arguments); }

} // namespace rtexec::tasks::cuda
