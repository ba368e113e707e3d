#include "tasks/dnn/kernels/conv.hpp"
#include "tasks/dnn/kernels/elementwise.hpp"
#include "tasks/dnn/kernels/gemm.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

// A panel of input windows, and as many outputs, stay within a common second-level cache where that leaves enough
// columns.
constexpr std::int64_t panel_floats = 192 * 1024;
constexpr std::int64_t least_columns = 512; // thinner products are slow

bool is_pointwise(const ConvGeometry& g) {
  const auto& w = g.window;
  return g.taps() == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_top == 0 && w.pad_left == 0 &&
         g.in_h == g.out_h && g.in_w == g.out_w;
}

class GemmConv final : public Step {
 public:
  explicit GemmConv(const ConvGeometry& geometry)
      : g_(geometry), pointwise_(is_pointwise(geometry)), depth_(g_.group_in() * g_.taps()) {
    const auto columns = std::max(least_columns, panel_floats / std::max(depth_, g_.group_out()));
    rows_ = balanced_block(g_.out_h, columns / g_.out_w);
  }

  std::size_t workspace() const override {
    return pointwise_ ? 0 : static_cast<std::size_t>(depth_) * static_cast<std::size_t>(rows_ * g_.out_w);
  }

  void run(const Operands& operands) const noexcept override {
    const ConvOperands o(g_, operands);
    for (std::int64_t image = 0; image < g_.batch; ++image)
      for (std::int64_t group = 0; group < g_.groups; ++group)
        for (std::int64_t row = 0; row < g_.out_h; row += rows_)
          run_block(o, image, group, row, std::min(rows_, g_.out_h - row));
  }

 private:
  void run_block(const ConvOperands& o, std::int64_t image, std::int64_t group, std::int64_t row,
                 std::int64_t rows) const noexcept {
    const auto columns = rows * g_.out_w;
    const auto m = g_.group_out();
    const float* x = o.x + (image * g_.in_channels + group * g_.group_in()) * g_.in_plane();
    const auto at = (image * g_.out_channels + group * m) * g_.out_plane() + row * g_.out_w;
    Matrix panel{x + row * g_.out_w, g_.in_plane()};
    if (!pointwise_) {
      fill_panel(o.workspace, x, row, rows);
      panel = {o.workspace, columns};
    }
    multiply(m, columns, depth_, 1.0F, {o.weights + group * m * depth_, depth_}, panel, o.y + at, g_.out_plane());
    for (std::int64_t channel = 0; channel < m; ++channel) {
      const auto place = at + channel * g_.out_plane();
      finish(g_.activation, o.y + place, o.y + place, o.bias_of(group * m + channel),
             o.residual ? o.residual + place : nullptr, static_cast<std::size_t>(columns));
    }
  }

  /// One row of the panel for each channel and tap, one column for each output of `rows` output rows.
  void fill_panel(float* panel, const float* x, std::int64_t row, std::int64_t rows) const noexcept {
    const auto& w = g_.window;
    for (std::int64_t channel = 0; channel < g_.group_in(); ++channel, x += g_.in_plane())
      for (std::int64_t kh = 0; kh < w.kernel_h; ++kh)
        for (std::int64_t kw = 0; kw < w.kernel_w; ++kw)
          for (std::int64_t out = row; out < row + rows; ++out, panel += g_.out_w) {
            const auto in = out * w.stride_h - w.pad_top + kh * w.dilation_h;
            if (in < 0 || in >= g_.in_h) std::memset(panel, 0, static_cast<std::size_t>(g_.out_w) * sizeof(float));
            else fill_row(panel, x + in * g_.in_w, kw * w.dilation_w - w.pad_left);
          }
  }

  /// panel[i] = x[i * stride + shift], zero outside of the row.
  void fill_row(float* panel, const float* x, std::int64_t shift) const noexcept {
    const auto stride = g_.window.stride_w;
    const auto first_at_least = [&](std::int64_t position) { // the first i with i * stride + shift >= position
      return std::clamp<std::int64_t>((position - shift + stride - 1) / stride, 0, g_.out_w);
    };
    const auto first = shift >= 0 ? 0 : first_at_least(0);
    const auto last = shift >= g_.in_w ? 0 : first_at_least(g_.in_w);
    if (first >= last) {
      std::memset(panel, 0, static_cast<std::size_t>(g_.out_w) * sizeof(float));
      return;
    }
    std::fill(panel, panel + first, 0.0F);
    const auto count = static_cast<std::size_t>(last - first);
    if (stride == 1) std::memcpy(panel + first, x + first + shift, count * sizeof(float));
    else gather_strided(panel + first, x + first * stride + shift, stride, count);
    std::fill(panel + last, panel + g_.out_w, 0.0F);
  }

  ConvGeometry g_;
  bool pointwise_;
  std::int64_t depth_; // of the matrix product
  std::int64_t rows_;  // of the output, in one block
};

} // namespace

PreparedStep prepare_gemm_conv(const ConvGeometry& geometry) { return {std::make_unique<GemmConv>(geometry), {}}; }

} // namespace rtexec::tasks::kernels
