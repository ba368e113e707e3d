#include "tasks/engine/host/kernels/conv.hpp"
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/tap_line.hpp"
#include "tasks/engine/host/kernels/tiles.hpp"
#include "tasks/engine/host/kernels/transpose.hpp"
#include "tasks/engine/host/kernels/vector.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace rtexec::tasks::kernels {
namespace {

constexpr std::int64_t panel_at_once = 128 * 1024; // maximum size of a panel: half of a common level 2 cache
// The maximum number of input rows that tiles read directly. Each row may be in a page of its own, and a common level 1
// TLB has this number of entries.
constexpr std::int64_t max_rows = 64;
constexpr std::int64_t depth_at_once = 256; // terms of a strip of channels: half of a level 1 cache
constexpr std::int64_t min_pixels = 96, max_pixels = 512;

bool is_pointwise(const ConvGeometry& g) {
  const auto& w = g.window;
  return g.taps() == 1 && w.stride_h == 1 && w.stride_w == 1 && w.pad_top == 0 && w.pad_left == 0 &&
         g.in_h == g.out_h && g.in_w == g.out_w;
}

/// True if channels fill the columns of tiles better than pixels do. This is the case for small pictures.
bool channels_fill_better(const ConvGeometry& g) {
  const auto step = tile_shape().step;
  const auto channels = g.group_out(), pixels = g.out_plane();
  return 10 * channels * rounded_up(pixels, step) > 11 * pixels * rounded_up(channels, step);
}

/// A range of indices: [first, last).
struct Range {
  std::int64_t first, last;
  friend bool operator==(const Range&, const Range&) = default;
  [[nodiscard]] std::int64_t count() const { return last - first; }
};

/// The geometry of a window in one direction.
struct Direction {
  std::int64_t taps, stride, pad, dilation, in;

  /// Returns the taps that are inside the input for at least one output in [first_output, last_output].
  [[nodiscard]] Range inside(std::int64_t first_output, std::int64_t last_output) const {
    const auto is_inside = [&](std::int64_t tap) {
      for (auto output = first_output; output <= last_output; ++output) {
        const auto at = output * stride - pad + tap * dilation;
        if (at >= 0 && at < in) return true;
      }
      return false;
    };
    Range range{0, taps};
    while (range.count() > 0 && !is_inside(range.first)) ++range.first;
    while (range.count() > 0 && !is_inside(range.last - 1)) --range.last;
    return range;
  }
};

Direction downwards(const ConvGeometry& g) {
  return {g.window.kernel_h, g.window.stride_h, g.window.pad_top, g.window.dilation_h, g.in_h};
}
Direction across(const ConvGeometry& g) {
  return {g.window.kernel_w, g.window.stride_w, g.window.pad_left, g.window.dilation_w, g.in_w};
}

/// A convolution as a product of weights and panels of input windows. A panel has a row for each tap and input channel,
/// and a column for each output pixel. Taps that read only padding are omitted. The columns of tiles are pixels or, if
/// there are few pixels, channels.
class GemmConv final : public Step {
 public:
  explicit GemmConv(const ConvGeometry& geometry)
      : g_(geometry),
        pointwise_(is_pointwise(geometry)),
        channels_across_(channels_fill_better(geometry)),
        taps_h_(downwards(g_).inside(0, g_.out_h - 1)),
        taps_w_(across(g_).inside(0, g_.out_w - 1)),
        bounds_(bounds_of(geometry.activation)),
        reads_rows_(pointwise_ && !channels_across_ && bounds_ && g_.group_in() <= max_rows),
        depth_(taps_h_.count() * depth_of_row()),
        strip_(channels_across_ ? tile_shape().columns : balanced_block(g_.group_out(), tile_shape().rows)) {
    const auto width = tile_shape().columns;
    const auto max_block = std::clamp(panel_at_once / std::max<std::int64_t>(depth_, 1), min_pixels, max_pixels);
    pixels_ = balanced_block((g_.out_plane() + width - 1) / width, max_block / width) * width;
    for (std::int64_t pixel = 0; pixel < g_.out_plane(); pixel += blocks_.back().pixels)
      blocks_.push_back(block_at(pixel));
  }

  std::size_t workspace() const override { return static_cast<std::size_t>(panel_floats() + line_floats()); }

