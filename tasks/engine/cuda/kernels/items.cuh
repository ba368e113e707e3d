// Distributes work over threads. An item is a number of neighbouring elements (`count`) that a thread processes at
// once. A chunk is an item of 16 bytes. Every thread processes items in a grid-stride loop. Indices fit into 32 bits,
// because no tensor has more than 2^28 elements; offsets have 64 bits.
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "tasks/engine/cuda/kernels/half.cuh"

namespace rtexec::tasks::cuda {

DEVICE unsigned first_item() {
  return static_cast<unsigned>(block_x()) * static_cast<unsigned>(block_threads()) +
         static_cast<unsigned>(thread_index());
}
DEVICE unsigned item_step() { return static_cast<unsigned>(blocks_x()) * static_cast<unsigned>(block_threads()); }

/// True if one access can read or write `count` channels of any pixel. `bytes` is the size of an element.
template <int count> DEVICE bool in_chunks(const void* pointer, int stride, unsigned bytes) {
  return stride % count == 0 && aligned(pointer, bytes * static_cast<unsigned>(count));
}

/// A number of elements that is known at compile time.
template <int count> struct Count {
  DEVICE constexpr operator int() const { return count; }
};

/// Calls f(Count, item) for every item of `count` elements.
template <int count, class F> DEVICE void each_item(unsigned elements, F f) {
  const unsigned items = elements / static_cast<unsigned>(count);
  for (unsigned item = first_item(); item < items; item += item_step()) f(Count<count>(), item);
}
/// Calls f(Count, item) for every item. If `whole` is true, an item has `chunk` elements; otherwise it has one element.
template <int chunk, class F> DEVICE void each_item(unsigned elements, bool whole, F f) {
  if (whole) each_item<chunk>(elements, f);
  else each_item<1>(elements, f);
}

/// Calls f(Count, pixel, channel) for every item. `channel` is the first channel of the item. This is for operations
/// that map each pixel to a pixel with equally many channels.
template <class Scalar, class Arguments, class F> DEVICE void each_channel(const Arguments& p, unsigned pixels, F f) {
  constexpr int chunk = chunk_elements<Scalar>;
  const auto channels = static_cast<unsigned>(p.channels);
  each_item<chunk>(pixels * channels,
                   p.channels % chunk == 0 && in_chunks<chunk>(p.x, p.x_stride, sizeof(Scalar)) &&
                       in_chunks<chunk>(p.y, p.y_stride, sizeof(Scalar)),
                   [&](auto count, unsigned item) {
                     const unsigned chunks = channels / static_cast<unsigned>(count), pixel = item / chunks;
                     f(count, pixel, static_cast<int>(item - pixel * chunks) * count);
                   });
}

/// Returns the number of pixels of the output.
template <class Arguments> DEVICE unsigned pixels_out(const Arguments& p) {
  return static_cast<unsigned>(p.batch) * static_cast<unsigned>(p.out_height) * static_cast<unsigned>(p.out_width);
}

/// A pixel of an image [batch, height, width].
struct Pixel {
  int n, h, w;
  DEVICE Pixel(unsigned index, int height, int width) {
    const unsigned row = index / static_cast<unsigned>(width);
    w = static_cast<int>(index - row * static_cast<unsigned>(width));
    n = static_cast<int>(row / static_cast<unsigned>(height));
    h = static_cast<int>(row - static_cast<unsigned>(n) * static_cast<unsigned>(height));
  }
};

DEVICE long long pixel_offset(int n, int h, int w, int height, int width, int stride) {
  return ((static_cast<long long>(n) * height + h) * width + w) * stride;
}

DEVICE unsigned element_count(const View& view) {
  unsigned count = 1;
  for (int d = 0; d < view.rank; ++d) count *= static_cast<unsigned>(view.shape[d]);
  return count;
}
DEVICE int last_extent(const View& view) { return view.rank > 0 ? view.shape[view.rank - 1] : 1; }
DEVICE long long last_stride(const View& view) { return view.rank > 0 ? view.stride[view.rank - 1] : 1; }

/// True if one access can read or write `count` elements along the last dimension of the view. The size of that
/// dimension must be a multiple of `count`.
template <int count, class Scalar> DEVICE bool in_chunks(const View& view, const Scalar* pointer) {
  if (view.rank == 0 || view.stride[view.rank - 1] != 1 || !aligned(pointer, sizeof(Scalar) * count)) return false;
  for (int d = 0; d < view.rank - 1; ++d)
    if (view.stride[d] % count != 0) return false;
  return true;
}
/// True if the view consists of whole aligned chunks of `count` elements along its last dimension.
template <int count, class Scalar> DEVICE bool made_of_chunks(const View& view, const Scalar* pointer) {
  return last_extent(view) % count == 0 && in_chunks<count>(view, pointer);
}
/// True if in_chunks() is true, or if the last dimension repeats one element (stride 0).
template <int count, class Scalar> DEVICE bool in_chunks_or_repeated(const View& view, const Scalar* pointer) {
  return (view.rank > 0 && view.stride[view.rank - 1] == 0) || in_chunks<count>(view, pointer);
}

/// Calls f(d, i) for every dimension d, beginning with the last. i is the index in dimension d of the first element of
/// item number `item`. An item is `count` elements along the last dimension.
template <int count, class F> DEVICE void each_index(const View& view, unsigned item, F f) {
  for (int d = view.rank - 1; d >= 0; --d) {
    const unsigned extent =
        static_cast<unsigned>(view.shape[d]) / (d == view.rank - 1 ? static_cast<unsigned>(count) : 1U);
    const unsigned next = d == 0 ? 0 : item / extent;
    f(d, static_cast<int>(item - next * extent) * (d == view.rank - 1 ? count : 1));
    item = next;
  }
}

/// Returns the offset of the first element of item number `item`.
template <int count = 1> DEVICE long long offset_of(const View& view, unsigned item) {
  long long at = 0;
  each_index<count>(view, item, [&](int d, int i) { at += i * view.stride[d]; });
  return at;
}

/// Loads `count` elements along the last dimension. If `repeated`, loads one element `count` times.
template <class Scalar, int count> DEVICE void load(Elements<Scalar, count>& to, const Scalar* from, bool repeated) {
  if (count > 1 && repeated) {
    Elements<Scalar, 1> one;
    one.load(from);
#pragma unroll
    for (int i = 0; i < count; ++i) to.values[i] = one.values[0];
  } else {
    to.load(from);
  }
}

} // namespace rtexec::tasks::cuda
