// Element-wise kernels: scale, shift, activation, operations on two or three operands; local response normalisation
// across channels.
#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

template <class Scalar> DEVICE void scale_shift(const ScaleShiftArguments& p) {
  let_next_start();
  wait_for_previous();
  each_channel<Scalar>(p, static_cast<unsigned>(p.pixels), [&](auto count, unsigned pixel, int channel) {
    Elements<Scalar, count> x;
    x.load(static_cast<const Scalar*>(p.x) + static_cast<long long>(pixel) * p.x_stride + channel);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      float value = x.values[i];
      if (p.scale) value *= p.scale[channel + i];
      if (p.shift) value += p.shift[channel + i];
      x.values[i] = value;
    }
    activate(x.values, p.activation);
    x.store(static_cast<Scalar*>(p.y) + static_cast<long long>(pixel) * p.y_stride + channel);
  });
}

/// Returns the remainder of a / b with the sign of a. It is exact for integers below 2^24.
DEVICE float remainder(float a, float b) {
  if (a != a || b != b || b == 0.0F || absolute(a) == infinity) return bits_float(0x7fc00000U);
  if (absolute(b) == infinity) return a;
  const double quotient = static_cast<double>(a) / static_cast<double>(b);
  const auto whole = static_cast<double>(static_cast<long long>(quotient)); // towards zero
  return with_sign(absolute(static_cast<float>(static_cast<double>(a) - whole * static_cast<double>(b))), a);
}
DEVICE float modulo(float a, float b) {
  const float rest = remainder(a, b);
  return rest != 0.0F && (rest < 0.0F) != (b < 0.0F) ? rest + b : rest;
}

/// Returns a^b. The result is an integer if a and b are integers and b >= 0.
DEVICE float power_of(float a, float b) {
  const float result = power(a, b);
  const bool is_whole = nearest_integer(a) == a && nearest_integer(b) == b && b >= 0.0F;
  return is_whole ? nearest_integer(result) : result;
}

DEVICE_CALL float combined_rarely(float a, float b, int kind) {
  switch (kind) {
  case BinaryArguments::power: return power_of(a, b);
  case BinaryArguments::modulo: return modulo(a, b);
  case BinaryArguments::remainder: return remainder(a, b);
  default: return a < 0.0F ? a * b : a; // BinaryArguments::slope
  }
}

/// Calls each(function) with the operation that `kind` selects. The selection runs once for all elements, as in
/// with_function().
template <class F> DEVICE void with_pair(int kind, F each) {
  switch (kind) {
  case BinaryArguments::add: return each([](float a, float b) { return a + b; });
  case BinaryArguments::subtract: return each([](float a, float b) { return a - b; });
  case BinaryArguments::multiply: return each([](float a, float b) { return a * b; });
  case BinaryArguments::divide: return each([](float a, float b) { return a / b; });
  case BinaryArguments::minimum: return each([](float a, float b) { return a != a || a < b ? a : b; });
  case BinaryArguments::maximum: return each([](float a, float b) { return a != a || a > b ? a : b; });
  default: return each([kind](float a, float b) { return combined_rarely(a, b, kind); });
  }
}

template <class Scalar> DEVICE void binary(const BinaryArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<Scalar>;
  const bool whole = made_of_chunks<chunk>(p.y_view, static_cast<const Scalar*>(p.y)) &&
                     in_chunks_or_repeated<chunk>(p.a_view, static_cast<const Scalar*>(p.a)) &&
                     in_chunks_or_repeated<chunk>(p.b_view, static_cast<const Scalar*>(p.b));
  const bool a_repeated = last_stride(p.a_view) == 0, b_repeated = last_stride(p.b_view) == 0;
  each_item<chunk>(element_count(p.y_view), whole, [&](auto count, unsigned item) {
    long long a_at = 0, b_at = 0, y_at = 0;
    each_index<count>(p.y_view, item, [&](int d, int i) {
      a_at += i * p.a_view.stride[d];
      b_at += i * p.b_view.stride[d];
      y_at += i * p.y_view.stride[d];
    });
    Elements<Scalar, count> a, b;
    load(a, static_cast<const Scalar*>(p.a) + a_at, a_repeated);
    load(b, static_cast<const Scalar*>(p.b) + b_at, b_repeated);
    with_pair(p.kind, [&](auto function) {
#pragma unroll
      for (int i = 0; i < count; ++i) a.values[i] = function(a.values[i], b.values[i]);
    });
    activate(a.values, p.activation);
    a.store(static_cast<Scalar*>(p.y) + y_at);
  });
}

