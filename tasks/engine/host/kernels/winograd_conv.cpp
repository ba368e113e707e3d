#include "tasks/engine/host/kernels/conv.hpp"
#include "tasks/engine/host/kernels/tiles.hpp"
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/base/vectorised.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

constexpr std::int64_t points = 16; // number of points of a 4x4 tile
/// Minimum of in * out / (in + out) channels; below it, transforms cost more than they save.
constexpr std::int64_t min_channels = 16;
constexpr std::int64_t block_floats = 1024 * 1024; // transformed inputs and products in a block
/// Minimum number of tiles in a block, if the picture has as many tiles: narrower products are slow.
constexpr std::int64_t block_tiles = 64;
constexpr std::int64_t min_tiles = 40; // for fewer tiles, im2col is faster

/// Returns the transform G g G^T of each 3x3 filter g, as 16 matrices [out, in] (one for each point). G, and B and A
/// below, are the transformation matrices of F(2x2, 3x3) in the source that conv.hpp names.
std::vector<float> transform_weights(const ConvGeometry& g, const std::vector<float>& weights) {
  static constexpr double G[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  const auto filters = static_cast<std::size_t>(g.out_channels * g.in_channels);
  std::vector<float> transformed(points * filters);
  for (std::size_t f = 0; f < filters; ++f)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        double value = 0;
        for (std::size_t p = 0; p < 3; ++p)
          for (std::size_t q = 0; q < 3; ++q)
            value += G[i][p] * static_cast<double>(weights[f * 9 + p * 3 + q]) * G[j][q];
        transformed[(i * 4 + j) * filters + f] = static_cast<float>(value);
      }
  return transformed;
}

/// Computes the vertical half of the input transform B^T d B: transforms four rows of input to four rows.
RTEXEC_VECTORISED void transform_columns(const std::array<const float*, 4>& in, float* out, std::size_t pitch,
                                         std::size_t n) noexcept {
  const float *d0 = in[0], *d1 = in[1], *d2 = in[2], *d3 = in[3];
  float *r0 = out, *r1 = out + pitch, *r2 = out + 2 * pitch, *r3 = out + 3 * pitch;
  RTEXEC_INDEPENDENT
  for (std::size_t i = 0; i < n; ++i) {
    r0[i] = d0[i] - d2[i];
    r1[i] = d1[i] + d2[i];
    r2[i] = d2[i] - d1[i];
    r3[i] = d1[i] - d3[i];
  }
}

/// Computes the horizontal half of B^T d B for a row of tiles. Tile t covers r[2t] to r[2t+3]. The four results of a
/// tile are `pitch` apart.
RTEXEC_VECTORISED void transform_rows(const float* r, float* out, std::size_t pitch, std::size_t tiles) noexcept {
  float *v0 = out, *v1 = out + pitch, *v2 = out + 2 * pitch, *v3 = out + 3 * pitch;
  RTEXEC_INDEPENDENT
  for (std::size_t t = 0; t < tiles; ++t) {
    const float d0 = r[2 * t], d1 = r[2 * t + 1], d2 = r[2 * t + 2], d3 = r[2 * t + 3];
    v0[t] = d0 - d2;
    v1[t] = d1 + d2;
    v2[t] = d2 - d1;
    v3[t] = d1 - d3;
  }
}

/// Computes the output transform A^T m A for a row of tiles. The 16 products m of a tile are `pitch` apart. Writes two
/// rows of 2 * tiles outputs each.
RTEXEC_VECTORISED void transform_products(const float* m, std::size_t pitch, float* top, float* bottom,
                                          std::size_t tiles) noexcept {
  RTEXEC_INDEPENDENT
  for (std::size_t t = 0; t < tiles; ++t) {
    float a[4], b[4];
    for (std::size_t k = 0; k < 4; ++k) {
      const float m0 = m[k * pitch + t], m1 = m[(4 + k) * pitch + t], m2 = m[(8 + k) * pitch + t],
                  m3 = m[(12 + k) * pitch + t];
      a[k] = m0 + m1 + m2;
      b[k] = m1 - m2 - m3;
    }
    top[2 * t] = a[0] + a[1] + a[2];
    top[2 * t + 1] = a[1] - a[2] - a[3];
    bottom[2 * t] = b[0] + b[1] + b[2];
    bottom[2 * t + 1] = b[1] - b[2] - b[3];
  }
}

