// Checks of kernels on the emulation: operands in guarded memory, results against an oracle in double precision,
// element by element.
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"
#include "test/tasks/cuda_emulation/emulation.hpp"
#include "test/tasks/onnx_oracle/guarded_memory.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace rtexec::test {

using tasks::cuda::ActivationArguments;
using tasks::cuda::ConvArguments;
using tasks::cuda::Launch;
using tasks::cuda::Levels;
using tasks::cuda::Storage;
using tasks::cuda::View;

/// Skips where the emulation cannot run.
#define SKIP_WITHOUT_EMULATION() \
  if (const auto* reason = ::rtexec::test::emulation::unavailable()) GTEST_SKIP() << reason

/// Elements of a tensor as a kernel sees them, of f32, f16, s8, s16 or s64. Before it is set, every element is a NaN
/// with all bits set. An access beyond the end faults.
class Buffer {
 public:
  /// `offset`: elements between an address that is a multiple of 64 and the first one.
  Buffer(Storage storage, std::size_t count, std::size_t offset = 0);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Storage storage() const { return storage_; }
  [[nodiscard]] void* data() const { return memory_.data() + offset_ * width(); }
  [[nodiscard]] double get(std::size_t i) const;
  /// Rounded to the storage.
  void set(std::size_t i, double value);
  /// As before anything was set.
  [[nodiscard]] bool untouched(std::size_t i) const;
  void clear();
  void protect() { memory_.protect(); }
  /// Whether nothing was written before the first element or after the last one.
  [[nodiscard]] bool neighbours_untouched() const;

 private:
  [[nodiscard]] std::size_t width() const;

  Storage storage_;
  std::size_t count_, offset_;
  GuardedMemory memory_;
};

/// What an element must be: `value`, within `slack`, and within the storage's rounding: of bytes, which hold what they
/// hold and are not shifted, half of one.
struct Expected {
  std::size_t at = 0;
  double value = 0;
  double slack = 0;
};

/// Launches with both orders of threads; both must give the same bits. Elements of y that are not expected must not be
/// written. `before` is called before each launch.
void check_kernel(const Launch& launch, void* arguments, Buffer& y, const std::vector<Expected>& expected,
                  const std::function<void()>& before = {});

/// The value of one activation in double precision, by its definition.
[[nodiscard]] double activated(double x, const ActivationArguments& activation);
[[nodiscard]] std::vector<ActivationArguments> all_activations();

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  [[nodiscard]] double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  /// Both included.
  [[nodiscard]] int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  [[nodiscard]] bool chance(double probability) { return std::bernoulli_distribution(probability)(engine_); }
  template <class T> [[nodiscard]] T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + whole(0, static_cast<int>(choices.size()) - 1));
  }
  void fill(Buffer& buffer, double low = -1, double high = 1) {
    for (std::size_t i = 0; i < buffer.count(); ++i) buffer.set(i, real(low, high));
  }
  void fill_whole(Buffer& buffer, int low, int high) {
    for (std::size_t i = 0; i < buffer.count(); ++i) buffer.set(i, whole(low, high));
  }
  /// Images with a pixel stride: channels beyond `channels` stay NaN.
  void fill_pixels(Buffer& buffer, int channels, int stride, double low = -1, double high = 1) {
    for (std::size_t i = 0; i < buffer.count(); ++i)
      if (static_cast<int>(i) % stride < channels) buffer.set(i, real(low, high));
  }

 private:
  std::mt19937 engine_;
};

/// Elements of an image tensor whose last pixel ends with its last channel.
[[nodiscard]] inline std::size_t pixels_size(long long pixels, int channels, int stride) {
  return static_cast<std::size_t>((pixels - 1) * stride + channels);
}

[[nodiscard]] View dense_view(const std::vector<int>& shape);
[[nodiscard]] long long view_offset(const View& view, const std::vector<int>& index);
/// Largest offset of an element, plus one; strides are not negative.
[[nodiscard]] std::size_t view_size(const View& view);
/// f(index) for every index of the view's shape.
void each_view_index(const View& view, const std::function<void(const std::vector<int>&)>& f);

/// How a convolution kernel is checked, beyond the arguments' geometry.
struct ConvCheck {
  Storage storage = Storage::f32;
  bool bias = true, residual = false, offsets = true;
  /// Elements from an aligned address
  std::size_t x_offset = 0, weights_offset = 0, residual_offset = 0, y_offset = 0;
  std::size_t partials = 0; // floats, for splits
  std::size_t counters = 0;
  double per_product = 4e-7; // error of each product, relative to it: of rounded factors, and of the sum
  unsigned seed = 1;
};

/// What a convolution of whole numbers has besides, at random.
void make_whole(Random& random, ConvArguments& conv);

/// Runs `launch` on `conv`, whose pointers are set here, against a convolution in double precision: groups, dilation,
/// padding, bias, residual, activation, pixel strides, splits. Counters must be zero again. Every operand is guarded,
/// and all but y, partial and counters are read-only.
void check_conv(const Launch& launch, const ConvArguments& conv, const ConvCheck& check);

[[nodiscard]] std::string describe(const ConvArguments& conv);

} // namespace rtexec::test
