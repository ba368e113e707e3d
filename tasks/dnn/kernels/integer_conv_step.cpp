// Convolutions of integers, modulo 2^32.
#include "tasks/dnn/kernels/byte_product.hpp"
#include "tasks/dnn/kernels/steps.hpp"

#include <algorithm>

namespace rtexec::tasks::kernels {
namespace {

using Range = ByteProduct::Range;

class IntegerConvStep final : public Step {
 public:
  IntegerConvStep(const Conv& conv, const Shape& x, const Shape& weights, const Shape& y)
      : w_(conv.window),
        groups_(conv.groups),
        x_(x),
        y_(y),
        taps_(w_.kernel_h * w_.kernel_w),
        terms_(weights[1] * taps_),
        product_(y[1] / groups_, y[2] * y[3], terms_) {}

  std::size_t workspace() const override { return product_.workspace(); }

  void run(const Operands& o) const noexcept override {
    const auto rows = y_[1] / groups_, x_group = terms_ / taps_ * x_[2] * x_[3], y_group = rows * y_[2] * y_[3];
    for (std::int64_t i = 0; i < y_[0] * groups_; ++i) {
      const auto* const x = o.input<std::int16_t>(0) + i * x_group;
      const auto* const weights = o.input<std::int16_t>(1) + i % groups_ * rows * terms_;
      const auto fill_a = [&](float* to, const Range& of, const Range& depth) {
        ByteProduct::widen(to, weights, terms_, of, depth);
      };
      const auto fill_b = [&](float* to, const Range& depth, const Range& pixels) {
        for (auto term = depth.first; term < depth.first + depth.count; ++term, to += pixels.count)
          fill_term(to, x + term / taps_ * x_[2] * x_[3], term % taps_, pixels);
      };
      product_.run(o.output<std::uint32_t>() + i * y_group, o.workspace, fill_a, fill_b);
    }
  }

 private:
  /// What one tap of the window finds of a channel, for these pixels of the output.
  void fill_term(float* to, const std::int16_t* x, std::int64_t tap, const Range& pixels) const noexcept {
    const auto down = tap / w_.kernel_w * w_.dilation_h - w_.pad_top;
    const auto right = tap % w_.kernel_w * w_.dilation_w - w_.pad_left;
    for (auto pixel = pixels.first; pixel < pixels.first + pixels.count;) {
      const auto row = pixel / y_[3] * w_.stride_h + down, column = pixel % y_[3];
      const auto count = std::min(y_[3] - column, pixels.first + pixels.count - pixel);
      if (row < 0 || row >= x_[2]) std::fill_n(to, count, 0.0F);
      else fill_row(to, x + row * x_[3], column * w_.stride_w + right, count);
      to += count;
      pixel += count;
    }
  }

  /// Every stride-th element of a row of the input from `first` on; zeros outside.
  void fill_row(float* to, const std::int16_t* x, std::int64_t first, std::int64_t count) const noexcept {
    const auto inside = [&](std::int64_t i) {
      const auto from = first + i * w_.stride_w;
      return from >= 0 && from < x_[3];
    };
    std::int64_t begin = 0, end = count;
    while (begin < end && !inside(begin)) to[begin++] = 0;
    while (end > begin && !inside(end - 1)) to[--end] = 0;
    if (w_.stride_w == 1) return dequantise({}, to + begin, x + first + begin, static_cast<std::size_t>(end - begin));
    for (auto i = begin; i < end; ++i) to[i] = static_cast<float>(x[first + i * w_.stride_w]);
  }

  Window w_;
  std::int64_t groups_;
  Shape x_, y_;
  std::int64_t taps_, terms_;
  ByteProduct product_; // of a group
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const IntegerConv& conv) {
  const auto shape = [&](TensorId id) -> const Shape& { return graph.tensors[id].shape; };
  return std::make_unique<IntegerConvStep>(conv.conv, shape(node.inputs[0]), shape(node.inputs[1]), shape(node.output));
}

} // namespace rtexec::tasks::kernels
