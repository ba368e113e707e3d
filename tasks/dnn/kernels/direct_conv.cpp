#include "tasks/dnn/kernels/conv.hpp"
#include "tasks/dnn/kernels/elementwise.hpp"
#include "tasks/dnn/kernels/vector.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

constexpr std::int64_t chunk = 2 * lanes; // outputs computed at once
constexpr int channels_at_once = 4;
constexpr std::int64_t most_channels = 16;               // of a group: beyond, matrix products win
constexpr std::int64_t most_stride = 4, most_reach = 64; // bound the padded copy of the input

/// y[j][i] = sum over inputs and taps of weights[j][input][tap] * x[input * plane + offsets[tap] + i], for `channels`
/// outputs j and one chunk of i.
template <std::size_t channels>
RTEXEC_INLINE void convolve_chunk(const float* x, std::int64_t inputs, std::int64_t plane, const std::int64_t* offsets,
                                  std::int64_t taps, const float* weights, float* y, std::int64_t pitch_y) {
  Vector low[channels] = {}, high[channels] = {};
  for (std::int64_t input = 0; input < inputs; ++input)
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const float* from = x + input * plane + offsets[tap];
      Vector a, b;
      load(a, from);
      load(b, from + lanes);
      const float* weight = weights + input * taps + tap;
      for (std::size_t j = 0; j < channels; ++j, weight += inputs * taps) {
        low[j] += a * *weight;
        high[j] += b * *weight;
      }
    }
  for (std::size_t j = 0; j < channels; ++j, y += pitch_y) {
    store(y, low[j]);
    store(y + lanes, high[j]);
  }
}

RTEXEC_VECTORISED void convolve(std::int64_t channels, const float* x, std::int64_t inputs, std::int64_t plane,
                                const std::int64_t* offsets, std::int64_t taps, const float* weights, float* y,
                                std::int64_t pitch_y, std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; i += chunk) {
    if (channels == channels_at_once)
      convolve_chunk<channels_at_once>(x + i, inputs, plane, offsets, taps, weights, y + i, pitch_y);
    else
      for (std::int64_t j = 0; j < channels; ++j)
        convolve_chunk<1>(x + i, inputs, plane, offsets, taps, weights + j * inputs * taps, y + j * pitch_y + i,
                          pitch_y);
  }
}

/// The padded input is split into stride_h * stride_w phases, so that every tap of every stride reads contiguous
/// floats, and rows follow each other without a gap: outputs are computed as one long line, with a few meaningless ones
/// between the rows.
class DirectConv final : public Step {
 public:
  explicit DirectConv(const ConvGeometry& geometry) : g_(geometry) {
    const auto& w = g_.window;
    const auto reach_h = (w.kernel_h - 1) * w.dilation_h, reach_w = (w.kernel_w - 1) * w.dilation_w;
    width_ = g_.out_w + reach_w / w.stride_w;
    height_ = g_.out_h + reach_h / w.stride_h;
    const auto phase = width_ * height_;
    for (std::int64_t kh = 0; kh < w.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < w.kernel_w; ++kw) {
        const auto h = kh * w.dilation_h, v = kw * w.dilation_w;
        offsets_.push_back(((h % w.stride_h) * w.stride_w + v % w.stride_w) * phase + h / w.stride_h * width_ +
                           v / w.stride_w);
      }
    line_ = ((g_.out_h - 1) * width_ + g_.out_w + chunk - 1) / chunk * chunk;
    plane_ = w.stride_h * w.stride_w * phase;
  }

  std::size_t workspace() const override {
    return static_cast<std::size_t>(g_.group_in() * plane_ + chunk + channels_at_once * line_);
  }

  void run(const Operands& operands) const noexcept override {
    const ConvOperands o(g_, operands);
    for (std::int64_t image = 0; image < g_.batch; ++image)
      for (std::int64_t group = 0; group < g_.groups; ++group) run_group(o, image, group);
  }

