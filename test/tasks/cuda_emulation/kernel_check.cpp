#include "test/tasks/cuda_emulation/kernel_check.hpp"

#include "tasks/engine/cuda/program.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace rtexec::test {
namespace {

constexpr unsigned char untouched_byte = 0xff;

/// Converts binary16 by arithmetic, so that it shares no code with the kernels' conversions.
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = 0;
  if (exponent == 31) value = fraction == 0 ? HUGE_VAL : std::nan("");
  else if (exponent == 0) value = std::ldexp(fraction, -24);
  else value = std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}
std::uint16_t half_bits(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (magnitude >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
  const int exponent = magnitude < std::ldexp(1, -14) ? -14 : std::ilogb(magnitude);
  // Units of the last place; ties to even.
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<std::uint16_t>(sign | (steps + (exponent + 14) * 1024));
}

/// Returns half the distance between neighbouring values of the storage around `value`, and a little more.
double rounding(Storage storage, double value) {
  if (storage == Storage::s8) return 0.5;
  if (tasks::cuda::holds_integers(storage)) return 0;
  return storage == Storage::f32 ? std::abs(value) * 0x1p-23 + 0x1p-149 : std::abs(value) * 0x1.02p-11 + 0x1.02p-25;
}

bool agrees(Storage storage, double got, const Expected& expected) {
  if (storage == Storage::s8 && std::isnan(expected.value)) return true; // an integer cannot represent NaN
  if (std::isnan(expected.value)) return std::isnan(got);
  const double largest = storage == Storage::f32 ? 3.4028234663852886e38 : 65504;
  if (std::isinf(got))
    return std::signbit(got) == std::signbit(expected.value) && std::abs(expected.value) + expected.slack >= largest;
  return std::abs(got - expected.value) <= expected.slack + rounding(storage, expected.value);
}

std::vector<double> values_of(const Buffer& buffer) {
  std::vector<double> values;
  for (std::size_t i = 0; i < buffer.count(); ++i) values.push_back(buffer.get(i));
  return values;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void compare(const Buffer& y, const std::vector<Expected>& expected) {
  std::vector<bool> written(y.count());
  int wrong = 0;
  for (const auto& e : expected) {
    ASSERT_LT(e.at, y.count());
    written[e.at] = true;
    const double got = y.get(e.at);
    if (agrees(y.storage(), got, e)) continue;
    ADD_FAILURE() << "element " << e.at << " is " << got << ", not " << e.value << " (within " << e.slack << ")";
    if (++wrong == 5) return;
  }
  for (std::size_t i = 0; i < y.count(); ++i)
    if (!written[i] && !y.untouched(i)) {
      ADD_FAILURE() << "element " << i << " was written, and should not be";
      return;
    }
  EXPECT_TRUE(y.neighbours_untouched());
}

/// The operands of a convolution, and its expected result.
class ConvOracle {
 public:
  ConvOracle(const ConvArguments& conv, const ConvCheck& check)
      : c(conv),
        k(check),
        pixels_in(1LL * conv.batch * conv.height * conv.width),
        pixels_out(1LL * conv.batch * conv.out_height * conv.out_width),
        x(operands(), pixels_size(pixels_in, conv.groups * conv.channels, conv.x_stride), check.x_offset),
        weights(operands(), static_cast<std::size_t>(1LL * conv.groups * conv.out_channels * terms()),
                check.weights_offset),
        bias(Storage::f32, static_cast<std::size_t>(conv.groups * conv.out_channels)),
        factors(Storage::f32, bias.count()),
        offsets(bias.count() * sizeof(int)),
        residual(conv.is_int8 ? conv.residual_storage : check.storage,
                 pixels_size(pixels_out, conv.groups * conv.out_channels, conv.residual_stride), check.residual_offset),
        y(conv.is_int8 ? conv.y_storage : check.storage,
          pixels_size(pixels_out, conv.groups * conv.out_channels, conv.y_stride), check.y_offset),
        partial(Storage::f32, std::max<std::size_t>(check.partials, 1)),
        counters(std::max<std::size_t>(check.counters, 1) * sizeof(unsigned)) {
    Random random(check.seed);
    random.fill_pixels(x, c.groups * c.channels, c.x_stride);
    random.fill(weights);
    random.fill(bias);
    random.fill_pixels(residual, c.groups * c.out_channels, c.residual_stride);
    if (c.is_int8) fill_whole(random);
    for (auto* operand : {&x, &weights, &bias, &factors, &residual}) operand->protect();
    std::memset(counters.data(), 0, std::max<std::size_t>(check.counters, 1) * sizeof(unsigned));
    c.x = x.data();
    c.weights = weights.data();
    c.bias = k.bias ? static_cast<const float*>(bias.data()) : nullptr;
    c.residual = k.residual ? residual.data() : nullptr;
    c.y = y.data();
    c.partial = k.partials > 0 ? static_cast<float*>(partial.data()) : nullptr;
    c.counters = k.counters > 0 ? reinterpret_cast<unsigned*>(counters.data()) : nullptr;
  }

  [[nodiscard]] std::vector<Expected> expected() const {
    std::vector<Expected> all;
    const int channels = c.groups * c.out_channels;
    for (long long pixel = 0; pixel < pixels_out; ++pixel)
      for (int channel = 0; channel < channels; ++channel) all.push_back(element(pixel, channel));
    return all;
  }
  [[nodiscard]] bool counters_are_zero() const {
    const auto* words = reinterpret_cast<const unsigned*>(counters.data());
    return std::all_of(words, words + k.counters, [](unsigned word) { return word == 0; });
  }

  ConvArguments c;
  ConvCheck k;
  long long pixels_in, pixels_out;
  Buffer x, weights, bias, factors;
  GuardedMemory offsets;
  Buffer residual, y, partial;
  GuardedMemory counters;

 private:
  [[nodiscard]] long long terms() const { return 1LL * c.kernel_h * c.kernel_w * c.channels; }
  [[nodiscard]] Storage operands() const { return c.is_int8 ? Storage::s8 : k.storage; }

  /// Fills x with all byte values. Sums become about as large as those of floats.
  void fill_whole(Random& random) {
    random.fill_whole(x, -128, 127);
    random.fill_whole(weights, -127, 127);
    random.fill(factors, 2e-5, 1e-4);
    if (residual.storage() == Storage::s8) random.fill_whole(residual, -128, 127);
    for (std::size_t i = 0; i < bias.count(); ++i) offset_of(i) = random.whole(-1 << 20, 1 << 20);
    c.factors = static_cast<const float*>(factors.data());
    c.offsets = k.offsets ? &offset_of(0) : nullptr;
  }
  [[nodiscard]] int& offset_of(std::size_t channel) const { return reinterpret_cast<int*>(offsets.data())[channel]; }

  [[nodiscard]] Expected element(long long pixel, int channel) const {
    const auto w = static_cast<int>(pixel % c.out_width), h = static_cast<int>(pixel / c.out_width % c.out_height);
    const auto n = pixel / c.out_width / c.out_height;
    double sum = 0, magnitude = 0;
    for (int kh = 0; kh < c.kernel_h; ++kh)
      for (int kw = 0; kw < c.kernel_w; ++kw) {
        const int from_h = h * c.stride_h - c.pad_top + kh * c.dilation_h,
                  from_w = w * c.stride_w - c.pad_left + kw * c.dilation_w;
        const bool inside = from_h >= 0 && from_h < c.height && from_w >= 0 && from_w < c.width;
        if (!inside && !c.is_int8) continue;
        const long long at =
            ((n * c.height + from_h) * c.width + from_w) * c.x_stride + 1LL * channel / c.out_channels * c.channels;
        const long long tap = 1LL * kh * c.kernel_w + kw;
        const long long weight = c.channels == 1 && !c.is_int8 ? tap * c.groups * c.out_channels + channel
                                                               : channel * terms() + tap * c.channels;
        for (int i = 0; i < c.channels; ++i) {
          const double factor =
              inside ? x.get(static_cast<std::size_t>(at + i)) : static_cast<std::int8_t>(c.outside & 0xffU);
          const double product = factor * weights.get(static_cast<std::size_t>(weight + i));
          sum += product;
          magnitude += std::abs(product);
        }
      }
    if (c.is_int8) {
      if (c.offsets) sum += offset_of(static_cast<std::size_t>(channel));
      sum *= factors.get(static_cast<std::size_t>(channel));
      magnitude = std::abs(sum);
    }
    if (c.bias) sum += bias.get(static_cast<std::size_t>(channel));
    double added = 0;
    if (c.residual) {
      const double stored = residual.get(static_cast<std::size_t>(pixel * c.residual_stride + channel));
      added = c.is_int8 ? (stored - c.residual_zero) * c.residual_scale : stored;
    }
    if (!c.residual_last) sum += added;
    const double slack = magnitude * k.per_product + std::abs(sum) * 1e-6 + 2e-7;
    // An activation amplifies errors by its slope. The slope is at most the larger of 2 and the function's own value
    // (exp).
    const double value = activated(sum, c.activation) + (c.residual_last ? added : 0.0);
    const double stretched = slack * std::max(2.0, 2 * std::abs(value));
    const auto at = static_cast<std::size_t>(pixel * c.y_stride + channel);
    if (y.storage() != Storage::s8) return {at, value, stretched};
    const Levels& to = c.levels;
    return {at, std::clamp<double>(value / to.scale + to.zero, to.low, to.high), stretched / to.scale};
  }
};

} // namespace

Buffer::Buffer(Storage storage, std::size_t count, std::size_t offset)
    : storage_(storage), count_(count), offset_(offset), memory_((count + offset) * width()) {
  clear();
}

std::size_t Buffer::width() const { return tasks::cuda::size_of(storage_); }

void Buffer::clear() {
  const std::size_t bytes = (count_ + offset_) * width();
  std::memset(memory_.data(), untouched_byte,
              (bytes + GuardedMemory::alignment - 1) / GuardedMemory::alignment * GuardedMemory::alignment);
}

double Buffer::get(std::size_t i) const {
  const auto* at = memory_.data() + (offset_ + i) * width();
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (storage_) {
  case Storage::f32: return static_cast<double>(as(0.0F));
  case Storage::s8: return as(std::int8_t{});
  case Storage::s16: return as(std::int16_t{});
  case Storage::s64: return static_cast<double>(as(std::int64_t{}));
  default: return half_value(as(std::uint16_t{}));
  }
}

void Buffer::set(std::size_t i, double value) {
  const auto put = [&](auto element) {
    std::memcpy(memory_.data() + (offset_ + i) * width(), &element, sizeof element);
  };
  switch (storage_) {
  case Storage::f32: return put(static_cast<float>(value));
  case Storage::s8: return put(static_cast<std::int8_t>(value));
  case Storage::s16: return put(static_cast<std::int16_t>(value));
  case Storage::s64: return put(static_cast<std::int64_t>(value));
  default: return put(half_bits(value));
  }
}

bool Buffer::untouched(std::size_t i) const {
  const auto* at = memory_.data() + (offset_ + i) * width();
  return std::all_of(at, at + width(), [](std::byte byte) { return byte == std::byte{untouched_byte}; });
}

bool Buffer::neighbours_untouched() const {
  const auto blank = [](std::byte byte) { return byte == std::byte{untouched_byte}; };
  const std::size_t first = offset_ * width(), end = (offset_ + count_) * width();
  const std::size_t last = (end + GuardedMemory::alignment - 1) / GuardedMemory::alignment * GuardedMemory::alignment;
  const auto* memory = memory_.data();
  return memory_.front_untouched() && std::all_of(memory, memory + first, blank) &&
         std::all_of(memory + end, memory + last, blank);
}

void check_kernel(const Launch& launch, void* arguments, Buffer& y, const std::vector<Expected>& expected,
                  const std::function<void()>& before) {
  std::vector<double> forward;
  void* pointers[] = {arguments};
  for (const auto order : {emulation::Order::forward, emulation::Order::reverse}) {
    SCOPED_TRACE(std::string(launch.name) +
                 (order == emulation::Order::forward ? ", threads forward" : ", threads in reverse"));
    y.clear();
    if (before) before();
    emulation::set_order(order);
    try {
      emulation::launch(launch, pointers);
    } catch (const std::exception& error) { ADD_FAILURE() << error.what(); }
    emulation::set_order(emulation::Order::forward);
    ASSERT_NO_FATAL_FAILURE(compare(y, expected));
    if (::testing::Test::HasFailure()) return;
    if (forward.empty()) forward = values_of(y);
    else EXPECT_TRUE(std::ranges::equal(forward, values_of(y), same)) << "the order of threads changes results";
  }
}

double activated(double x, const ActivationArguments& f) {
  const auto a = static_cast<double>(f.a), b = static_cast<double>(f.b);
  switch (f.kind) {
  case ActivationArguments::relu: return x < 0 ? 0 : x;
  case ActivationArguments::leaky_relu: return x < 0 ? a * x : x;
  case ActivationArguments::sigmoid: return 1 / (1 + std::exp(-x));
  case ActivationArguments::hard_sigmoid: return std::isnan(x) ? x : std::clamp(a * x + b, 0.0, 1.0);
  case ActivationArguments::hard_swish: return std::isnan(x) ? x : x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
  case ActivationArguments::clip: return std::isnan(x) ? x : std::min(std::max(x, a), b);
  case ActivationArguments::exp: return std::exp(x);
  case ActivationArguments::tanh: return std::tanh(x);
  case ActivationArguments::sqrt: return std::sqrt(x);
  case ActivationArguments::swish: return x / (1 + std::exp(-x));
  default: return x;
  }
}

std::vector<ActivationArguments> all_activations() {
  using A = ActivationArguments;
  return {{A::none, 0, 0},          {A::relu, 0, 0},    {A::leaky_relu, 0.1F, 0},
          {A::leaky_relu, 1.5F, 0}, {A::sigmoid, 0, 0}, {A::hard_sigmoid, 0.2F, 0.5F},
          {A::hard_swish, 0, 0},    {A::clip, 0, 6},    {A::clip, -0.5F, 0.25F},
          {A::exp, 0, 0},           {A::tanh, 0, 0},    {A::sqrt, 0, 0},
          {A::swish, 0, 0}};
}

View dense_view(const std::vector<int>& shape) {
  View view;
  view.rank = static_cast<int>(shape.size());
  long long stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    view.shape[d] = shape[d];
    view.stride[d] = stride;
    stride *= shape[d];
  }
  return view;
}

