// Kernels that move elements: copies between any two layouts and storages, gathers, padding.
#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

template <class From, class To> DEVICE void copy(const CopyArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<From> < chunk_elements<To> ? chunk_elements<From> : chunk_elements<To>;
  const bool whole = made_of_chunks<chunk>(p.y_view, static_cast<const To*>(p.y)) &&
                     in_chunks_or_repeated<chunk>(p.x_view, static_cast<const From*>(p.x));
  const bool repeated = last_stride(p.x_view) == 0;
  each_item<chunk>(element_count(p.y_view), whole, [&](auto count, unsigned item) {
    long long x_at = 0, y_at = 0;
    each_index<count>(p.y_view, item, [&](int d, int i) {
      x_at += i * p.x_view.stride[d];
      y_at += i * p.y_view.stride[d];
    });
    Elements<From, count> x;
    load(x, static_cast<const From*>(p.x) + x_at, repeated);
    Elements<To, count> y;
#pragma unroll
    for (int i = 0; i < count; ++i) y.values[i] = x.values[i];
    if constexpr (is_float<To>) activate(y.values, p.activation);
    y.store(static_cast<To*>(p.y) + y_at);
  });
}

/// Copies between tensors whose smallest strides are in different dimensions. x must have its smallest stride in the
/// last but one dimension of the views. Tiles of 32x32 elements pass through shared memory, so that accesses to both
/// tensors are coalesced.
template <class From, class To> DEVICE void transpose(const CopyArguments& p) {
  using Tile = float[32][33];
  auto& tile = shared_memory<Tile>();
  let_next_start();
  wait_for_previous();
  const int rows = p.y_view.shape[p.y_view.rank - 2], columns = p.y_view.shape[p.y_view.rank - 1];
  const long long x_row = p.x_view.stride[p.x_view.rank - 2], x_column = p.x_view.stride[p.x_view.rank - 1];
  const long long y_row = p.y_view.stride[p.y_view.rank - 2], y_column = p.y_view.stride[p.y_view.rank - 1];
  const int lane = thread_index() % 32, warp = thread_index() / 32, warps = block_threads() / 32;
  const unsigned tiles_down = static_cast<unsigned>(rows + 31) / 32,
                 tiles_across = static_cast<unsigned>(columns + 31) / 32;
  const unsigned in_plane = static_cast<unsigned>(block_x()) % (tiles_down * tiles_across);
  unsigned outer = static_cast<unsigned>(block_x()) / (tiles_down * tiles_across);
  const From* x = static_cast<const From*>(p.x);
  To* y = static_cast<To*>(p.y);
  for (int d = p.y_view.rank - 3; d >= 0; --d) {
    const unsigned extent = static_cast<unsigned>(p.y_view.shape[d]), next = outer / extent;
    x += static_cast<long long>(outer - next * extent) * p.x_view.stride[d];
    y += static_cast<long long>(outer - next * extent) * p.y_view.stride[d];
    outer = next;
  }
  const int first_row = static_cast<int>(in_plane / tiles_across) * 32,
            first_column = static_cast<int>(in_plane % tiles_across) * 32;
  for (int i = warp; i < 32; i += warps)
    if (first_row + lane < rows && first_column + i < columns)
      tile[i][lane] = to_float(x[(first_row + lane) * x_row + (first_column + i) * x_column]);
  barrier();
  for (int i = warp; i < 32; i += warps)
    if (first_row + i < rows && first_column + lane < columns)
      y[(first_row + i) * y_row + (first_column + lane) * y_column] =
          from_float<To>(is_float<To> ? activated_quickly(tile[lane][i], p.activation) : tile[lane][i]);
}

