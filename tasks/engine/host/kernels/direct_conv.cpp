#include "tasks/engine/host/kernels/conv.hpp"
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/tiles.hpp"
#include "tasks/engine/host/kernels/vector.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

constexpr int channels_at_once = 4;
/// Limits of is_thin() for a group: channels, and input times output channels; above them, matrix products are faster.
constexpr std::int64_t max_channels = 16, max_pairs = 256;
constexpr std::int64_t max_stride = 4, max_reach_h = 64, max_reach_w = lanes; // limit the padded input copy
// The size of the inputs of a band (output rows that are computed together), so that they stay in the level 1 cache.
constexpr std::int64_t band_floats = 4096;
constexpr std::int64_t max_groups = 8;    // maximum number of groups that are computed together
constexpr std::int64_t min_rows = 16;     // minimum number of output rows in a band, if the picture has as many
constexpr std::int64_t slack = 4 * lanes; // space after data, because the data is accessed in whole vectors

struct Taps {
  const std::int64_t* offsets;
  std::int64_t count;
};

/// Computes y[j][i] for `channels` outputs j and `vectors` vectors of pixels i. y[j][i] is the sum of
/// weights[j][input][tap] * x[input * plane + offsets[tap] + i] over all inputs and taps.
template <std::size_t channels, std::size_t vectors>
RTEXEC_INLINE void convolve_piece(const float* x, std::int64_t inputs, std::int64_t plane, const Taps& taps,
                                  const float* weights, float* y, std::int64_t pitch_y) {
  Vector sums[channels][vectors] = {};
  for (std::int64_t input = 0; input < inputs; ++input)
    for (std::int64_t tap = 0; tap < taps.count; ++tap) {
      const float* from = x + input * plane + taps.offsets[tap];
      const float* weight = weights + input * taps.count + tap;
      for (std::size_t v = 0; v < vectors; ++v) {
        Vector piece;
        load(piece, from + v * lanes);
        for (std::size_t j = 0; j < channels; ++j)
          sums[j][v] += piece * weight[static_cast<std::int64_t>(j) * inputs * taps.count];
      }
    }
  for (std::size_t j = 0; j < channels; ++j, y += pitch_y)
    for (std::size_t v = 0; v < vectors; ++v) store(y + v * lanes, sums[j][v]);
}

/// The number of adjacent vectors of sums that are computed together. The number of registers limits it. With AVX-512 a
/// register is as wide as a vector.
#if defined(__aarch64__)
constexpr std::size_t across = 1;
#else
constexpr std::size_t across = 2;
#endif

/// Computes `channels` outputs of n pixels. It computes so many sums at once that they hide the latency of each
/// addition.
RTEXEC_VECTORISED void convolve(std::int64_t channels, const float* x, std::int64_t inputs, std::int64_t plane,
                                const Taps& taps, const float* weights, float* y, std::int64_t pitch_y,
                                std::int64_t n) noexcept {
  if (channels == channels_at_once) {
    std::int64_t i = 0;
    for (; across > 1 && i + lanes < n; i += 2 * lanes)
      convolve_piece<channels_at_once, across>(x + i, inputs, plane, taps, weights, y + i, pitch_y);
    for (; i < n; i += lanes) convolve_piece<channels_at_once, 1>(x + i, inputs, plane, taps, weights, y + i, pitch_y);
    return;
  }
  for (std::int64_t j = 0; j < channels; ++j, weights += inputs * taps.count, y += pitch_y) {
    std::int64_t i = 0;
    for (; i + 3 * lanes < n; i += 4 * lanes) convolve_piece<1, 4>(x + i, inputs, plane, taps, weights, y + i, 0);
    if (i + lanes < n) convolve_piece<1, 2>(x + i, inputs, plane, taps, weights, y + i, 0), i += 2 * lanes;
    if (i < n) convolve_piece<1, 1>(x + i, inputs, plane, taps, weights, y + i, 0);
  }
}

