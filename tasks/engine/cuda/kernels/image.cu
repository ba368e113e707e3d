// Converts the network's input image to channels last, and clears counters.
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

template <class Scalar, int count> DEVICE void image_in(const ImageInArguments& p) {
  const unsigned plane = static_cast<unsigned>(p.height) * static_cast<unsigned>(p.width);
  const unsigned pixels = plane * static_cast<unsigned>(p.batch);
  for (unsigned pixel = first_item(); pixel < pixels; pixel += item_step()) {
    const unsigned n = pixel / plane;
    const float* x = p.x + static_cast<long long>(n) * p.channels * plane + (pixel - n * plane);
    Scalar* y = static_cast<Scalar*>(p.y) + static_cast<long long>(pixel) * p.y_stride;
    for (int c = 0; c < p.y_stride; c += count) {
      Elements<Scalar, count> elements;
#pragma unroll
      for (int i = 0; i < count; ++i)
        elements.values[i] = c + i < p.channels ? x[static_cast<long long>(c + i) * plane] : 0.0F;
      elements.store(y + c);
    }
  }
}

template <class Scalar> DEVICE void image_in(const ImageInArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<Scalar>;
  if (in_chunks<chunk>(p.y, p.y_stride, sizeof(Scalar))) image_in<Scalar, chunk>(p);
  else if (in_chunks<4>(p.y, p.y_stride, sizeof(Scalar))) image_in<Scalar, 4>(p);
  else image_in<Scalar, 1>(p);
}

} // namespace

KERNEL(image_in_f, 128, ImageInArguments) { image_in<float>(arguments); }
KERNEL(image_in_h, 128, ImageInArguments) { image_in<Half>(arguments); }

KERNEL(clear, 128, ClearArguments) {
  let_next_start();
  wait_for_previous();
  for (unsigned i = first_item(); i < static_cast<unsigned>(arguments.count); i += item_step()) arguments.words[i] = 0;
}

} // namespace rtexec::tasks::cuda