class WinogradConv final : public Step {
 public:
  explicit WinogradConv(const ConvGeometry& geometry)
      : g_(geometry),
        tiles_w_((g_.out_w + 1) / 2),
        tiles_h_((g_.out_h + 1) / 2),
        pitch_(std::max(2 * tiles_w_ + 2, g_.in_w + g_.window.pad_left)),
        strip_(balanced_block(g_.out_channels, tile_shape().rows)) {
    const auto tiles = std::max(block_tiles, block_floats / (points * (g_.in_channels + g_.out_channels)));
    block_ = balanced_block(tiles_h_, tiles / tiles_w_);
  }

  std::size_t workspace() const override {
    return static_cast<std::size_t>(5 * pitch_ + points * block_ * tiles_w_ + inputs_pitch() * points +
                                    points * g_.out_channels * block_ * tiles_w_);
  }

  std::string packing() const override { return packing_name("winograd", {g_.in_channels, g_.out_channels}); }
  /// Packs the transformed weights: for each point's matrix, strips of output channels.
  std::vector<float> pack(const std::vector<float>& weights) const override {
    const auto transformed = transform_weights(g_, weights);
    std::vector<float> packed(static_cast<std::size_t>(points * weights_pitch()));
    for (std::int64_t point = 0; point < points; ++point)
      for (std::int64_t c = 0; c < g_.out_channels; c += strip_) {
        const auto channels = std::min(strip_, g_.out_channels - c);
        pack_strip(packed.data() + point * weights_pitch() + c * g_.in_channels, channels,
                   transformed.data() + (point * g_.out_channels + c) * g_.in_channels, channels, g_.in_channels,
                   g_.in_channels, 1);
      }
    return packed;
  }

  void run(const Operands& operands) const noexcept override {
    const ConvOperands o(g_, operands);
    Work work;
    work.rows = o.workspace;
    work.zeros = work.rows + 4 * pitch_;
    work.transformed = work.zeros + pitch_;
    work.inputs = work.transformed + points * block_ * tiles_w_;
    work.products = work.inputs + points * inputs_pitch();
    std::memset(work.rows, 0, static_cast<std::size_t>(5 * pitch_) * sizeof(float)); // the margins stay zero
    for (std::int64_t image = 0; image < g_.batch; ++image)
      for (std::int64_t row = 0; row < tiles_h_; row += block_)
        run_block(o, work, image, row, std::min(block_, tiles_h_ - row));
  }

 private:
  struct Work {
    float* rows;        // four rows of transformed input, with margins
    float* zeros;       // a row of zeros, read in place of rows outside the input
    float* transformed; // transformed inputs of one channel: [point][tile]
    float* inputs;      // [point], in strips of tiles
    float* products;    // [point][out channel][tile]
  };

  [[nodiscard]] std::int64_t weights_pitch() const { return g_.out_channels * g_.in_channels; }
  [[nodiscard]] std::int64_t inputs_pitch() const {
    return rounded_up(block_ * tiles_w_, tile_shape().columns) * g_.in_channels;
  }

  void run_block(const ConvOperands& o, const Work& work, std::int64_t image, std::int64_t row,
                 std::int64_t rows) const noexcept {
    const auto tiles = rows * tiles_w_, width = tile_shape().columns;
    for (std::int64_t c = 0; c < g_.in_channels; ++c) {
      const float* x = o.x + (image * g_.in_channels + c) * g_.in_plane();
      for (std::int64_t r = 0; r < rows; ++r) transform_input(x, work, row + r, work.transformed + r * tiles_w_, tiles);
      for (std::int64_t point = 0; point < points; ++point)
        split(work.inputs + point * inputs_pitch() + c * width, width, g_.in_channels * width,
              work.transformed + point * tiles, tiles);
    }
    for (std::int64_t point = 0; point < points; ++point)
      multiply(o.weights + point * weights_pitch(), work.inputs + point * inputs_pitch(),
               work.products + point * g_.out_channels * tiles, tiles);
    for (std::int64_t c = 0; c < g_.out_channels; ++c)
      for (std::int64_t r = 0; r < rows; ++r)
        transform_output(o, work, image, c, row + r, work.products + c * tiles + r * tiles_w_, g_.out_channels * tiles);
  }