/// Computes `rows` rows of `vectors` adjacent output vectors of one channel, for 3x3, 5x5 or 7x7 taps. Each input row
/// is read once for all of these rows.
template <std::size_t kernel, std::size_t rows, std::size_t vectors>
RTEXEC_INLINE void convolve_block(const float* x, std::int64_t width, const std::int64_t* offsets, const float* weights,
                                  float* y, std::int64_t pitch_y) {
  Vector sums[rows][vectors] = {};
  for (std::size_t kw = 0; kw < kernel; ++kw) {
    const float* from = x + offsets[kw];
#pragma GCC unroll 16
    for (std::size_t in = 0; in < kernel + rows - 1; ++in, from += width) {
      Vector pieces[vectors];
      for (std::size_t v = 0; v < vectors; ++v) load(pieces[v], from + v * lanes);
#pragma GCC unroll 16
      for (std::size_t row = 0; row < rows; ++row)
        if (in >= row && in - row < kernel)
          for (std::size_t v = 0; v < vectors; ++v) sums[row][v] += pieces[v] * weights[(in - row) * kernel + kw];
    }
  }
  for (std::size_t row = 0; row < rows; ++row, y += pitch_y)
    for (std::size_t v = 0; v < vectors; ++v) store(y + v * lanes, sums[row][v]);
}

template <std::size_t kernel, std::size_t rows>
RTEXEC_INLINE void convolve_rows(const float* x, std::int64_t width, const std::int64_t* offsets, const float* weights,
                                 float* y, std::int64_t pitch_y, std::int64_t columns) {
  std::int64_t column = 0;
  for (; across > 1 && column + lanes < columns; column += 2 * lanes)
    convolve_block<kernel, rows, across>(x + column, width, offsets, weights, y + column, pitch_y);
  for (; column < columns; column += lanes)
    convolve_block<kernel, rows, 1>(x + column, width, offsets, weights, y + column, pitch_y);
}

template <std::size_t kernel>
RTEXEC_INLINE void convolve_band(const float* x, std::int64_t width, const std::int64_t* offsets, const float* weights,
                                 float* y, std::int64_t pitch_y, std::int64_t columns, std::int64_t rows) {
  for (; rows >= 4; rows -= 4, x += 4 * width, y += 4 * pitch_y)
    convolve_rows<kernel, 4>(x, width, offsets, weights, y, pitch_y, columns);
  if (rows >= 2) {
    convolve_rows<kernel, 2>(x, width, offsets, weights, y, pitch_y, columns);
    rows -= 2, x += 2 * width, y += 2 * pitch_y;
  }
  if (rows > 0) convolve_rows<kernel, 1>(x, width, offsets, weights, y, pitch_y, columns);
}

/// True if the channels are so few that a matrix product would use each panel of input windows too rarely.
bool is_thin(const ConvGeometry& g) {
  const auto in = g.group_in(), out = g.group_out();
  if (g.groups > 1) return in * out <= max_pairs;
  return out <= max_channels ? in <= 16 * max_channels : in >= max_channels && in * out <= 4 * max_pairs;
}

bool shares_rows(const ConvGeometry& g) {
  const auto& w = g.window;
  return g.group_in() == 1 && w.kernel_h == w.kernel_w && (w.kernel_h == 3 || w.kernel_h == 5 || w.kernel_h == 7) &&
         w.stride_h == 1 && w.dilation_h == 1 && (g.out_w >= lanes / 2 || w.kernel_h == 7);
}

RTEXEC_VECTORISED void convolve_shared(std::int64_t kernel, const float* x, std::int64_t width,
                                       const std::int64_t* offsets, const float* weights, float* y,
                                       std::int64_t pitch_y, std::int64_t columns, std::int64_t rows) noexcept {
  if (kernel == 3) convolve_band<3>(x, width, offsets, weights, y, pitch_y, columns, rows);
  else if (kernel == 5) convolve_band<5>(x, width, offsets, weights, y, pitch_y, columns, rows);
  else convolve_band<7>(x, width, offsets, weights, y, pitch_y, columns, rows);
}

/// Half a vector, for rows that are at most this long.
using Half = float __attribute__((vector_size(32)));
constexpr std::int64_t half = lanes / 2;

template <class V>
RTEXEC_INLINE void copy_rows_by(float* to, std::int64_t pitch_to, const float* from, std::int64_t pitch_from,
                                std::int64_t width, std::int64_t rows) {
  constexpr std::int64_t at_once = sizeof(V) / sizeof(float);
  const float *to_end = to + (rows - 1) * pitch_to + width, *from_end = from + (rows - 1) * pitch_from + width;
  for (std::int64_t row = 0; row < rows; ++row, to += pitch_to, from += pitch_from)
    for (std::int64_t i = 0; i < width; i += at_once) {
      if (to + i + at_once <= to_end && from + i + at_once <= from_end) {
        V piece;
        std::memcpy(&piece, from + i, sizeof piece);
        std::memcpy(to + i, &piece, sizeof piece);
      } else {
        for (std::int64_t rest = i; rest < std::min(width, i + at_once); ++rest) to[rest] = from[rest];
      }
    }
}

