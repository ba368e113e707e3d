// Layer and RMS normalisation of rows with any strides. One block computes each row. If the row is short, the threads
// keep its elements in registers. If the row is long, they read its elements a second time.
#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {

constexpr int max_normalising_warps = 8;
struct LayerNormParts {
  float of[max_normalising_warps];
};

namespace {

/// Returns the sum of `value` over all threads of the block.
DEVICE float total(float value) {
  for (int mask = 16; mask > 0; mask /= 2) value += exchange(value, mask);
  const int warps = block_threads() / 32;
  if (warps == 1) return value;
  auto& parts = shared_memory<LayerNormParts>();
  barrier(); // ensures that all threads have read the previous total
  if (thread_index() % 32 == 0) parts.of[thread_index() / 32] = value;
  barrier();
  value = parts.of[0];
  for (int warp = 1; warp < warps; ++warp) value += parts.of[warp];
  return value;
}

constexpr unsigned max_own = 4; // maximum number of items that a thread keeps in registers

/// The parameters that normalise a row: y = (x - mean) * factor.
struct Normal {
  float mean, factor;
};

/// Returns the parameters for a row of `count` elements. each(f) must call f(x) for each element x of the row that
/// belongs to this thread.
template <class Each> DEVICE Normal normal_of(const LayerNormArguments& p, unsigned count, Each each) {
  const float share = 1.0F / static_cast<float>(count);
  float sum = 0, squares = 0;
  if (p.centred) each([&](float x) { sum += x; });
  const float mean = p.centred ? total(sum) * share : 0.0F;
  each([&](float x) { squares = multiply_add(x - mean, x - mean, squares); });
  return {mean, 1.0F / square_root(total(squares) * share + p.epsilon)};
}

/// The layout of a row's items: `Evenly` if they are a constant stride apart, otherwise `Anyhow`.
struct Evenly {
  template <int count> DEVICE static long long offset(const View& view, unsigned item) {
    return static_cast<long long>(item) * count * view.stride[0];
  }
};
struct Anyhow {
  template <int> DEVICE static long long offset(const View& view, unsigned item) { return offset_of(view, item); }
};

template <class Scalar, int count, class Lie> struct Row {
  const LayerNormArguments& p;
  const Scalar *x, *scale, *shift, *residual;
  Scalar* y;

  DEVICE explicit Row(const LayerNormArguments& arguments)
      : p(arguments),
        x(begin<const Scalar>(p.x, p.kept)),
        scale(begin<const Scalar>(p.scale, p.scale_kept)),
        shift(begin<const Scalar>(p.shift, p.shift_kept)),
        residual(begin<const Scalar>(p.residual, p.residual_kept)),
        y(begin<Scalar>(p.y, p.y_kept)) {}

  template <class T, class Void> DEVICE static T* begin(Void* tensor, const View& kept) {
    return tensor ? static_cast<T*>(tensor) + offset_of(kept, static_cast<unsigned>(block_x())) : nullptr;
  }

  DEVICE void load_x(Elements<Scalar, count>& to, unsigned item) const {
    to.load(x + Lie::template offset<count>(p.reduced, item));
  }
  DEVICE static void read(Elements<Scalar, count>& to, const Scalar* from, const View& view, unsigned item) {
    load<Scalar, count>(to, from + Lie::template offset<count>(view, item), last_stride(view) == 0);
  }

  DEVICE void finish(Elements<Scalar, count>& values, unsigned item, const Normal& normal) const {
    Elements<Scalar, count> operand;
#pragma unroll
    for (int i = 0; i < count; ++i) values.values[i] = (values.values[i] - normal.mean) * normal.factor;
    if (scale) {
      read(operand, scale, p.scale_reduced, item);
#pragma unroll
      for (int i = 0; i < count; ++i) values.values[i] *= operand.values[i];
    }
    if (shift) {
      read(operand, shift, p.shift_reduced, item);
#pragma unroll
      for (int i = 0; i < count; ++i) values.values[i] += operand.values[i];
    }
    if (residual) {
      read(operand, residual, p.residual_reduced, item);
#pragma unroll
      for (int i = 0; i < count; ++i) values.values[i] += operand.values[i];
    }
    activate_elsewhere(values.values, p.activation);
    values.store(y + Lie::template offset<count>(p.y_reduced, item));
  }
};

/// Normalises a short row, whose elements the threads of the block can keep in registers.
template <class Scalar, int count> DEVICE void normalise_short(const LayerNormArguments& p, unsigned items) {
  const Row<Scalar, count, Evenly> row(p);
  const unsigned first = static_cast<unsigned>(thread_index()), step = static_cast<unsigned>(block_threads());
  Elements<Scalar, count> own[max_own];
#pragma unroll
  for (unsigned j = 0; j < max_own; ++j)
    if (first + j * step < items) row.load_x(own[j], first + j * step);
  const auto normal = normal_of(p, items * static_cast<unsigned>(count), [&](auto f) {
#pragma unroll
    for (unsigned j = 0; j < max_own; ++j)
      if (first + j * step < items)
#pragma unroll
        for (int i = 0; i < count; ++i) f(own[j].values[i]);
  });
#pragma unroll
  for (unsigned j = 0; j < max_own; ++j)
    if (first + j * step < items) row.finish(own[j], first + j * step, normal);
}

template <class Scalar, int count, class Lie> DEVICE void normalise_long(const LayerNormArguments& p, unsigned items) {
  const Row<Scalar, count, Lie> row(p);
  const unsigned first = static_cast<unsigned>(thread_index()), step = static_cast<unsigned>(block_threads());
  const auto normal = normal_of(p, items * static_cast<unsigned>(count), [&](auto f) {
#pragma unroll 1
    for (unsigned item = first; item < items; item += step) {
      Elements<Scalar, count> x;
      row.load_x(x, item);
#pragma unroll
      for (int i = 0; i < count; ++i) f(x.values[i]);
    }
  });
#pragma unroll 1
  for (unsigned item = first; item < items; item += step) {
    Elements<Scalar, count> x;
    row.load_x(x, item);
    row.finish(x, item, normal);
  }
}

/// True if the rows of all operands can be read and written in chunks of 16 bytes.
template <class Scalar> DEVICE bool in_chunks(const LayerNormArguments& p) {
  constexpr int chunk = chunk_elements<Scalar>;
  const auto whole = [](const View& kept, const View& reduced, const void* pointer) {
    if (!pointer || last_stride(reduced) == 0) return true;
    bool all = last_stride(reduced) == 1 && aligned(pointer);
    for (int d = 0; d < kept.rank; ++d) all = all && kept.stride[d] % chunk == 0;
    return all;
  };
  return p.reduced.rank == 1 && last_extent(p.reduced) % chunk == 0 && last_stride(p.reduced) == 1 &&
         last_stride(p.y_reduced) == 1 && whole(p.kept, p.reduced, p.x) && whole(p.y_kept, p.y_reduced, p.y) &&
         whole(p.scale_kept, p.scale_reduced, p.scale) && whole(p.shift_kept, p.shift_reduced, p.shift) &&
         whole(p.residual_kept, p.residual_reduced, p.residual);
}

template <class Scalar> DEVICE void normalise_rows(const LayerNormArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<Scalar>;
  const unsigned elements = element_count(p.reduced), chunks = elements / static_cast<unsigned>(chunk);
  if (!in_chunks<Scalar>(p)) return normalise_long<Scalar, 1, Anyhow>(p, elements);
  if (chunks <= max_own * static_cast<unsigned>(block_threads())) normalise_short<Scalar, chunk>(p, chunks);
  else normalise_long<Scalar, chunk, Evenly>(p, chunks);
}

} // namespace

KERNEL(normalise_f, 256, LayerNormArguments) { normalise_rows<float>(arguments); }
KERNEL(normalise_h, 256, LayerNormArguments) { normalise_rows<Half>(arguments); }

} // namespace rtexec::tasks::cuda
