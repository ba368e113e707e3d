// Convolution algorithms, each as a step: matrix products (im2col), Winograd's minimal filtering, interleaved channels
// for depthwise convolutions, and direct convolution for groups of few channels. All algorithms use the same
// description of the geometry and the same epilogue (bias, residual, activation). The epilogue is applied to sums in
// registers, or while the output is in cache.
#pragma once

#include "tasks/engine/graph/graph.hpp"
#include "tasks/engine/host/kernels/step.hpp"

#include <cstdint>
#include <memory>

namespace rtexec::tasks::kernels {

struct ConvGeometry {
  Window window;
  std::int64_t batch = 1, groups = 1;
  std::int64_t in_channels = 1, in_h = 1, in_w = 1;
  std::int64_t out_channels = 1, out_h = 1, out_w = 1;
  /// True: the operand is present; the operands are x, weights, bias, residual in this order.
  bool bias = false, residual = false;
  Activation activation;

  [[nodiscard]] std::int64_t group_in() const { return in_channels / groups; }
  [[nodiscard]] std::int64_t group_out() const { return out_channels / groups; }
  [[nodiscard]] std::int64_t in_plane() const { return in_h * in_w; }
  [[nodiscard]] std::int64_t out_plane() const { return out_h * out_w; }
  [[nodiscard]] std::int64_t taps() const { return window.kernel_h * window.kernel_w; }
};

[[nodiscard]] ConvGeometry conv_geometry(const Graph& graph, const Node& node);

/// The operands of a convolution, named by their role.
struct ConvOperands {
  ConvOperands(const ConvGeometry& g, const Operands& o)
      : x(o.input(0)),
        weights(o.input(1)),
        bias(g.bias ? o.input(2) : nullptr),
        residual(g.residual ? o.residual() : nullptr),
        y(o.output()),
        workspace(o.workspace) {}
  const float* x;
  const float* weights;
  const float* bias;
  const float* residual;
  float* y;
  float* workspace;

  [[nodiscard]] float bias_of(std::int64_t channel) const { return bias ? bias[channel] : 0.0F; }
};

/// Chooses the algorithm and returns its step. `exact` excludes algorithms that compute with fractions, so that sums of
/// integers are exact as long as floats can represent them.
[[nodiscard]] std::unique_ptr<Step> make_conv(const ConvGeometry& geometry, bool exact = false);

/// Returns a step for any convolution: products of the weights with panels of input windows (im2col).
[[nodiscard]] std::unique_ptr<Step> make_gemm_conv(const ConvGeometry& geometry);

/// Winograd's F(2x2, 3x3), for 3x3 windows, stride 1 and one group. It needs 2.25 times fewer multiplications than a
/// matrix product. Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, section 4.1.
[[nodiscard]] bool winograd_applies(const ConvGeometry& geometry);
[[nodiscard]] std::unique_ptr<Step> make_winograd_conv(const ConvGeometry& geometry);

/// Depthwise convolution with square windows of common sizes. Each lane of a vector register computes one channel.
[[nodiscard]] bool lanes_apply(const ConvGeometry& geometry);
[[nodiscard]] std::unique_ptr<Step> make_lanes_conv(const ConvGeometry& geometry);

/// Direct convolution for groups of few channels (including depthwise), which are too narrow for a matrix product.
[[nodiscard]] bool direct_applies(const ConvGeometry& geometry);
[[nodiscard]] std::unique_ptr<Step> make_direct_conv(const ConvGeometry& geometry);

} // namespace rtexec::tasks::kernels