template <class Scalar> DEVICE void multiply_and_add(const MultiplyAddArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = chunk_elements<Scalar>;
  const auto in_chunks = [](const View& view, const void* x) {
    return in_chunks_or_repeated<chunk>(view, static_cast<const Scalar*>(x));
  };
  const bool whole = made_of_chunks<chunk>(p.y_view, static_cast<const Scalar*>(p.y)) && in_chunks(p.a_view, p.a) &&
                     in_chunks(p.b_view, p.b) && in_chunks(p.c_view, p.c);
  const bool a_repeated = last_stride(p.a_view) == 0, b_repeated = last_stride(p.b_view) == 0,
             c_repeated = last_stride(p.c_view) == 0;
  each_item<chunk>(element_count(p.y_view), whole, [&](auto count, unsigned item) {
    long long a_at = 0, b_at = 0, c_at = 0, y_at = 0;
    each_index<count>(p.y_view, item, [&](int d, int i) {
      a_at += i * p.a_view.stride[d];
      b_at += i * p.b_view.stride[d];
      c_at += i * p.c_view.stride[d];
      y_at += i * p.y_view.stride[d];
    });
    Elements<Scalar, count> a, b, c;
    load(a, static_cast<const Scalar*>(p.a) + a_at, a_repeated);
    load(b, static_cast<const Scalar*>(p.b) + b_at, b_repeated);
    load(c, static_cast<const Scalar*>(p.c) + c_at, c_repeated);
#pragma unroll
    for (int i = 0; i < count; ++i) a.values[i] = multiply_add(p.alpha * a.values[i], b.values[i], c.values[i]);
    activate(a.values, p.activation);
    a.store(static_cast<Scalar*>(p.y) + y_at);
  });
}

template <class Scalar> DEVICE void lrn(const LrnArguments& p) {
  let_next_start();
  wait_for_previous();
  const unsigned channels = static_cast<unsigned>(p.channels);
  const unsigned items = static_cast<unsigned>(p.pixels) * channels;
  for (unsigned item = first_item(); item < items; item += item_step()) {
    const unsigned pixel = item / channels;
    const int channel = static_cast<int>(item - pixel * channels);
    const Scalar* x = static_cast<const Scalar*>(p.x) + static_cast<long long>(pixel) * p.x_stride;
    const int before = channel - (p.size - 1) / 2, after = channel + p.size / 2;
    const int first = before < 0 ? 0 : before, last = after < p.channels ? after : p.channels - 1;
    float sum = 0;
    for (int c = first; c <= last; ++c) {
      const float value = to_float(x[c]);
      sum += value * value;
    }
    const float base = p.bias + p.alpha / static_cast<float>(p.size) * sum;
    float divisor;
    if (p.beta == 0.75F) { // the most common value, computed without a logarithm
      const float root = square_root(base);
      divisor = root * square_root(root);
    } else {
      divisor = power(base, p.beta);
    }
    static_cast<Scalar*>(p.y)[static_cast<long long>(pixel) * p.y_stride + channel] =
        from_float<Scalar>(to_float(x[channel]) / divisor);
  }
}

} // namespace

KERNEL(scale_shift_f, 128, ScaleShiftArguments) { scale_shift<float>(arguments); }
KERNEL(scale_shift_h, 128, ScaleShiftArguments) { scale_shift<Half>(arguments); }
KERNEL(binary_f, 128, BinaryArguments) { binary<float>(arguments); }
KERNEL(binary_h, 128, BinaryArguments) { binary<Half>(arguments); }
KERNEL(multiply_add_f, 128, MultiplyAddArguments) { multiply_and_add<float>(arguments); }
KERNEL(multiply_add_h, 128, MultiplyAddArguments) { multiply_and_add<Half>(arguments); }
KERNEL(lrn_f, 128, LrnArguments) { lrn<float>(arguments); }
KERNEL(lrn_h, 128, LrnArguments) { lrn<Half>(arguments); }

} // namespace rtexec::tasks::cuda
