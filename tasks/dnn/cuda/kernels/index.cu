// Elements from where indices say, and to there; running sums and the largest elements.
#include "tasks/dnn/cuda/kernels/functions.cuh"
#include "tasks/dnn/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {

/// What the threads of a block share that select the largest of a row.
struct Selection {
  unsigned counts[256];
  unsigned chosen, wanted, found;
  unsigned equal[top_most_kept]; // of each thread, and then of those before it
  unsigned keys[top_most_kept];
  int indices[top_most_kept];
};

namespace {

/// Of a dimension of `size`; what is no index becomes one.
DEVICE int index_of(float value, int size) {
  const float from_front = value < 0 ? value + static_cast<float>(size) : value;
  return from_front > 0 ? static_cast<int>(at_most(from_front, static_cast<float>(size - 1))) : 0;
}

DEVICE long long place_of(const IndexedPlaces& places, long long at) {
  long long place = 0;
  for (int d = 0; d < places.depth; ++d)
    place += index_of(places.indices[at + d * places.stride], places.sizes[d]) * places.strides[d];
  return place;
}

template <class Scalar> DEVICE void take(const TakeArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<Scalar>;
  bool whole = last_stride(p.indices_view) == 0 && in_chunks<chunk>(p.x_view, static_cast<const Scalar*>(p.x)) &&
               made_of_chunks<chunk>(p.y_view, static_cast<Scalar*>(p.y));
  for (int d = 0; d < p.places.depth; ++d) whole = whole && p.places.strides[d] % chunk == 0;
  each_item<chunk>(element_count(p.y_view), whole, [&](auto count, unsigned item) {
    long long x = 0, y = 0, indices = 0;
    each_index<count>(p.y_view, item, [&](int d, int i) {
      x += i * p.x_view.stride[d];
      y += i * p.y_view.stride[d];
      indices += i * p.indices_view.stride[d];
    });
    Elements<Scalar, count> elements;
    elements.load(static_cast<const Scalar*>(p.x) + x + place_of(p.places, indices));
    elements.store(static_cast<Scalar*>(p.y) + y);
  });
}

DEVICE float put_together(int kind, float old, float value) {
  switch (kind) {
  case PutArguments::add: return old + value;
  case PutArguments::multiply: return old * value;
  case PutArguments::minimum: return value < old ? value : old;
  case PutArguments::maximum: return value > old ? value : old;
  default: return value;
  }
}

template <class Scalar> DEVICE void put(const PutArguments& p) {
  let_next_start();
  wait_for_previous();
  const unsigned items = element_count(p.x_view), count = element_count(p.x_serial);
  for (unsigned item = first_item(); item < items; item += item_step()) {
    const long long x = offset_of(p.x_view, item), y = offset_of(p.y_view, item),
                    indices = offset_of(p.indices_view, item);
    for (unsigned i = 0; i < count; ++i) {
      const long long place = place_of(p.places, indices + offset_of(p.indices_serial, i));
      Scalar& to = static_cast<Scalar*>(p.y)[y + offset_of(p.y_serial, i) + place];
      const float value = to_float(static_cast<const Scalar*>(p.x)[x + offset_of(p.x_serial, i)]);
      to = from_float<Scalar>(p.kind == PutArguments::replace ? value : put_together(p.kind, to_float(to), value));
    }
  }
}

template <class Scalar> DEVICE void running_sum(const RunningSumArguments& p) {
  let_next_start();
  wait_for_previous();
  const unsigned items = element_count(p.x_view);
  for (unsigned item = first_item(); item < items; item += item_step()) {
    const Scalar* x = static_cast<const Scalar*>(p.x) + offset_of(p.x_view, item);
    Scalar* y = static_cast<Scalar*>(p.y) + offset_of(p.y_view, item);
    double sum = 0;
    for (int j = 0; j < p.count; ++j) {
      const int i = p.reverse ? p.count - 1 - j : j;
      const double before = sum;
      sum += static_cast<double>(to_float(x[i * p.x_stride]));
      y[i * p.y_stride] = from_float<Scalar>(static_cast<float>(p.exclusive ? before : sum));
    }
  }
}

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

/// As unsigned numbers floats keep their order.
DEVICE unsigned key_of(float x) {
  const unsigned bits = float_bits(x + 0.0F); // there is one zero
  return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

/// For rows that are long: a block finds the last key that is kept, byte by byte from counts, then what is above it,
/// and of what equals it the first ones; and puts these in order.
template <class Scalar> struct Selecting {
  const TopIndicesArguments& p;
  Selection& shared;
  const Scalar* x;
  int own;

  DEVICE unsigned key(int i) const {
    const float value = to_float(x[i * p.x_stride]);
    return key_of(p.largest ? value : -value);
  }

  DEVICE void choose_byte(int shift) {
    const unsigned above = shift == 24 ? 0U : ~0U << static_cast<unsigned>(shift + 8);
    const unsigned chosen = shared.chosen, wanted = shared.wanted;
    if (own < 256) shared.counts[own] = 0;
    barrier();
#pragma unroll 4
    for (int i = own; i < p.count; i += block_threads()) {
      const unsigned k = key(i);
      if ((k & above) == chosen) count_up(&shared.counts[k >> static_cast<unsigned>(shift) & 255U]);
    }
    barrier();
    for (int step = 1; step < 256; step *= 2) { // each becomes the sum of those from it on
      const unsigned other = own < 256 && own + step < 256 ? shared.counts[own + step] : 0;
      barrier();
      if (own < 256) shared.counts[own] += other;
      barrier();
    }
    if (own < 256) {
      const unsigned after = own < 255 ? shared.counts[own + 1] : 0;
      if (shared.counts[own] >= wanted && after < wanted) {
        shared.chosen = chosen | static_cast<unsigned>(own) << static_cast<unsigned>(shift);
        shared.wanted = wanted - after;
      }
    }
    barrier();
  }

  /// Threads have neighbouring elements, so that equal ones come in their order.
  DEVICE void collect() {
    const unsigned last = shared.chosen, wanted = shared.wanted;
    const int share = (p.count + block_threads() - 1) / block_threads();
    const int begin = own * share, end = begin + share < p.count ? begin + share : p.count;
    unsigned equal = 0;
    for (int i = begin; i < end; ++i) equal += key(i) == last ? 1U : 0U;
    shared.equal[own] = equal;
    barrier();
    for (int step = 1; step < block_threads(); step *= 2) {
      const unsigned other = own >= step ? shared.equal[own - step] : 0;
      barrier();
      shared.equal[own] += other;
      barrier();
    }
    unsigned number = shared.equal[own] - equal;
    for (int i = begin; i < end; ++i) {
      const unsigned k = key(i);
      if (k < last || (k == last && number >= wanted)) continue;
      const unsigned at = k > last ? count_up(&shared.found) : static_cast<unsigned>(p.kept) - wanted + number++;
      shared.keys[at] = k;
      shared.indices[at] = i;
    }
    barrier();
  }

  DEVICE void order(float* y) const {
    if (own >= p.kept) return;
    const unsigned k = shared.keys[own];
    const int index = shared.indices[own];
    int before = 0;
#pragma unroll 4
    for (int i = 0; i < p.kept; ++i)
      before += shared.keys[i] > k || (shared.keys[i] == k && shared.indices[i] < index) ? 1 : 0;
    y[before * p.y_stride] = static_cast<float>(index);
  }
};

template <class Scalar> DEVICE void top_selected(const TopIndicesArguments& p) {
  let_next_start();
  wait_for_previous();
  const unsigned row = static_cast<unsigned>(block_y());
  auto& shared = shared_memory<Selection>();
  if (thread_index() == 0) {
    shared.chosen = 0;
    shared.wanted = static_cast<unsigned>(p.kept);
    shared.found = 0;
  }
  barrier();
  Selecting<Scalar> selecting{p, shared, static_cast<const Scalar*>(p.x) + offset_of(p.x_view, row), thread_index()};
#pragma unroll 1
  for (int shift = 24; shift >= 0; shift -= 8) selecting.choose_byte(shift);
  selecting.collect();
  selecting.order(p.y + offset_of(p.y_view, row));
}

} // namespace

KERNEL(take_f, 128, TakeArguments) { take<float>(arguments); }
KERNEL(take_h, 128, TakeArguments) { take<Half>(arguments); }
KERNEL(put_f, 128, PutArguments) { put<float>(arguments); }
KERNEL(put_h, 128, PutArguments) { put<Half>(arguments); }
KERNEL(running_sum_f, 128, RunningSumArguments) { running_sum<float>(arguments); }
KERNEL(running_sum_h, 128, RunningSumArguments) { running_sum<Half>(arguments); }
KERNEL(top_indices_f, 128, TopIndicesArguments) { top_indices<float>(arguments); }
KERNEL(top_indices_h, 128, TopIndicesArguments) { top_indices<Half>(arguments); }
KERNEL(top_selected_f, top_most_kept, TopIndicesArguments) { top_selected<float>(arguments); }
KERNEL(top_selected_h, top_most_kept, TopIndicesArguments) { top_selected<Half>(arguments); }

} // namespace rtexec::tasks::cuda