/// Copies rows in whole vectors. If a vector extends beyond the end of a row, the next row overwrites the excess.
/// Nothing beyond the last row is read or written.
RTEXEC_VECTORISED void copy_rows(float* to, std::int64_t pitch_to, const float* from, std::int64_t pitch_from,
                                 std::int64_t width, std::int64_t rows) noexcept {
  if (width <= half) copy_rows_by<Half>(to, pitch_to, from, pitch_from, width, rows);
  else copy_rows_by<Vector>(to, pitch_to, from, pitch_from, width, rows);
}

/// Rows of a picture that must be copied, and the distance between rows at the destination.
struct Rows {
  const float* from;
  std::int64_t pitch_from, width, count;
  const float* end; // end of the picture, up to which memory may be read
  std::int64_t pitch_to;
};

template <class V> RTEXEC_INLINE void pad_rows_by(float* to, const Rows& rows, std::int64_t kept) {
  constexpr std::int64_t at_once = sizeof(V) / sizeof(float);
  const float* from = rows.from;
  const V zeros = {};
  for (std::int64_t row = 0; row < rows.count; ++row, from += rows.pitch_from, to += rows.pitch_to) {
    for (std::int64_t i = 0; i < rows.width; i += at_once) {
      V piece = {};
      if (from + i + at_once <= rows.end) std::memcpy(&piece, from + i, sizeof piece);
      else std::memcpy(&piece, from + i, static_cast<std::size_t>(rows.width - i) * sizeof(float));
      std::memcpy(to + i, &piece, sizeof piece);
    }
    std::memcpy(to + kept, &zeros, sizeof zeros);
  }
}

/// Copies rows, and writes one vector of zeros into each row from column `kept` on. The zeros may extend into the next
/// row.
RTEXEC_VECTORISED void pad_rows(float* to, const Rows& rows, std::int64_t kept) noexcept {
  if (rows.width <= half && rows.pitch_to - kept <= half) pad_rows_by<Half>(to, rows, kept);
  else pad_rows_by<Vector>(to, rows, kept);
}

/// Copies rows as pad_rows() does, but separates even and odd elements: to_even[i] = from[2 i], to_odd[i] = from[2 i +
/// 1].
RTEXEC_VECTORISED void split_rows(float* to_even, std::int64_t kept_even, float* to_odd, std::int64_t kept_odd,
                                  const Rows& rows) noexcept {
  const float* from = rows.from;
  for (std::int64_t row = 0; row < rows.count;
       ++row, from += rows.pitch_from, to_even += rows.pitch_to, to_odd += rows.pitch_to) {
    for (std::int64_t i = 0; i < rows.width; i += 2 * lanes) {
      float part[2 * lanes] = {};
      const bool whole = from + i + 2 * lanes <= rows.end;
      if (!whole) std::copy_n(from + i, std::min<std::int64_t>(rows.width - i, 2 * lanes), part);
      split_pairs(to_even + i / 2, to_odd + i / 2, whole ? from + i : part);
    }
    store(to_even + kept_even, Vector{});
    store(to_odd + kept_odd, Vector{});
  }
}

/// A direct convolution. The padded input is divided into stride_h * stride_w phases; a phase holds every stride-th row
/// and column. Therefore every tap reads contiguous floats for any stride. Rows follow each other without a gap.
/// Outputs are computed as one long line, in which a few outputs between the rows are not used.
class DirectConv final : public Step {
 public:
  explicit DirectConv(const ConvGeometry& geometry) : g_(geometry) {
    const auto& w = g_.window;
    const auto reach_h = (w.kernel_h - 1) * w.dilation_h, reach_w = (w.kernel_w - 1) * w.dilation_w;
    // With stride 1, the margin after a row also serves as the margin before the next row.
    width_ = w.stride_w == 1 ? g_.in_w + std::max(w.pad_left, w.pad_right) : g_.out_w + reach_w / w.stride_w;
    const auto phases = w.stride_h * w.stride_w;
    rows_ = band_floats / (g_.group_in() * phases * width_) - reach_h / w.stride_h;
    rows_ = std::min(g_.out_h, std::max(rows_, min_rows) / 4 * 4);
    phase_ = width_ * (rows_ + reach_h / w.stride_h) + slack;
    plane_ = phases * phase_;
    for (std::int64_t kh = 0; kh < w.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < w.kernel_w; ++kw) {
        const auto h = kh * w.dilation_h, v = kw * w.dilation_w;
        offsets_.push_back(((h % w.stride_h) * w.stride_w + v % w.stride_w) * phase_ + h / w.stride_h * width_ +
                           v / w.stride_w);
      }
    shares_rows_ = shares_rows(g_);
    // Output rows of at most one vector may be contiguous: the next row overwrites the excess of the previous row.
    pitch_ = !shares_rows_ ? width_ : g_.out_w <= lanes ? g_.out_w : rounded_up(g_.out_w, lanes);
    line_ = rounded_up((rows_ - 1) * pitch_ + g_.out_w, lanes) + slack;
    if (g_.group_in() == 1 && g_.group_out() == 1)
      groups_at_once_ = std::clamp<std::int64_t>(band_floats / plane_, 1, max_groups);
  }

