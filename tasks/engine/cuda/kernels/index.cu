// Gathers and scatters elements by a tensor of indices, and computes cumulative sums.
#include "tasks/engine/cuda/kernels/integers.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

/// Returns a valid index into a dimension of `size`. A negative value counts from the end, and a value out of range is
/// clamped.
DEVICE int index_of(long long value, int size) {
  const long long from_front = value < 0 ? value + size : value;
  return from_front <= 0 ? 0 : from_front < size ? static_cast<int>(from_front) : size - 1;
}

DEVICE long long place_of(const IndexedPlaces& places, long long at) {
  long long place = 0;
  for (int d = 0; d < places.depth; ++d)
    place += index_of(places.indices[at + d * places.stride], places.sizes[d]) * places.strides[d];
  return place;
}

template <class Scalar> DEVICE void take(const GatherArguments& p) {
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
  case ScatterArguments::add: return old + value;
  case ScatterArguments::multiply: return old * value;
  case ScatterArguments::minimum: return value < old ? value : old;
  case ScatterArguments::maximum: return value > old ? value : old;
  default: return value;
  }
}

DEVICE Integer put_together(int kind, Integer old, Integer value, bool sign) {
  switch (kind) {
  case ScatterArguments::add: return old + value;
  case ScatterArguments::multiply: return old * value;
  case ScatterArguments::minimum: return is_less(value, old, sign) ? value : old;
  case ScatterArguments::maximum: return is_less(old, value, sign) ? value : old;
  default: return value;
  }
}

/// Calls update(y, x) for each scattered element. y is the offset of its destination, x the offset of its source.
template <class F> DEVICE void put(const ScatterArguments& p, F update) {
  let_next_start();
  wait_for_previous();
  const unsigned items = element_count(p.x_view), count = element_count(p.x_serial);
  for (unsigned item = first_item(); item < items; item += item_step()) {
    const long long x = offset_of(p.x_view, item), y = offset_of(p.y_view, item),
                    indices = offset_of(p.indices_view, item);
    for (unsigned i = 0; i < count; ++i) {
      const long long place = place_of(p.places, indices + offset_of(p.indices_serial, i));
      update(y + offset_of(p.y_serial, i) + place, x + offset_of(p.x_serial, i));
    }
  }
}

template <class Scalar> DEVICE void put_floats(const ScatterArguments& p) {
  put(p, [&](long long y, long long x) {
    Scalar& to = static_cast<Scalar*>(p.y)[y];
    const float value = to_float(static_cast<const Scalar*>(p.x)[x]);
    to = from_float<Scalar>(p.kind == ScatterArguments::replace ? value : put_together(p.kind, to_float(to), value));
  });
}

DEVICE void put_integers(const ScatterArguments& p) {
  put(p, [&](long long y, long long x) {
    const Integer old = load_integer(p.y, y, p.storage), value = load_integer(p.x, x, p.storage);
    store_integer(p.y, y, p.storage, put_together(p.kind, old, value, is_signed(p.storage)));
  });
}

template <class Scalar> DEVICE void running_sum(const CumSumArguments& p) {
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

DEVICE void running_sum_of_integers(const CumSumArguments& p) {
  let_next_start();
  wait_for_previous();
  each_item<1>(element_count(p.x_view), [&](auto, unsigned item) {
    const long long x = offset_of(p.x_view, item), y = offset_of(p.y_view, item);
    Integer sum = 0;
    for (int j = 0; j < p.count; ++j) {
      const int i = p.reverse ? p.count - 1 - j : j;
      const Integer before = sum;
      sum += load_integer(p.x, x + i * p.x_stride, p.storage);
      store_integer(p.y, y + i * p.y_stride, p.storage, p.exclusive ? before : sum);
    }
  });
}

} // namespace

KERNEL(take_f, 128, GatherArguments) { take<float>(arguments); }
KERNEL(take_h, 128, GatherArguments) { take<Half>(arguments); }
KERNEL(take_b, 128, GatherArguments) { take<Byte>(arguments); }
KERNEL(take_s, 128, GatherArguments) { take<Short>(arguments); }
KERNEL(take_w, 128, GatherArguments) { take<Wide>(arguments); }
KERNEL(put_f, 128, ScatterArguments) { put_floats<float>(arguments); }
KERNEL(put_h, 128, ScatterArguments) { put_floats<Half>(arguments); }
KERNEL(put_i, 128, ScatterArguments) { put_integers(arguments); }
KERNEL(running_sum_f, 128, CumSumArguments) { running_sum<float>(arguments); }
KERNEL(running_sum_h, 128, CumSumArguments) { running_sum<Half>(arguments); }
KERNEL(running_sum_i, 128, CumSumArguments) { running_sum_of_integers(arguments); }

} // namespace rtexec::tasks::cuda