 private:
  void run_group(const ConvOperands& o, std::int64_t image, std::int64_t group) const noexcept {
    float* lines = o.workspace + g_.group_in() * plane_ + chunk;
    for (std::int64_t c = 0; c < g_.group_in(); ++c)
      split_phases(o.workspace + c * plane_,
                   o.x + (image * g_.in_channels + group * g_.group_in() + c) * g_.in_plane());
    std::fill(lines - chunk, lines, 0.0F); // read behind the last plane
    const auto m = g_.group_out();
    for (std::int64_t j = 0; j < m; j += channels_at_once) {
      const auto channels = std::min<std::int64_t>(channels_at_once, m - j);
      const auto first = group * m + j;
      convolve(channels, o.workspace, g_.group_in(), plane_, offsets_.data(), g_.taps(),
               o.weights + first * g_.group_in() * g_.taps(), lines, line_, line_);
      for (std::int64_t c = 0; c < channels; ++c)
        store(o, lines + c * line_, image * g_.out_channels + first + c, o.bias_of(first + c));
    }
  }

  void store(const ConvOperands& o, const float* line, std::int64_t plane, float bias) const noexcept {
    for (std::int64_t row = 0; row < g_.out_h; ++row) {
      const auto at = plane * g_.out_plane() + row * g_.out_w;
      finish(g_.activation, o.y + at, line + row * width_, bias, o.residual ? o.residual + at : nullptr,
             static_cast<std::size_t>(g_.out_w));
    }
  }

  /// phase (p, q) at (r, c) is the padded input at (r * stride_h + p, c * stride_w + q).
  void split_phases(float* out, const float* x) const noexcept {
    const auto& w = g_.window;
    for (std::int64_t p = 0; p < w.stride_h; ++p)
      for (std::int64_t q = 0; q < w.stride_w; ++q)
        for (std::int64_t r = 0; r < height_; ++r, out += width_) {
          const auto row = r * w.stride_h + p - w.pad_top;
          if (row < 0 || row >= g_.in_h) std::fill(out, out + width_, 0.0F);
          else split_row(out, x + row * g_.in_w, q - w.pad_left);
        }
  }

  /// out[i] = x[i * stride + shift], zero outside of the row.
  void split_row(float* out, const float* x, std::int64_t shift) const noexcept {
    const auto stride = g_.window.stride_w;
    const auto first = std::clamp<std::int64_t>(shift >= 0 ? 0 : (stride - 1 - shift) / stride, 0, width_);
    const auto last =
        std::clamp<std::int64_t>(shift >= g_.in_w ? 0 : (g_.in_w - shift + stride - 1) / stride, first, width_);
    std::fill(out, out + first, 0.0F);
    const auto count = static_cast<std::size_t>(last - first);
    if (stride == 1) std::memcpy(out + first, x + first + shift, count * sizeof(float));
    else gather_strided(out + first, x + first * stride + shift, stride, count);
    std::fill(out + last, out + width_, 0.0F);
  }

  ConvGeometry g_;
  std::int64_t width_ = 0, height_ = 0; // of a phase
  std::int64_t plane_ = 0;              // floats of all phases of a channel
  std::int64_t line_ = 0;               // outputs of a channel, with those between the rows
  std::vector<std::int64_t> offsets_;   // of each tap
};

} // namespace

bool direct_applies(const ConvGeometry& g) {
  const auto& w = g.window;
  const auto reach = std::max((w.kernel_h - 1) * w.dilation_h, (w.kernel_w - 1) * w.dilation_w);
  return g.groups > 1 && std::max(g.group_in(), g.group_out()) <= most_channels && g.taps() > 1 &&
         std::max(w.stride_h, w.stride_w) <= most_stride && reach <= most_reach;
}

PreparedStep prepare_direct_conv(const ConvGeometry& geometry) { return {std::make_unique<DirectConv>(geometry), {}}; }

} // namespace rtexec::tasks::kernels