  void run(const Operands& operands) const noexcept override {
    const ConvOperands o(g_, operands);
    for (std::int64_t image = 0; image < g_.batch; ++image)
      for (std::int64_t group = 0; group < g_.groups; ++group)
        for (const auto& block : blocks_) run_block(o, image, group, block);
  }

  std::string packing() const override {
    return packing_name("gemm", {g_.groups, g_.in_channels, g_.out_channels, g_.window.kernel_h, g_.window.kernel_w,
                                 taps_h_.first, taps_h_.last, taps_w_.first, taps_w_.last, strip_, channels_across_});
  }
  /// Packs the weights into strips of output channels. Within a strip the order is: vertical tap, input channel,
  /// horizontal tap.
  std::vector<float> pack(const std::vector<float>& weights) const override {
    std::vector<float> ordered(static_cast<std::size_t>(g_.out_channels * depth_)),
        packed(static_cast<std::size_t>(g_.groups * packed_group()));
    auto* to = ordered.data();
    for (std::int64_t channel = 0; channel < g_.out_channels; ++channel)
      for (auto kh = taps_h_.first; kh < taps_h_.last; ++kh)
        for (std::int64_t in = 0; in < g_.group_in(); ++in)
          to = std::copy_n(weights.data() +
                               ((channel * g_.group_in() + in) * g_.window.kernel_h + kh) * g_.window.kernel_w +
                               taps_w_.first,
                           taps_w_.count(), to);
    for (std::int64_t group = 0; group < g_.groups; ++group)
      for (std::int64_t channel = 0; channel < g_.group_out(); channel += strip_) {
        const auto channels = std::min(strip_, g_.group_out() - channel);
        pack_strip(packed.data() + group * packed_group() + channel * depth_, channels_across_ ? strip_ : channels,
                   ordered.data() + (group * g_.group_out() + channel) * depth_, channels, depth_, depth_, 1);
      }
    return packed;
  }

 private:
  /// A range of output pixels, and the vertical taps that are inside the input for at least one of these pixels.
  struct Block {
    std::int64_t pixel, pixels;
    std::int64_t row, column; // row and column of the first pixel
    Range taps;
  };

  /// Returns the block that begins at `pixel`. If the window is dilated, all rows of the block have the same vertical
  /// taps inside the input.
  [[nodiscard]] Block block_at(std::int64_t pixel) const {
    const auto width = tile_shape().columns, left = g_.out_plane() - pixel;
    Block block{pixel, std::min(balanced_block((left + width - 1) / width, pixels_ / width) * width, left),
                pixel / g_.out_w, pixel % g_.out_w, taps_h_};
    if (g_.window.dilation_h == 1) return block;
    const auto down = downwards(g_);
    block.taps = down.inside(block.row, block.row);
    auto next = block.row + 1;
    while (next < g_.out_h && down.inside(next, next) == block.taps) ++next;
    block.pixels = std::min(block.pixels, next * g_.out_w - pixel);
    return block;
  }

  [[nodiscard]] std::int64_t depth_of_row() const { return g_.group_in() * taps_w_.count(); }
  [[nodiscard]] std::int64_t packed_group() const {
    return (channels_across_ ? rounded_up(g_.group_out(), strip_) : g_.group_out()) * depth_;
  }
  [[nodiscard]] std::int64_t panel_floats() const {
    return (pixels_ + (channels_across_ ? tile_shape().rows : 0)) * depth_;
  }
  /// Returns the size, in floats, of the workspace behind the panel. If channels fill the columns of tiles, this
  /// workspace holds the sums of a strip of channels. Otherwise it holds one row of a panel, and the floats that are
  /// written beyond the end of the row, because only whole vectors are stored.
  [[nodiscard]] std::int64_t line_floats() const {
    return channels_across_ ? pixels_ * strip_ : std::max(pixels_ + lanes, tile_shape().rows * tile_shape().columns);
  }

  void run_block(const ConvOperands& o, std::int64_t image, std::int64_t group, const Block& block) const noexcept {
    const float* x = o.x + (image * g_.in_channels + group * g_.group_in()) * g_.in_plane();
    const auto first = group * g_.group_out();
    const Outputs outputs{(image * g_.out_channels + first) * g_.out_plane() + block.pixel, first, block.pixels,
                          block.taps.count() * depth_of_row(), (block.taps.first - taps_h_.first) * depth_of_row()};
    const float* weights = o.weights + group * packed_group();
    if (reads_rows_) return multiply_rows(o, outputs, x + block.pixel, weights);
    const auto strip = channels_across_ ? balanced_block(block.pixels, tile_shape().rows) : tile_shape().columns;
    const bool is_strip = pointwise_ && g_.in_plane() == strip; // true: the input already is a strip
    const float* panel = is_strip ? x : o.workspace;
    if (!is_strip) fill_strips(o.workspace, strip, x, block);
    if (channels_across_) multiply_across(o, outputs, strip, panel, weights);
    else multiply(o, outputs, panel, weights);
  }

