// Convolutions of integers, modulo 2^32.
#include "tasks/engine/host/kernels/byte_product.hpp"
#include "tasks/engine/host/kernels/conv.hpp"
#include "tasks/engine/host/kernels/steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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
  /// Writes the inputs that one tap of a channel reads, for the output pixels `pixels`.
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

  /// Writes `count` elements of an input row: every stride-th element, beginning with index `first`. Elements outside
  /// the row are zeros.
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
  ByteProduct product_; // the product for one group
};

/// A convolution with constant weights, computed as one or more convolutions of floats. Each of these parts has as many
/// input channels as floats can sum exactly.
class ConstantConvStep final : public Step {
 public:
  /// `geometry` describes the convolution of one image.
  ConstantConvStep(const ConvGeometry& geometry, std::int64_t batch, const std::vector<TermRange>& channels)
      : g_(geometry), batch_(batch) {
    for (const auto& range : channels) {
      auto part = g_;
      part.in_channels = range.count * g_.groups;
      const auto packed = parts_.empty() ? 0 : rounded_up(parts_.back().packed + packed_size(parts_.back()), 16);
      parts_.push_back({range, make_conv(part, true), packed});
      workspace_ = std::max(workspace_, parts_.back().step->workspace());
    }
  }

  std::size_t workspace() const override { return static_cast<std::size_t>(x_floats() + y_floats()) + workspace_; }

  void run(const Operands& o) const noexcept override {
    const auto inputs = g_.in_channels * g_.in_plane(), outputs = g_.out_channels * g_.out_plane();
    float *const x = o.workspace, *const sums = x + x_floats();
    for (std::int64_t image = 0; image < batch_; ++image) {
      dequantise({}, x, o.input<std::int16_t>(0) + image * inputs, static_cast<std::size_t>(inputs));
      auto* const y = o.output<std::uint32_t>() + image * outputs;
      std::fill_n(y, outputs, std::uint32_t{0});
      for (const auto& part : parts_) {
        const std::array<const void*, 2> operands{x + part.channels.first * g_.in_plane(), o.input(1) + part.packed};
        part.step->run({operands, sums, sums + y_floats()});
        accumulate(y, sums, static_cast<std::size_t>(outputs));
      }
    }
  }

  std::string packing() const override {
    std::string name = "whole";
    for (const auto& part : parts_) name += packing_name(" from", {part.channels.first}) + ' ' + part.step->packing();
    return name;
  }
  std::vector<float> pack(const std::vector<float>& weights) const override {
    std::vector<float> packed;
    for (const auto& part : parts_) {
      packed.resize(static_cast<std::size_t>(part.packed));
      const auto of_part = part.step->pack(weights_of(part, weights));
      packed.insert(packed.end(), of_part.begin(), of_part.end());
    }
    return packed;
  }

 private:
  struct Part {
    TermRange channels; // range of channels in each group
    std::unique_ptr<Step> step;
    std::int64_t packed; // offset of the part's packed weights
  };

  [[nodiscard]] std::int64_t x_floats() const { return rounded_up(g_.in_channels * g_.in_plane(), 16); }
  [[nodiscard]] std::int64_t y_floats() const { return rounded_up(g_.out_channels * g_.out_plane(), 16); }
  [[nodiscard]] std::vector<float> weights_of(const Part& part, const std::vector<float>& weights) const {
    std::vector<float> some;
    for (std::int64_t channel = 0; channel < g_.out_channels; ++channel) {
      const auto first = weights.begin() + (channel * g_.group_in() + part.channels.first) * g_.taps();
      some.insert(some.end(), first, first + part.channels.count * g_.taps());
    }
    return some;
  }
  [[nodiscard]] std::int64_t packed_size(const Part& part) const {
    const std::vector<float> weights(static_cast<std::size_t>(g_.out_channels * g_.group_in() * g_.taps()));
    return static_cast<std::int64_t>(part.step->pack(weights_of(part, weights)).size());
  }

  ConvGeometry g_;
  std::int64_t batch_;
  std::vector<Part> parts_;
  std::size_t workspace_ = 0; // maximum over all parts
};

std::vector<TermRange> exact_channels(const Integers& weights, const ConvGeometry& g) {
  return exact_ranges(g.out_channels, g.group_in(), [&](std::int64_t out, std::int64_t in) {
    std::int64_t sum = 0;
    for (auto i = (out * g.group_in() + in) * g.taps(), end = i + g.taps(); i < end; ++i)
      sum += std::abs(weights[static_cast<std::size_t>(i)]);
    return sum;
  });
}

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const IntegerConv& conv) {
  const auto shape = [&](TensorId id) -> const Shape& { return graph.tensors[id].shape; };
  const auto& weights = graph.tensors[node.inputs[1]];
  if (weights.constant()) {
    const auto &x = shape(node.inputs[0]), &y = shape(node.output);
    const ConvGeometry geometry{.window = conv.conv.window,
                                .groups = conv.conv.groups,
                                .in_channels = x[1],
                                .in_h = x[2],
                                .in_w = x[3],
                                .out_channels = y[1],
                                .out_h = y[2],
                                .out_w = y[3],
                                .activation = {}};
    const auto channels = exact_channels(weights.integers, geometry);
    // With more than one group, the channels of a part are not contiguous over all groups.
    if (channels.size() == 1 || (channels.size() > 1 && geometry.groups == 1))
      return std::make_unique<ConstantConvStep>(geometry, x[0], channels);
  }
  return std::make_unique<IntegerConvStep>(conv.conv, shape(node.inputs[0]), shape(node.inputs[1]), shape(node.output));
}

} // namespace rtexec::tasks::kernels
