// Rows less their mean and over their deviation. A block for each row: its threads keep what they read where that is
// not much, else they read it again.
#include "tasks/dnn/cuda/kernels/activation.cuh"
#include "tasks/dnn/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {

constexpr int most_normalising_warps = 8;
struct NormaliseParts {
  float of[most_normalising_warps];
};

namespace {

/// Of all threads of the block.
DEVICE float total(float value) {
  for (int mask = 16; mask > 0; mask /= 2) value += exchange(value, mask);
  const int warps = block_threads() / 32;
  if (warps == 1) return value;
  auto& parts = shared_memory<NormaliseParts>();
  barrier(); // a total before this one has been read
  if (thread_index() % 32 == 0) parts.of[thread_index() / 32] = value;
  barrier();
  value = parts.of[0];
  for (int warp = 1; warp < warps; ++warp) value += parts.of[warp];
  return value;
}

/// What makes a row normal: (x - mean) * factor.
struct Normal {
  float mean, factor;
};

/// `each(f)` calls f(x) for this thread's elements of the row.
template <class Each> DEVICE Normal normal_of(const NormaliseArguments& p, unsigned count, Each each) {
  const float share = 1.0F / static_cast<float>(count);
  float sum = 0, squares = 0;
  if (p.centred) each([&](float x) { sum += x; });
  const float mean = p.centred ? total(sum) * share : 0.0F;
  each([&](float x) { squares = multiply_add(x - mean, x - mean, squares); });
  return {mean, 1.0F / square_root(total(squares) * share + p.epsilon)};
}

template <class Scalar, int count>
DEVICE void add(float (&values)[count], const void* from, const View& view, long long at) {
  Elements<Scalar, count> elements;
  load<Scalar, count>(elements, static_cast<const Scalar*>(from) + at, last_stride(view) == 0);
#pragma unroll
  for (int i = 0; i < count; ++i) values[i] += elements.values[i];
}

template <class Scalar, int count> struct Row {
  const NormaliseArguments& p;
  long long x, scale, shift, residual, y; // offsets

  DEVICE explicit Row(const NormaliseArguments& arguments)
      : p(arguments),
        x(offset_of(p.kept, block_x())),
        scale(offset_of(p.scale_kept, block_x())),
        shift(offset_of(p.shift_kept, block_x())),
        residual(offset_of(p.residual_kept, block_x())),
        y(offset_of(p.y_kept, block_x())) {}

  DEVICE void load_x(Elements<Scalar, count>& to, unsigned item) const {
    to.load(static_cast<const Scalar*>(p.x) + x + offset_of<count>(p.reduced, item));
  }

  DEVICE void finish(Elements<Scalar, count> values, unsigned item, const Normal& normal) const {
#pragma unroll
    for (int i = 0; i < count; ++i) values.values[i] = (values.values[i] - normal.mean) * normal.factor;
    if (p.scale) {
      Elements<Scalar, count> factors;
      load<Scalar, count>(factors,
                          static_cast<const Scalar*>(p.scale) + scale + offset_of<count>(p.scale_reduced, item),
                          last_stride(p.scale_reduced) == 0);
#pragma unroll
      for (int i = 0; i < count; ++i) values.values[i] *= factors.values[i];
    }
    if (p.shift) add<Scalar>(values.values, p.shift, p.shift_reduced, shift + offset_of<count>(p.shift_reduced, item));
    if (p.residual)
      add<Scalar>(values.values, p.residual, p.residual_reduced, residual + offset_of<count>(p.residual_reduced, item));
    if (p.activation.kind != ActivationArguments::none)
#pragma unroll
      for (int i = 0; i < count; ++i) values.values[i] = activated(values.values[i], p.activation);
    values.store(static_cast<Scalar*>(p.y) + y + offset_of<count>(p.y_reduced, item));
  }
};

template <class Scalar, int count> DEVICE void normalise(const NormaliseArguments& p) {
  constexpr unsigned most_own = 4; // that a thread keeps
  const Row<Scalar, count> row(p);
  const unsigned elements = element_count(p.reduced), items = elements / static_cast<unsigned>(count);
  const unsigned first = static_cast<unsigned>(thread_index()), step = static_cast<unsigned>(block_threads());
  if (items > most_own * step) {
    const auto each = [&](auto f) {
      for (unsigned item = first; item < items; item += step) {
        Elements<Scalar, count> x;
        row.load_x(x, item);
#pragma unroll
        for (int i = 0; i < count; ++i) f(x.values[i]);
      }
    };
    const auto normal = normal_of(p, elements, each);
    for (unsigned item = first; item < items; item += step) {
      Elements<Scalar, count> x;
      row.load_x(x, item);
      row.finish(x, item, normal);
    }
    return;
  }
  Elements<Scalar, count> own[most_own];
#pragma unroll
  for (unsigned j = 0; j < most_own; ++j)
    if (first + j * step < items) row.load_x(own[j], first + j * step);
  const auto normal = normal_of(p, elements, [&](auto f) {
#pragma unroll
    for (unsigned j = 0; j < most_own; ++j)
      if (first + j * step < items)
#pragma unroll
        for (int i = 0; i < count; ++i) f(own[j].values[i]);
  });
#pragma unroll
  for (unsigned j = 0; j < most_own; ++j)
    if (first + j * step < items) row.finish(own[j], first + j * step, normal);
}

/// Whether rows of all operands are read and written in chunks.
template <class Scalar> DEVICE bool in_chunks(const NormaliseArguments& p) {
  constexpr int chunk = chunk_elements<Scalar>;
  const auto whole = [](const View& kept, const View& reduced, const void* pointer) {
    if (!in_chunks_or_repeated<chunk>(reduced, static_cast<const Scalar*>(pointer))) return false;
    for (int d = 0; d < kept.rank; ++d)
      if (last_stride(reduced) != 0 && kept.stride[d] % chunk != 0) return false;
    return true;
  };
  return last_extent(p.reduced) % chunk == 0 && last_stride(p.reduced) == 1 && last_stride(p.y_reduced) == 1 &&
         whole(p.kept, p.reduced, p.x) && whole(p.y_kept, p.y_reduced, p.y) &&
         (!p.scale || whole(p.scale_kept, p.scale_reduced, p.scale)) &&
         (!p.shift || whole(p.shift_kept, p.shift_reduced, p.shift)) &&
         (!p.residual || whole(p.residual_kept, p.residual_reduced, p.residual));
}

template <class Scalar> DEVICE void normalise_rows(const NormaliseArguments& p) {
  let_next_start();
  wait_for_previous();
  if (in_chunks<Scalar>(p)) normalise<Scalar, chunk_elements<Scalar>>(p);
  else normalise<Scalar, 1>(p);
}

} // namespace

KERNEL(normalise_f, 256, NormaliseArguments) { normalise_rows<float>(arguments); }
KERNEL(normalise_h, 256, NormaliseArguments) { normalise_rows<Half>(arguments); }

} // namespace rtexec::tasks::cuda
