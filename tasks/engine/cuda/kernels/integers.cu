// Element-wise kernels for types that are known only when a kernel runs: conversions, integer functions and operations,
// comparisons, selection. The file also contains products of integer matrices, and convolutions of int16.
#include "tasks/engine/cuda/kernels/integers.cuh"
#include "tasks/engine/cuda/kernels/items.cuh"
#include "tasks/engine/cuda/kernels/levels.cuh"

namespace rtexec::tasks::cuda {
namespace {

DEVICE Integer function_of(Integer x, const CastArguments& p) {
  const bool negative = is_signed(p.from) && as_signed(x) < 0;
  switch (p.function.kind) {
  case ActivationArguments::relu: return negative ? 0 : x;
  case ActivationArguments::absolute: return negative ? 0 - x : x;
  case ActivationArguments::sign: return negative ? ~0ULL : static_cast<Integer>(x != 0);
  case ActivationArguments::is_zero: return static_cast<Integer>(x == 0);
  case ActivationArguments::is_not_zero: return static_cast<Integer>(x != 0);
  case ActivationArguments::is_nan:
  case ActivationArguments::is_infinite: return 0;
  default: return p.to == Storage::boolean ? static_cast<Integer>(x != 0) : x;
  }
}

DEVICE Integer function_of(float x, const CastArguments& p) {
  const auto& f = p.function;
  switch (f.kind) {
  case ActivationArguments::is_zero: return static_cast<Integer>(x == 0.0F);
  case ActivationArguments::is_nan: return static_cast<Integer>(x != x);
  case ActivationArguments::is_infinite:
    return static_cast<Integer>((x == infinity && f.b != 0.0F) || (x == -infinity && f.a != 0.0F));
  default: return p.to == Storage::boolean ? static_cast<Integer>(x != 0.0F) : truncated(x, p.to);
  }
}

DEVICE void cast(const CastArguments& p) {
  let_next_start();
  wait_for_previous();
  each_item<1>(element_count(p.y_view), [&](auto, unsigned item) {
    const long long x_at = offset_of(p.x_view, item), y_at = offset_of(p.y_view, item);
    if (!holds_integers(p.from)) {
      const float x = load_stored(p.x, x_at, p.from);
      if (holds_integers(p.to)) store_integer(p.y, y_at, p.to, function_of(x, p));
      else store_stored(p.y, y_at, p.to, x);
    } else {
      const Integer x = load_integer(p.x, x_at, p.from);
      if (holds_integers(p.to)) store_integer(p.y, y_at, p.to, function_of(x, p));
      else store_stored(p.y, y_at, p.to, integer_to_float(x, p.from));
    }
  });
}

template <class T, class Less> DEVICE bool compared(int kind, T a, T b, Less less) {
  switch (kind) {
  case BinaryArguments::equal: return a == b;
  case BinaryArguments::not_equal: return a != b;
  case BinaryArguments::less: return less(a, b);
  default: return less(a, b) || a == b;
  }
}

DEVICE Integer combined(int kind, Integer a, Integer b, Storage storage) {
  const bool sign = is_signed(storage);
  switch (kind) {
  case BinaryArguments::add: return a + b;
  case BinaryArguments::subtract: return a - b;
  case BinaryArguments::multiply: return a * b;
  case BinaryArguments::minimum: return is_less(b, a, sign) ? b : a;
  case BinaryArguments::maximum: return is_less(a, b, sign) ? b : a;
  case BinaryArguments::power: return power(a, b, sign);
  case BinaryArguments::modulo: return modulo(a, b, sign);
  case BinaryArguments::remainder: return remainder(a, b, sign);
  case BinaryArguments::slope: return sign && as_signed(a) < 0 ? a * b : a;
  case BinaryArguments::bit_and: return a & b;
  case BinaryArguments::bit_or: return a | b;
  case BinaryArguments::bit_xor: return a ^ b;
  case BinaryArguments::shift_left: return shifted_left(a, b, storage);
  case BinaryArguments::shift_right: return shifted_right(a, b, storage);
  default: return quotient(a, b, sign);
  }
}

DEVICE void binary(const BinaryArguments& p) {
  let_next_start();
  wait_for_previous();
  const bool compares = p.kind >= BinaryArguments::equal && p.kind <= BinaryArguments::less_or_equal;
  each_item<1>(element_count(p.y_view), [&](auto, unsigned item) {
    const long long a_at = offset_of(p.a_view, item), b_at = offset_of(p.b_view, item),
                    y_at = offset_of(p.y_view, item);
    if (!holds_integers(p.storage)) {
      const float a = load_stored(p.a, a_at, p.storage), b = load_stored(p.b, b_at, p.storage);
      const bool truth = compared(p.kind, a, b, [](float x, float y) { return x < y; });
      return store_integer(p.y, y_at, Storage::boolean, static_cast<Integer>(truth));
    }
    const Integer a = load_integer(p.a, a_at, p.storage), b = load_integer(p.b, b_at, p.storage);
    if (!compares) return store_integer(p.y, y_at, p.storage, combined(p.kind, a, b, p.storage));
    const bool sign = is_signed(p.storage);
    const bool truth = compared(p.kind, a, b, [sign](Integer x, Integer y) { return is_less(x, y, sign); });
    store_integer(p.y, y_at, Storage::boolean, static_cast<Integer>(truth));
  });
}

template <class T> DEVICE void select(const WhereArguments& p, unsigned item) {
  const bool first = static_cast<const unsigned char*>(p.a)[offset_of(p.a_view, item)] != 0;
  const T* from = static_cast<const T*>(first ? p.b : p.c);
  static_cast<T*>(p.y)[offset_of(p.y_view, item)] = from[offset_of(first ? p.b_view : p.c_view, item)];
}

DEVICE void select(const WhereArguments& p) {
  let_next_start();
  wait_for_previous();
  each_item<1>(element_count(p.y_view), [&](auto, unsigned item) {
    switch (p.width) {
    case 1: return select<unsigned char>(p, item);
    case 2: return select<unsigned short>(p, item);
    case 4: return select<unsigned>(p, item);
    default: return select<Integer>(p, item);
    }
  });
}

/// Computes a matrix product. Each thread computes one element of y; neighbouring threads compute neighbouring elements
/// of a row.
DEVICE void gemm(const GemmArguments& p) {
  let_next_start();
  wait_for_previous();
  const auto m = static_cast<unsigned>(p.m), n = static_cast<unsigned>(p.n);
  each_item<1>(element_count(p.y_batch) * m * n, [&](auto, unsigned item) {
    const unsigned row = item / n, batch = row / m;
    const long long i = row - batch * m, j = item - row * n;
    const long long a = offset_of(p.a_batch, batch) + i * p.a_row, b = offset_of(p.b_batch, batch) + j * p.b_column;
    Integer sum = 0;
    for (int k = 0; k < p.k; ++k)
      sum += load_integer(p.a, a + k * p.a_column, p.from) * load_integer(p.b, b + k * p.b_row, p.from);
    store_integer(p.y, offset_of(p.y_batch, batch) + i * p.y_row + j * p.y_column, p.to, sum);
  });
}

/// Convolves x and weights of type s16. y is of type s32; sums are modulo 2^32. Weights are stored as
/// [out_channels][channels][kernel_h][kernel_w]. Each thread computes one output; neighbouring threads compute
/// neighbouring channels of a pixel.
DEVICE void convolve(const ConvArguments& p) {
  let_next_start();
  wait_for_previous();
  const auto all = static_cast<unsigned>(p.groups * p.out_channels);
  each_item<1>(pixels_out(p) * all, [&](auto, unsigned item) {
    const unsigned number = item / all;
    const int channel = static_cast<int>(item - number * all);
    const Pixel out(number, p.out_height, p.out_width);
    const short* x = static_cast<const short*>(p.x) + channel / p.out_channels * p.channels;
    const int taps = p.kernel_h * p.kernel_w;
    const short* weights = static_cast<const short*>(p.weights) + static_cast<long long>(channel) * taps * p.channels;
    unsigned sum = 0;
    for (int kh = 0; kh < p.kernel_h; ++kh)
      for (int kw = 0; kw < p.kernel_w; ++kw, ++weights) {
        const int h = out.h * p.stride_h - p.pad_top + kh * p.dilation_h,
                  w = out.w * p.stride_w - p.pad_left + kw * p.dilation_w;
        if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;
        const short* pixel = x + pixel_offset(out.n, h, w, p.height, p.width, p.x_stride);
        for (int c = 0; c < p.channels; ++c) sum += static_cast<unsigned>(pixel[c] * weights[c * taps]);
      }
    static_cast<unsigned*>(p.y)[static_cast<long long>(number) * p.y_stride + channel] = sum;
  });
}

} // namespace

KERNEL(cast_elements, 128, CastArguments) { cast(arguments); }
KERNEL(binary_i, 128, BinaryArguments) { binary(arguments); }
KERNEL(select_elements, 128, WhereArguments) { select(arguments); }
KERNEL(gemm_i, 128, GemmArguments) { gemm(arguments); }
KERNEL(conv_i, 128, ConvArguments) { convolve(arguments); }

} // namespace rtexec::tasks::cuda