template <class Scalar> DEVICE void gather(const GatherConstantArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<Scalar>;
  const bool whole = p.axis != p.y_view.rank - 1 && made_of_chunks<chunk>(p.y_view, static_cast<const Scalar*>(p.y)) &&
                     in_chunks<chunk>(p.x_view, static_cast<const Scalar*>(p.x));
  each_item<chunk>(element_count(p.y_view), whole, [&](auto count, unsigned item) {
    long long x_at = 0, y_at = 0;
    each_index<count>(p.y_view, item, [&](int d, int i) {
      x_at += (d == p.axis ? p.indices[i] : i) * p.x_view.stride[d];
      y_at += i * p.y_view.stride[d];
    });
    Elements<Scalar, count> elements;
    elements.load(static_cast<const Scalar*>(p.x) + x_at);
    elements.store(static_cast<Scalar*>(p.y) + y_at);
  });
}

template <class Scalar> DEVICE auto filling(const PadArguments& p) {
  if constexpr (sizeof(Scalar) == 8) return static_cast<unsigned long long>(p.wide_value);
  else return p.value;
}

template <class Scalar> DEVICE void pad(const PadArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<Scalar>;
  const bool whole = p.y_view.rank > 0 && p.before[p.y_view.rank - 1] % chunk == 0 &&
                     made_of_chunks<chunk>(p.y_view, static_cast<const Scalar*>(p.y)) &&
                     made_of_chunks<chunk>(p.x_view, static_cast<const Scalar*>(p.x));
  each_item<chunk>(element_count(p.y_view), whole, [&](auto count, unsigned item) {
    long long x_at = 0, y_at = 0;
    bool inside = true;
    each_index<count>(p.y_view, item, [&](int d, int i) {
      const int from = i - p.before[d];
      inside = inside && from >= 0 && from < p.x_view.shape[d];
      x_at += from * p.x_view.stride[d];
      y_at += i * p.y_view.stride[d];
    });
    Elements<Scalar, count> elements;
#pragma unroll
    for (int i = 0; i < count; ++i) elements.values[i] = filling<Scalar>(p);
    if (inside) elements.load(static_cast<const Scalar*>(p.x) + x_at);
    elements.store(static_cast<Scalar*>(p.y) + y_at);
  });
}

} // namespace

KERNEL(copy_ff, 128, CopyArguments) { copy<float, float>(arguments); }
KERNEL(copy_fh, 128, CopyArguments) { copy<float, Half>(arguments); }
KERNEL(copy_hf, 128, CopyArguments) { copy<Half, float>(arguments); }
KERNEL(copy_hh, 128, CopyArguments) { copy<Half, Half>(arguments); }
KERNEL(copy_bb, 128, CopyArguments) { copy<Byte, Byte>(arguments); }
KERNEL(copy_ss, 128, CopyArguments) { copy<Short, Short>(arguments); }
KERNEL(copy_ww, 128, CopyArguments) { copy<Wide, Wide>(arguments); }
KERNEL(transpose_ff, 256, CopyArguments) { transpose<float, float>(arguments); }
KERNEL(transpose_fh, 256, CopyArguments) { transpose<float, Half>(arguments); }
KERNEL(transpose_hf, 256, CopyArguments) { transpose<Half, float>(arguments); }
KERNEL(transpose_hh, 256, CopyArguments) { transpose<Half, Half>(arguments); }
KERNEL(transpose_bb, 256, CopyArguments) { transpose<Byte, Byte>(arguments); }
KERNEL(gather_f, 128, GatherConstantArguments) { gather<float>(arguments); }
KERNEL(gather_h, 128, GatherConstantArguments) { gather<Half>(arguments); }
KERNEL(gather_b, 128, GatherConstantArguments) { gather<Byte>(arguments); }
KERNEL(gather_s, 128, GatherConstantArguments) { gather<Short>(arguments); }
KERNEL(gather_w, 128, GatherConstantArguments) { gather<Wide>(arguments); }
KERNEL(pad_f, 128, PadArguments) { pad<float>(arguments); }
KERNEL(pad_h, 128, PadArguments) { pad<Half>(arguments); }
KERNEL(pad_b, 128, PadArguments) { pad<Byte>(arguments); }
KERNEL(pad_s, 128, PadArguments) { pad<Short>(arguments); }
KERNEL(pad_w, 128, PadArguments) { pad<Wide>(arguments); }

} // namespace rtexec::tasks::cuda
