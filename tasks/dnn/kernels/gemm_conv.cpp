#include "tasks/dnn/kernels/conv.hpp"
#include "tasks/dnn/kernels/elementwise.hpp"
#include "tasks/dnn/kernels/tiles.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

constexpr std::int64_t panel_floats = 128 * 1024; // half of a common second-level cache
constexpr std::int64_t least_columns = 96, most_columns = 512;

bool is_pointwise(const ConvGeometry& g) {
  const auto& w = g.window;
  return g.taps() == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_top == 0 && w.pad_left == 0 &&
         g.in_h == g.out_h && g.in_w == g.out_w;
}

/// Channels fill the columns of tiles better than pixels do: of small pictures.
bool channels_fill_better(const ConvGeometry& g) {
  const auto step = tile_shape().step;
  const auto channels = g.group_out(), pixels = g.out_plane();
  return 10 * channels * rounded_up(pixels, step) > 11 * pixels * rounded_up(channels, step);
}

/// Weights and panels of input windows, one row for each input channel and tap, one column for each output pixel. The
/// columns of tiles are pixels, or where those are few, channels.
class GemmConv final : public Step {
 public:
  explicit GemmConv(const ConvGeometry& geometry)
      : g_(geometry),
        pointwise_(is_pointwise(geometry)),
        channels_across_(channels_fill_better(geometry)),
        depth_(g_.group_in() * g_.taps()),
        strip_(channels_across_ ? tile_shape().columns : balanced_block(g_.group_out(), tile_shape().rows)) {
    const auto columns = std::clamp(panel_floats / depth_, least_columns, most_columns);
    rows_ = balanced_block(g_.out_h, columns / g_.out_w);
    pixels_ = rounded_up(rows_ * g_.out_w, tile_shape().columns);
  }

  std::size_t workspace() const override { return static_cast<std::size_t>(pixels_ * depth_ + line_floats()); }

  void run(const Operands& operands) const noexcept override {
    const ConvOperands o(g_, operands);
    for (std::int64_t image = 0; image < g_.batch; ++image)
      for (std::int64_t group = 0; group < g_.groups; ++group)
        for (std::int64_t row = 0; row < g_.out_h; row += rows_)
          run_block(o, image, group, row, std::min(rows_, g_.out_h - row));
  }

  /// In strips of channels.
  std::vector<float> pack(const std::vector<float>& weights) const {
    std::vector<float> packed(static_cast<std::size_t>(g_.groups * packed_group()));
    for (std::int64_t group = 0; group < g_.groups; ++group)
      for (std::int64_t channel = 0; channel < g_.group_out(); channel += strip_) {
        const auto channels = std::min(strip_, g_.group_out() - channel);
        pack_strip(packed.data() + group * packed_group() + channel * depth_, channels_across_ ? strip_ : channels,
                   weights.data() + (group * g_.group_out() + channel) * depth_, channels, depth_, depth_, 1);
      }
    return packed;
  }

 private:
  [[nodiscard]] std::int64_t packed_group() const {
    return (channels_across_ ? rounded_up(g_.group_out(), strip_) : g_.group_out()) * depth_;
  }
  /// Of a row of a panel, or of a tile.
  [[nodiscard]] std::int64_t line_floats() const { return std::max(pixels_, tile_shape().rows * tile_shape().columns); }

  void run_block(const ConvOperands& o, std::int64_t image, std::int64_t group, std::int64_t row,
                 std::int64_t rows) const noexcept {
    const auto pixels = rows * g_.out_w;
    const float* x = o.x + (image * g_.in_channels + group * g_.group_in()) * g_.in_plane();
    const auto first = group * g_.group_out();
    const Outputs outputs{(image * g_.out_channels + first) * g_.out_plane() + row * g_.out_w, first, pixels};
    const float* weights = o.weights + group * packed_group();
    if (!channels_across_) {
      fill_strips(o.workspace, x, row, rows);
      multiply(o, outputs, o.workspace, weights);
    } else if (pointwise_) {
      multiply_across(o, outputs, x + row * g_.out_w, g_.in_plane(), weights);
    } else {
      fill_rows(o.workspace, x, row, rows);
      multiply_across(o, outputs, o.workspace, pixels, weights);
    }
  }

  /// What a block computes of a group's channels.
  struct Outputs {
    std::int64_t at; // of the first pixel of the first channel
    std::int64_t channel;
    std::int64_t pixels;
  };

  /// The last pass over some of the channels, while they are in cache.
  void finish_channels(const ConvOperands& o, const Outputs& outputs, std::int64_t begin,
                       std::int64_t count) const noexcept {
    for (auto channel = begin; channel < begin + count; ++channel) {
      const auto place = outputs.at + channel * g_.out_plane();
      finish(g_.activation, o.y + place, o.y + place, o.bias_of(outputs.channel + channel),
             o.residual ? o.residual + place : nullptr, static_cast<std::size_t>(outputs.pixels));
    }
  }