  /// The outputs of a group that one block computes.
  struct Outputs {
    std::int64_t at; // offset in y of the first pixel of the first channel
    std::int64_t channel;
    std::int64_t pixels;
    std::int64_t depth, skipped; // depth of the matrix product; depth of the weights before it
  };

  /// Returns the epilogue that tiles apply. A later pass applies an activation that is not a clamp to bounds. If
  /// channels are the columns of tiles, that pass also adds a residual, and applies the bounds after the residual.
  [[nodiscard]] TileEnd end_of(const ConvOperands& o) const {
    TileEnd end;
    if (!o.residual || !channels_across_) end.bounds = bounds_.value_or(Bounds{});
    return end;
  }

  /// Applies the rest of the epilogue to `count` channels, beginning with channel `begin`, while they are in cache.
  void finish_channels(const ConvOperands& o, const Outputs& outputs, std::int64_t begin,
                       std::int64_t count) const noexcept {
    const bool adds = o.residual && channels_across_;
    if (bounds_ && !adds) return;
    for (auto channel = begin; channel < begin + count; ++channel) {
      const auto place = outputs.at + channel * g_.out_plane();
      finish(g_.activation, o.y + place, o.y + place, 0, adds ? o.residual + place : nullptr,
             static_cast<std::size_t>(outputs.pixels));
    }
  }

  /// Multiplies the weights with a panel in strips of pixels.
  void multiply(const ConvOperands& o, const Outputs& outputs, const float* panel,
                const float* weights) const noexcept {
    const auto width = tile_shape().columns;
    auto end = end_of(o);
    for (std::int64_t channel = 0; channel < g_.group_out(); channel += strip_) {
      const auto channels = std::min(strip_, g_.group_out() - channel);
      const float* strip = weights + channel * depth_ + outputs.skipped * channels;
      const auto at = outputs.at + channel * g_.out_plane();
      if (o.bias) end.row_bias = o.bias + outputs.channel + channel;
      NextStrip next(strip + channels * depth_, channels * outputs.depth);
      for (std::int64_t pixel = 0; pixel < outputs.pixels; pixel += width) {
        if (o.residual) end.residual = o.residual + at + pixel;
        multiply_tile(
            {outputs.depth, strip, channels, panel + pixel * outputs.depth, 1, &end, 0, next.take(outputs.depth)},
            channels, std::min(width, outputs.pixels - pixel), o.y + at + pixel, g_.out_plane());
      }
      finish_channels(o, outputs, channel, channels);
    }
  }

  /// Multiplies the weights with the input itself, without a panel, for all whole tiles. Packs only the columns after
  /// the last whole tile.
  void multiply_rows(const ConvOperands& o, const Outputs& outputs, const float* x,
                     const float* weights) const noexcept {
    const auto width = tile_shape().columns;
    auto end = end_of(o);
    for (std::int64_t pixel = 0; pixel < outputs.pixels; pixel += width) {
      const auto pixels = std::min(width, outputs.pixels - pixel);
      const bool whole = pixels == width;
      if (!whole) pack_strip(o.workspace, width, x + pixel, pixels, 1, depth_, g_.in_plane());
      for (std::int64_t channel = 0; channel < g_.group_out(); channel += strip_) {
        const auto channels = std::min(strip_, g_.group_out() - channel);
        const auto at = outputs.at + channel * g_.out_plane() + pixel;
        if (o.bias) end.row_bias = o.bias + outputs.channel + channel;
        if (o.residual) end.residual = o.residual + at;
        // The tile of this channel prefetches one line of the next tile.
        const auto line = channel / strip_ * Ahead::line;
        multiply_tile(
            {depth_, weights + channel * depth_, channels, whole ? x + pixel : o.workspace, 1, &end,
             whole ? g_.in_plane() : 0, Ahead{line < width ? x + pixel + width + line : nullptr, g_.in_plane()}},
            channels, pixels, o.y + at, g_.out_plane());
      }
    }
  }