  void multiply(const float* weights, const float* inputs, float* products, std::int64_t tiles) const noexcept {
    const auto width = tile_shape().columns;
    for (std::int64_t c = 0; c < g_.out_channels; c += strip_) {
      const auto channels = std::min(strip_, g_.out_channels - c);
      const float* strip = weights + c * g_.in_channels;
      NextStrip next(strip + channels * g_.in_channels, channels * g_.in_channels);
      for (std::int64_t tile = 0; tile < tiles; tile += width)
        multiply_tile(
            {g_.in_channels, strip, channels, inputs + tile * g_.in_channels, 1, nullptr, 0, next.take(g_.in_channels)},
            channels, std::min(width, tiles - tile), products + c * tiles + tile, tiles);
    }
  }

  void transform_input(const float* x, const Work& work, std::int64_t tile_row, float* out,
                       std::int64_t point_pitch) const noexcept {
    std::array<const float*, 4> in{};
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto row = 2 * tile_row + i - g_.window.pad_top;
      in[static_cast<std::size_t>(i)] = row >= 0 && row < g_.in_h ? x + row * g_.in_w : work.zeros;
    }
    const auto pitch = static_cast<std::size_t>(pitch_);
    transform_columns(in, work.rows + g_.window.pad_left, pitch, static_cast<std::size_t>(g_.in_w));
    for (std::int64_t i = 0; i < 4; ++i)
      transform_rows(work.rows + i * pitch_, out + 4 * i * point_pitch, static_cast<std::size_t>(point_pitch),
                     static_cast<std::size_t>(tiles_w_));
  }

  void transform_output(const ConvOperands& o, const Work& work, std::int64_t image, std::int64_t channel,
                        std::int64_t tile_row, const float* products, std::int64_t point_pitch) const noexcept {
    float* top = work.inputs; // reuses memory that is no longer needed
    float* bottom = top + 2 * tiles_w_;
    transform_products(products, static_cast<std::size_t>(point_pitch), top, bottom,
                       static_cast<std::size_t>(tiles_w_));
    const auto at = ((image * g_.out_channels + channel) * g_.out_h + 2 * tile_row) * g_.out_w;
    const auto n = static_cast<std::size_t>(g_.out_w);
    finish(g_.activation, o.y + at, top, o.bias_of(channel), o.residual ? o.residual + at : nullptr, n);
    if (2 * tile_row + 1 == g_.out_h) return;
    finish(g_.activation, o.y + at + g_.out_w, bottom, o.bias_of(channel),
           o.residual ? o.residual + at + g_.out_w : nullptr, n);
  }

  ConvGeometry g_;
  std::int64_t tiles_w_, tiles_h_;
  std::int64_t pitch_; // length of an input row with margins
  std::int64_t strip_; // number of output channels in a strip of weights
  std::int64_t block_; // number of rows of tiles in a block
};

} // namespace

bool winograd_applies(const ConvGeometry& g) {
  const auto& w = g.window;
  return g.groups == 1 && w.kernel_h == 3 && w.kernel_w == 3 && w.stride_h == 1 && w.stride_w == 1 &&
         w.dilation_h == 1 && w.dilation_w == 1 && w.pad_left <= 1 && w.pad_right <= 1 && w.pad_top <= 1 &&
         w.pad_bottom <= 1 && g.in_channels * g.out_channels >= min_channels * (g.in_channels + g.out_channels) &&
         ((g.out_h + 1) / 2) * ((g.out_w + 1) / 2) >= min_tiles;
}

std::unique_ptr<Step> make_winograd_conv(const ConvGeometry& geometry) {
  return std::make_unique<WinogradConv>(geometry);
}

} // namespace rtexec::tasks::kernels