  std::size_t workspace() const override {
    return static_cast<std::size_t>(planes() * plane_ + slack +
                                    std::max<std::int64_t>(channels_at_once, groups_at_once_) * line_);
  }

  void run(const Operands& operands) const noexcept override {
    const ConvOperands o(g_, operands);
    std::fill_n(o.workspace, planes() * plane_ + slack, 0.0F); // the margins stay zero
    for (std::int64_t image = 0; image < g_.batch; ++image)
      for (std::int64_t group = 0; group < g_.groups; group += groups_at_once_)
        for (std::int64_t row = 0; row < g_.out_h; row += rows_) {
          const auto rows = std::min(rows_, g_.out_h - row);
          if (groups_at_once_ == 1) run_band(o, image, group, row, rows);
          else run_channels(o, image, group, std::min(groups_at_once_, g_.groups - group), row, rows);
        }
  }

 private:
  /// Returns the number of padded input channels that are in the workspace at the same time.
  [[nodiscard]] std::int64_t planes() const { return g_.group_in() * groups_at_once_; }

  /// Computes several groups of one channel each. Each of the three stages processes all groups before the next stage
  /// begins. The reason: a load that soon follows stores to the same data is slow if load and stores differ in width.
  void run_channels(const ConvOperands& o, std::int64_t image, std::int64_t first, std::int64_t count, std::int64_t row,
                    std::int64_t rows) const noexcept {
    float* lines = o.workspace + planes() * plane_ + slack;
    // Number of the first output channel, and of the first input channel.
    const auto channel = image * g_.out_channels + first;
    for (std::int64_t c = 0; c < count; ++c)
      split_phases(o.workspace + c * plane_, o.x + (channel + c) * g_.in_plane(), row);
    for (std::int64_t c = 0; c < count; ++c)
      convolve_channels(1, o.workspace + c * plane_, o.weights + (first + c) * g_.taps(), lines + c * line_, rows);
    for (std::int64_t c = 0; c < count; ++c)
      store_rows(o, lines + c * line_, (channel + c) * g_.out_plane() + row * g_.out_w, rows, o.bias_of(first + c));
  }

  void run_band(const ConvOperands& o, std::int64_t image, std::int64_t group, std::int64_t row,
                std::int64_t rows) const noexcept {
    float* lines = o.workspace + g_.group_in() * plane_ + slack;
    for (std::int64_t c = 0; c < g_.group_in(); ++c)
      split_phases(o.workspace + c * plane_, o.x + (image * g_.in_channels + group * g_.group_in() + c) * g_.in_plane(),
                   row);
    const auto m = g_.group_out();
    for (std::int64_t j = 0; j < m; j += channels_at_once) {
      const auto channels = std::min<std::int64_t>(channels_at_once, m - j);
      const auto first = group * m + j;
      convolve_channels(channels, o.workspace, o.weights + first * g_.group_in() * g_.taps(), lines, rows);
      for (std::int64_t c = 0; c < channels; ++c)
        store_rows(o, lines + c * line_, (image * g_.out_channels + first + c) * g_.out_plane() + row * g_.out_w, rows,
                   o.bias_of(first + c));
    }
  }

  void convolve_channels(std::int64_t channels, const float* x, const float* weights, float* lines,
                         std::int64_t rows) const noexcept {
    if (!shares_rows_)
      return convolve(channels, x, g_.group_in(), plane_, {offsets_.data(), g_.taps()}, weights, lines, line_,
                      (rows - 1) * width_ + g_.out_w);
    for (std::int64_t c = 0; c < channels; ++c)
      convolve_shared(g_.window.kernel_h, x, width_, offsets_.data(), weights + c * g_.taps(), lines + c * line_,
                      pitch_, g_.out_w, rows);
  }