  /// Multiplies a panel in strips of `rows` pixels with the weights. The sums are transposed when they are stored in y.
  void multiply_across(const ConvOperands& o, const Outputs& outputs, std::int64_t rows, const float* panel,
                       const float* weights) const noexcept {
    float* const sums = o.workspace + panel_floats();
    const auto at_once = balanced_block(std::max<std::int64_t>(outputs.depth, 1), depth_at_once);
    for (std::int64_t channel = 0; channel < g_.group_out(); channel += strip_) {
      const auto channels = std::min(strip_, g_.group_out() - channel);
      const float* strip = weights + channel * depth_ + outputs.skipped * strip_;
      auto end = end_of(o);
      const auto bounds = std::exchange(end.bounds, {});
      if (o.bias) end.column_bias = o.bias + outputs.channel + channel;
      std::int64_t line = 0;
      do { // at least once, even if all taps are outside the input
        const auto depth = std::min(at_once, outputs.depth - line);
        if (line + depth == outputs.depth) end.bounds = bounds;
        NextStrip next(strip + (line + at_once) * strip_, at_once * strip_);
        for (std::int64_t pixel = 0; pixel < outputs.pixels; pixel += rows) {
          if (line > 0) end = {.residual = sums + pixel * strip_, .bounds = end.bounds};
          multiply_tile({depth, panel + pixel * outputs.depth + line * rows, rows, strip + line * strip_, 1, &end, 0,
                         next.take(depth)},
                        std::min(rows, outputs.pixels - pixel), channels, sums + pixel * strip_, strip_);
        }
        line += depth;
      } while (line < outputs.depth);
      transpose(o.y + outputs.at + channel * g_.out_plane(), g_.out_plane(), sums, strip_, outputs.pixels, channels);
      finish_channels(o, outputs, channel, channels);
    }
  }

  /// Calls f(line, channel, kh, kw) for each row of a panel.
  template <class F> void each_line(const Range& taps, F f) const noexcept {
    std::int64_t line = 0;
    for (auto kh = taps.first; kh < taps.last; ++kh)
      for (std::int64_t channel = 0; channel < g_.group_in(); ++channel)
        for (auto kw = taps_w_.first; kw < taps_w_.last; ++kw) f(line++, channel, kh, kw);
  }

  /// Fills the panel with the inputs of a block, in strips of `width` pixels.
  void fill_strips(float* panel, std::int64_t width, const float* x, const Block& block) const noexcept {
    const auto depth = block.taps.count() * depth_of_row();
    if (pointwise_) {
      for (std::int64_t pixel = 0; pixel < block.pixels; pixel += width)
        pack_strip(panel + pixel * depth, width, x + block.pixel + pixel, std::min(width, block.pixels - pixel), 1,
                   depth, g_.in_plane());
      return;
    }
    float* const filled = panel + panel_floats();
    each_line(block.taps, [&](std::int64_t line, std::int64_t channel, std::int64_t kh, std::int64_t kw) {
      fill_line(filled, x + channel * g_.in_plane(), kh, kw, block);
      split(panel + line * width, width, depth * width, filled, block.pixels);
    });
  }

  /// Writes to `line` the input that one tap of one channel reads, for each pixel of a block.
  void fill_line(float* line, const float* x, std::int64_t kh, std::int64_t kw, const Block& block) const noexcept {
    const auto& w = g_.window;
    const TapView view{x,
                       x + g_.in_plane(),
                       g_.in_h,
                       g_.in_w,
                       g_.out_w,
                       w.stride_h,
                       w.stride_w,
                       kh * w.dilation_h - w.pad_top,
                       kw * w.dilation_w - w.pad_left};
    fill_tap_line(line, view, block.row, block.column, block.pixels);
  }

  ConvGeometry g_;
  bool pointwise_, channels_across_;
  Range taps_h_, taps_w_;
  std::optional<Bounds> bounds_; // nullopt: a pass after the product applies the activation
  bool reads_rows_;              // true: tiles read rows of the input instead of a panel
  std::int64_t depth_;           // depth of the whole matrix product
  std::int64_t strip_;           // number of channels in a strip of weights
  std::int64_t pixels_;          // maximum number of pixels in a block, in whole tiles
  std::vector<Block> blocks_;
};

} // namespace

std::unique_ptr<Step> make_gemm_conv(const ConvGeometry& geometry) { return std::make_unique<GemmConv>(geometry); }

} // namespace rtexec::tasks::kernels
