// Checks kernels on the emulation: operands are in guarded memory, and results are compared with an oracle in double
// precision, element by element.
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

/// Skips the test if the emulation cannot run.
#define SKIP_WITHOUT_EMULATION() \
  if (const auto* reason = ::rtexec::test::emulation::unavailable()) GTEST_SKIP() << reason

/// Elements of a tensor as a kernel sees them, of f32, f16, s8, s16 or s64. Before it is set, every element is a NaN
/// with all bits set. An access beyond the end faults.
class Buffer {
 public:
  /// `offset` is the number of elements between an address that is a multiple of 64 and the first element.
  Buffer(Storage storage, std::size_t count, std::size_t offset = 0);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Storage storage() const { return storage_; }
  [[nodiscard]] void* data() const { return memory_.data() + offset_ * width(); }
  [[nodiscard]] double get(std::size_t i) const;
  /// Sets an element, rounded to the storage type.
  void set(std::size_t i, double value);
  /// True if the element was never set.
  [[nodiscard]] bool untouched(std::size_t i) const;
  void clear();
  void protect() { memory_.protect(); }
  /// True if nothing was written before the first element or after the last one.
  [[nodiscard]] bool neighbours_untouched() const;

 private:
  [[nodiscard]] std::size_t width() const;

  Storage storage_;
  std::size_t count_, offset_;
  GuardedMemory memory_;
};

/// The expected value of an element: `value`, within `slack`, and within the rounding of the storage. For bytes that is
/// half of one.
struct Expected {
  std::size_t at = 0;
  double value = 0;
  double slack = 0;
};

/// Launches with both orders of threads; both must give the same bits. Elements of y that are not expected must not be
/// written. Calls `before` before each launch.
void check_kernel(const Launch& launch, void* arguments, Buffer& y, const std::vector<Expected>& expected,
                  const std::function<void()>& before = {});

/// Returns the value of an activation in double precision, by its definition.
[[nodiscard]] double activated(double x, const ActivationArguments& activation);
[[nodiscard]] std::vector<ActivationArguments> all_activations();

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  [[nodiscard]] double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  /// Returns a random integer from `low` to `high`, both included.
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
  /// Fills images that have a pixel stride. Channels beyond `channels` stay NaN.
  void fill_pixels(Buffer& buffer, int channels, int stride, double low = -1, double high = 1) {
    for (std::size_t i = 0; i < buffer.count(); ++i)
      if (static_cast<int>(i) % stride < channels) buffer.set(i, real(low, high));
  }

 private:
  std::mt19937 engine_;
};

/// Returns the number of elements of an image tensor whose last pixel ends with its last channel.
[[nodiscard]] inline std::size_t pixels_size(long long pixels, int channels, int stride) {
  return static_cast<std::size_t>((pixels - 1) * stride + channels);
}

[[nodiscard]] View dense_view(const std::vector<int>& shape);
[[nodiscard]] long long view_offset(const View& view, const std::vector<int>& index);
/// Returns the largest offset of an element plus one. Strides must not be negative.
[[nodiscard]] std::size_t view_size(const View& view);
/// Calls f(index) for every index of the view's shape.
void each_view_index(const View& view, const std::function<void(const std::vector<int>&)>& f);

/// Options for checking a convolution kernel, in addition to the geometry in the arguments.
struct ConvCheck {
  Storage storage = Storage::f32;
  bool bias = true, residual = false, offsets = true;
  /// Distance from an aligned address, in elements.
  std::size_t x_offset = 0, weights_offset = 0, residual_offset = 0, y_offset = 0;
  std::size_t partials = 0; // floats, for splits
  std::size_t counters = 0;
  double per_product = 4e-7; // relative error of each product, from rounded factors and from the sum
  unsigned seed = 1;
};

/// Draws the additional arguments of an int8 convolution.
void make_int8(Random& random, ConvArguments& conv);

/// Runs `launch` on `conv`, whose pointers it sets, and compares with a convolution in double precision: groups,
/// dilation, padding, bias, residual, activation, pixel strides, splits. Counters must be zero again. Every operand is
/// guarded, and all except y, partial and counters are read-only.
void check_conv(const Launch& launch, const ConvArguments& conv, const ConvCheck& check);

[[nodiscard]] std::string describe(const ConvArguments& conv);

} // namespace rtexec::test
