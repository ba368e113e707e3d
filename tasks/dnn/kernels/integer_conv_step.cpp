// Convolutions of integers, modulo 2^32.
#include "tasks/dnn/kernels/steps.hpp"
#include "tasks/dnn/kernels/vectorised.hpp"

#include <algorithm>

namespace rtexec::tasks::kernels {
namespace {

/// The outputs of a row that one tap finds inside of the input, at x[left + output * stride].
struct Row {
  std::int64_t begin, end, left, stride;
};

/// y += weight * x, along a row.
RTEXEC_VECTORISED void accumulate_row(const Row& row, std::uint32_t* y, const std::int16_t* x,
                                      std::uint32_t weight) noexcept {
  RTEXEC_INDEPENDENT
  for (std::int64_t i = row.begin; i < row.end; ++i)
    y[i] += weight * static_cast<std::uint32_t>(static_cast<std::int32_t>(x[row.left + i * row.stride]));
}

class IntegerConvStep final : public Step {
 public:
  IntegerConvStep(const Conv& conv, const Shape& x, const Shape& weights, const Shape& y)
      : w_(conv.window), groups_(conv.groups), x_(x), weights_(weights), y_(y) {}

  void run(const Operands& o) const noexcept override {
    const auto plane = y_[2] * y_[3], in_group = y_[1] / groups_;
    for (std::int64_t image = 0; image < y_[0]; ++image)
      for (std::int64_t channel = 0; channel < y_[1]; ++channel) {
        auto* const y = o.output<std::uint32_t>() + (image * y_[1] + channel) * plane;
        std::fill_n(y, plane, std::uint32_t{0});
        const auto first = channel / in_group * weights_[1];
        for (std::int64_t c = 0; c < weights_[1]; ++c)
          add_channel(y, o.input<std::int16_t>(0) + (image * x_[1] + first + c) * x_[2] * x_[3],
                      o.input<std::int16_t>(1) + (channel * weights_[1] + c) * w_.kernel_h * w_.kernel_w);
      }
  }

 private:
  void add_channel(std::uint32_t* y, const std::int16_t* x, const std::int16_t* weights) const noexcept {
    for (std::int64_t down = 0; down < w_.kernel_h; ++down)
      for (std::int64_t across = 0; across < w_.kernel_w; ++across) {
        const auto weight = static_cast<std::uint32_t>(static_cast<std::int32_t>(*weights++));
        const auto left = across * w_.dilation_w - w_.pad_left, stride = w_.stride_w;
        const Row row{left < 0 ? (stride - 1 - left) / stride : 0,
                      left < x_[3] ? std::min((x_[3] - left + stride - 1) / stride, y_[3]) : 0, left, stride};
        for (std::int64_t i = 0; i < y_[2]; ++i) {
          const auto from = i * w_.stride_h + down * w_.dilation_h - w_.pad_top;
          if (from >= 0 && from < x_[2]) accumulate_row(row, y + i * y_[3], x + from * x_[3], weight);
        }
      }
  }

  Window w_;
  std::int64_t groups_;
  Shape x_, weights_, y_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const IntegerConv& conv) {
  const auto shape = [&](TensorId id) -> const Shape& { return graph.tensors[id].shape; };
  return std::make_unique<IntegerConvStep>(conv.conv, shape(node.inputs[0]), shape(node.inputs[1]), shape(node.output));
}

} // namespace rtexec::tasks::kernels