long long view_offset(const View& view, const std::vector<int>& index) {
  long long at = 0;
  for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * view.stride[d];
  return at;
}

std::size_t view_size(const View& view) {
  long long last = 0;
  for (int d = 0; d < view.rank; ++d) last += (view.shape[d] - 1) * view.stride[d];
  return static_cast<std::size_t>(last + 1);
}

void each_view_index(const View& view, const std::function<void(const std::vector<int>&)>& f) {
  std::vector<int> index(static_cast<std::size_t>(view.rank));
  for (;;) {
    f(index);
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == view.shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

void make_int8(Random& random, ConvArguments& c) {
  c.is_int8 = 1;
  c.outside = static_cast<unsigned>(random.whole(0, 255)) * 0x01010101U;
  c.y_storage = random.one_of({Storage::f32, Storage::f16, Storage::s8});
  c.residual_storage = random.one_of({Storage::f32, Storage::f16, Storage::s8});
  if (c.residual_storage == Storage::s8) {
    c.residual_zero = static_cast<float>(random.whole(-128, 127));
    c.residual_scale = 0.01F;
  }
  c.levels = {0.03F, static_cast<float>(random.whole(-128, 127)), -128, static_cast<float>(random.one_of({100, 127}))};
}

void check_conv(const Launch& launch, const ConvArguments& conv, const ConvCheck& check) {
  SCOPED_TRACE(describe(conv) + (check.bias ? ", bias" : "") + (check.residual ? ", residual" : "") + ", offsets " +
               std::to_string(check.x_offset) + " " + std::to_string(check.weights_offset) + " " +
               std::to_string(check.residual_offset) + " " + std::to_string(check.y_offset));
  ConvOracle oracle(conv, check);
  check_kernel(launch, &oracle.c, oracle.y, oracle.expected(), [&] { oracle.partial.clear(); });
  EXPECT_TRUE(oracle.counters_are_zero());
  EXPECT_TRUE(oracle.partial.neighbours_untouched());
}

std::string describe(const ConvArguments& c) {
  const auto n = [](int value) { return std::to_string(value); };
  return "x " + n(c.batch) + "x" + n(c.height) + "x" + n(c.width) + "x" + n(c.groups) + "*" + n(c.channels) + " (" +
         n(c.x_stride) + "), y " + n(c.out_height) + "x" + n(c.out_width) + "x" + n(c.groups) + "*" +
         n(c.out_channels) + " (" + n(c.y_stride) + "), kernel " + n(c.kernel_h) + "x" + n(c.kernel_w) + ", stride " +
         n(c.stride_h) + "x" + n(c.stride_w) + ", pad " + n(c.pad_top) + "," + n(c.pad_left) + ", dilation " +
         n(c.dilation_h) + "x" + n(c.dilation_w) + ", activation " + n(c.activation.kind) + ", splits " + n(c.splits);
}

} // namespace rtexec::test