  /// Of a panel in strips of pixels.
  void multiply(const ConvOperands& o, const Outputs& outputs, const float* panel,
                const float* weights) const noexcept {
    const auto width = tile_shape().columns;
    for (std::int64_t channel = 0; channel < g_.group_out(); channel += strip_) {
      const auto channels = std::min(strip_, g_.group_out() - channel);
      float* y = o.y + outputs.at + channel * g_.out_plane();
      for (std::int64_t pixel = 0; pixel < outputs.pixels; pixel += width)
        multiply_tile({depth_, weights + channel * depth_, channels, panel + pixel * depth_}, channels,
                      std::min(width, outputs.pixels - pixel), y + pixel, g_.out_plane());
      finish_channels(o, outputs, channel, channels);
    }
  }

  /// Of a panel whose rows are `pitch` apart. Tiles come out transposed.
  void multiply_across(const ConvOperands& o, const Outputs& outputs, const float* panel, std::int64_t pitch,
                       const float* weights) const noexcept {
    float* const tile = o.workspace + pixels_ * depth_;
    const auto most = balanced_block(outputs.pixels, tile_shape().rows);
    for (std::int64_t channel = 0; channel < g_.group_out(); channel += strip_) {
      const auto channels = std::min(strip_, g_.group_out() - channel);
      for (std::int64_t pixel = 0; pixel < outputs.pixels; pixel += most) {
        const auto rows = std::min(most, outputs.pixels - pixel);
        multiply_tile({depth_, panel + pixel, pitch, weights + channel * depth_}, rows, channels, tile, strip_);
        float* y = o.y + outputs.at + channel * g_.out_plane() + pixel;
        for (std::int64_t c = 0; c < channels; ++c, y += g_.out_plane())
          for (std::int64_t i = 0; i < rows; ++i) y[i] = tile[i * strip_ + c];
      }
      finish_channels(o, outputs, channel, channels);
    }
  }

  /// f(line, channel, kh, kw) for each row of a panel.
  template <class F> void each_line(F f) const noexcept {
    std::int64_t line = 0;
    for (std::int64_t channel = 0; channel < g_.group_in(); ++channel)
      for (std::int64_t kh = 0; kh < g_.window.kernel_h; ++kh)
        for (std::int64_t kw = 0; kw < g_.window.kernel_w; ++kw) f(line++, channel, kh, kw);
  }

  void fill_rows(float* panel, const float* x, std::int64_t row, std::int64_t rows) const noexcept {
    each_line([&](std::int64_t line, std::int64_t channel, std::int64_t kh, std::int64_t kw) {
      fill_line(panel + line * rows * g_.out_w, x + channel * g_.in_plane(), kh, kw, row, rows);
    });
  }

  void fill_strips(float* panel, const float* x, std::int64_t row, std::int64_t rows) const noexcept {
    const auto width = tile_shape().columns;
    float* const filled = panel + pixels_ * depth_;
    each_line([&](std::int64_t line, std::int64_t channel, std::int64_t kh, std::int64_t kw) {
      const float* from = x + channel * g_.in_plane() + row * g_.out_w;
      if (!pointwise_) {
        fill_line(filled, x + channel * g_.in_plane(), kh, kw, row, rows);
        from = filled;
      }
      split(panel + line * width, width, depth_ * width, from, rows * g_.out_w);
    });
  }

  /// What a tap of a channel gives to each pixel of `rows` output rows.
  void fill_line(float* line, const float* x, std::int64_t kh, std::int64_t kw, std::int64_t row,
                 std::int64_t rows) const noexcept {
    const auto& w = g_.window;
    for (std::int64_t out = row; out < row + rows; ++out, line += g_.out_w) {
      const auto in = out * w.stride_h - w.pad_top + kh * w.dilation_h;
      if (in < 0 || in >= g_.in_h) std::memset(line, 0, static_cast<std::size_t>(g_.out_w) * sizeof(float));
      else fill_row(line, x + in * g_.in_w, kw * w.dilation_w - w.pad_left);
    }
  }

  /// line[i] = x[i * stride + shift], zero outside of the row.
  void fill_row(float* line, const float* x, std::int64_t shift) const noexcept {
    const auto stride = g_.window.stride_w;
    const auto first_at_least = [&](std::int64_t position) { // the first i with i * stride + shift >= position
      return std::clamp<std::int64_t>((position - shift + stride - 1) / stride, 0, g_.out_w);
    };
    const auto first = shift >= 0 ? 0 : first_at_least(0);
    const auto last = shift >= g_.in_w ? 0 : first_at_least(g_.in_w);
    if (first >= last) {
      std::memset(line, 0, static_cast<std::size_t>(g_.out_w) * sizeof(float));
      return;
    }
    std::fill(line, line + first, 0.0F);
    const auto count = static_cast<std::size_t>(last - first);
    if (stride == 1) std::memcpy(line + first, x + first + shift, count * sizeof(float));
    else gather_strided(line + first, x + first * stride + shift, stride, count);
    std::fill(line + last, line + g_.out_w, 0.0F);
  }

  ConvGeometry g_;
  bool pointwise_, channels_across_;
  std::int64_t depth_;  // of the matrix product
  std::int64_t strip_;  // channels in a strip of weights
  std::int64_t rows_;   // of the output, in one block
  std::int64_t pixels_; // of a block, in whole tiles
};

} // namespace

PreparedStep prepare_gemm_conv(const ConvGeometry& geometry, const std::vector<float>& weights) {
  auto step = std::make_unique<GemmConv>(geometry);
  auto packed = step->pack(weights);
  return {std::move(step), {{}, std::move(packed)}};
}

} // namespace rtexec::tasks::kernels