  void store_rows(const ConvOperands& o, float* line, std::int64_t at, std::int64_t rows, float bias) const noexcept {
    if (!o.residual) {
      finish(g_.activation, line, line, bias, nullptr, static_cast<std::size_t>((rows - 1) * pitch_ + g_.out_w));
      return copy_rows(o.y + at, g_.out_w, line, pitch_, g_.out_w, rows);
    }
    for (std::int64_t row = 0; row < rows; ++row, at += g_.out_w)
      finish(g_.activation, o.y + at, line + row * pitch_, bias, o.residual + at, static_cast<std::size_t>(g_.out_w));
  }

  /// Divides the padded input into phases. Element (r, c) of phase (p, q) is the element ((row + r) * stride_h + p, c *
  /// stride_w + q) of the padded input.
  void split_phases(float* out, const float* x, std::int64_t row) const noexcept {
    const auto& w = g_.window;
    const auto height = (phase_ - slack) / width_;
    for (std::int64_t p = 0; p < w.stride_h; ++p, out += w.stride_w * phase_) {
      const auto above = w.pad_top - p - row * w.stride_h; // rows of padding above
      const auto first = std::min(above <= 0 ? 0 : (above + w.stride_h - 1) / w.stride_h, height);
      const auto from = first * w.stride_h - above;
      const auto count = std::clamp<std::int64_t>((g_.in_h - from + w.stride_h - 1) / w.stride_h, 0, height - first);
      if (count > 0)
        split_columns(out + first * width_,
                      {x + from * g_.in_w, w.stride_h * g_.in_w, g_.in_w, count, x + g_.in_plane(), width_});
      for (std::int64_t q = 0; q < w.stride_w; ++q) {
        std::fill_n(out + q * phase_, first * width_, 0.0F);
        std::fill(out + q * phase_ + (first + count) * width_, out + q * phase_ + height * width_, 0.0F);
      }
    }
  }

  /// Copies rows and distributes their columns to the phases. The first phase begins at `out`.
  void split_columns(float* out, const Rows& rows) const noexcept {
    const auto stride = g_.window.stride_w, left = g_.window.pad_left;
    if (stride == 1) return pad_rows(out + left, rows, std::min(g_.in_w, width_ - left));
    if (stride == 2) {
      const auto even = left / 2, odd = (left + 1) / 2; // destination of the first even and odd column
      return split_rows(out + left % 2 * phase_ + even, std::min((g_.in_w + 1) / 2, width_ - even),
                        out + (left + 1) % 2 * phase_ + odd, std::min(g_.in_w / 2, width_ - odd), rows);
    }
    for (std::int64_t row = 0; row < rows.count; ++row)
      for (std::int64_t q = 0; q < stride; ++q)
        for (std::int64_t c = 0; c < width_; ++c) {
          const auto i = c * stride + q - left;
          out[q * phase_ + row * width_ + c] = i >= 0 && i < g_.in_w ? rows.from[row * rows.pitch_from + i] : 0.0F;
        }
  }

  ConvGeometry g_;
  std::int64_t width_ = 0;   // floats of a row of a phase
  std::int64_t phase_ = 0;   // floats from the beginning of a phase to the beginning of the next phase
  std::int64_t plane_ = 0;   // floats of all phases of a channel
  bool shares_rows_ = false; // true: each input row is read once for several output rows
  std::int64_t rows_ = 0;    // output rows in a band
  std::int64_t pitch_ = 0;   // floats from the beginning of an output row to the beginning of the next row
  std::int64_t line_ = 0;    // floats for the outputs of a channel, including the unused outputs between rows
  std::int64_t groups_at_once_ = 1;
  std::vector<std::int64_t> offsets_; // offset of each tap
};

} // namespace

bool direct_applies(const ConvGeometry& g) {
  const auto& w = g.window;
  return is_thin(g) && g.taps() > 1 && std::max(w.stride_h, w.stride_w) <= max_stride &&
         (w.kernel_h - 1) * w.dilation_h <= max_reach_h && (w.kernel_w - 1) * w.dilation_w <= max_reach_w;
}

std::unique_ptr<Step> make_direct_conv(const ConvGeometry& geometry) { return std::make_unique<DirectConv>(geometry); }

} // namespace rtexec::tasks::kernels
