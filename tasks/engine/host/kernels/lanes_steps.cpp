// Depthwise convolutions and pooling with interleaved channels. Here a picture is one channel of one image.
#include "tasks/engine/host/kernels/conv.hpp"
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/lanes.hpp"
#include "tasks/engine/host/kernels/pools.hpp"
#include "tasks/engine/host/kernels/tiles.hpp"
#include "tasks/engine/host/kernels/transpose.hpp"

#include <algorithm>
#include <optional>

namespace rtexec::tasks::kernels {
namespace {

/// Size of a band's inputs and outputs: a quarter of a common level 2 cache.
constexpr std::int64_t band_floats = 64 * 1024;

/// Moves a window over a group of pictures, one picture for each lane of a vector. Proceeds in bands of rows.
class Bands {
 public:
  Bands(const Window& window, std::int64_t in_h, std::int64_t in_w, std::int64_t out_h, std::int64_t out_w)
      : w_(window),
        in_h_(in_h),
        in_w_(in_w),
        out_h_(out_h),
        out_w_(out_w),
        lanes_(lane_count()),
        reach_((w_.kernel_h - 1) * w_.dilation_h + 1) {
    const auto most = band_floats / (lanes_ * (w_.stride_h * in_w_ + out_w_)) - reach_ / w_.stride_h;
    rows_ = balanced_block(out_h_, std::clamp<std::int64_t>(most, 1, out_h_));
    rows_in_ = std::min(in_h_, (rows_ - 1) * w_.stride_h + reach_);
  }

  /// Returns the size of the workspace in floats.
  [[nodiscard]] std::int64_t workspace() const { return lanes_ * (rows_in_ * in_w_ + rows_ * out_w_); }

  /// Computes the outputs. Calls `finish(y, pixels)` on interleaved outputs before they are transposed to `outputs`.
  /// Calls `done(pixel, pixels)` when these pixels are in `outputs`. Input rows that two consecutive bands need are
  /// moved in the workspace, not read again.
  template <class Finish, class Done>
  void run(const Lanes& lanes, const float* pictures, float* outputs, float* workspace, Finish finish,
           Done done) const noexcept {
    const auto pitch = in_w_ * lanes_;
    float *const x = workspace, *const y = x + rows_in_ * pitch;
    Rows there{0, 0};
    for (std::int64_t row = 0; row < out_h_; row += rows_) {
      const Rows out{row, std::min(row + rows_, out_h_)}, in = inputs_of(out);
      const auto kept = std::max<std::int64_t>(0, there.last - in.first), begin = in.first + kept;
      std::copy_n(x + (in.first - there.first) * pitch, kept * pitch, x);
      transpose(x + kept * pitch, lanes_, pictures + begin * in_w_, in_h_ * in_w_, lanes_, (in.last - begin) * in_w_);
      there = in;
      run_lanes(lanes, x, in.first, out, y);
      const auto pixels = out.count() * out_w_;
      finish(y, pixels);
      transpose(outputs + row * out_w_, out_h_ * out_w_, y, lanes_, pixels, lanes_);
      done(row * out_w_, pixels);
    }
  }

 private:
  [[nodiscard]] Rows inputs_of(const Rows& out) const {
    const auto last = std::clamp<std::int64_t>((out.last - 1) * w_.stride_h - w_.pad_top + reach_, 0, in_h_);
    return {std::clamp<std::int64_t>(out.first * w_.stride_h - w_.pad_top, 0, last), last};
  }

  Window w_;
  std::int64_t in_h_, in_w_, out_h_, out_w_, lanes_;
  std::int64_t reach_;                  // number of input rows that a window covers
  std::int64_t rows_ = 1, rows_in_ = 1; // number of output rows in a band; number of input rows that a band needs
};

/// Divides pictures into groups of one picture for each lane. If the number of pictures is not a multiple of the number
/// of lanes, the last group overlaps the previous group and computes some pictures again.
class Groups {
 public:
  explicit Groups(std::int64_t pictures) : pictures_(pictures) {}
  [[nodiscard]] std::int64_t count() const { return (pictures_ + lane_count() - 1) / lane_count(); }
  [[nodiscard]] std::int64_t first_of(std::int64_t group) const {
    return std::min(group * lane_count(), pictures_ - lane_count());
  }

 private:
  std::int64_t pictures_;
};

class LanesConv final : public Step {
 public:
  explicit LanesConv(const ConvGeometry& geometry)
      : g_(geometry), groups_(g_.out_channels), bands_(g_.window, g_.in_h, g_.in_w, g_.out_h, g_.out_w) {
    if (!g_.residual) bounds_ = bounds_of(g_.activation);
  }

  std::size_t workspace() const override { return static_cast<std::size_t>(bands_.workspace()); }

  std::string packing() const override { return packing_name("lanes", {g_.out_channels, g_.taps()}); }
  std::vector<float> pack(const std::vector<float>& weights) const override {
    std::vector<float> packed(static_cast<std::size_t>(groups_.count() * packed_group()));
    for (std::int64_t group = 0; group < groups_.count(); ++group)
      transpose(packed.data() + group * packed_group(), lane_count(),
                weights.data() + groups_.first_of(group) * g_.taps(), g_.taps(), lane_count(), g_.taps());
    return packed;
  }

  void run(const Operands& operands) const noexcept override {
    const ConvOperands o(g_, operands);
    for (std::int64_t image = 0; image < g_.batch; ++image)
      for (std::int64_t group = 0; group < groups_.count(); ++group) run_group(o, image * g_.out_channels, group);
  }

 private:
  [[nodiscard]] std::int64_t packed_group() const { return g_.taps() * lane_count(); }

  void run_group(const ConvOperands& o, std::int64_t before, std::int64_t group) const noexcept {
    const auto channel = groups_.first_of(group), first = before + channel;
    const Lanes lanes{Lanes::Kind::products,
                      g_.window,
                      g_.in_h,
                      g_.in_w,
                      g_.out_w,
                      o.weights + group * packed_group(),
                      o.bias ? o.bias + channel : nullptr,
                      nullptr,
                      bounds_.value_or(Bounds{})};
    bands_.run(
        lanes, o.x + first * g_.in_plane(), o.y + first * g_.out_plane(), o.workspace,
        [&](float* sums, std::int64_t pixels) {
          if (!g_.residual && !bounds_)
            finish(g_.activation, sums, sums, 0, nullptr, static_cast<std::size_t>(pixels * lane_count()));
        },
        [&](std::int64_t pixel, std::int64_t pixels) {
          if (g_.residual) add_residual(o, first * g_.out_plane() + pixel, static_cast<std::size_t>(pixels));
        });
  }

  void add_residual(const ConvOperands& o, std::int64_t at, std::size_t pixels) const noexcept {
    for (std::int64_t lane = 0; lane < lane_count(); ++lane, at += g_.out_plane())
      finish(g_.activation, o.y + at, o.y + at, 0, o.residual + at, pixels);
  }

  ConvGeometry g_;
  Groups groups_;
  Bands bands_;
  std::optional<Bounds> bounds_; // nullopt: a later pass applies residual and activation
};

class LanesPool final : public Step {
 public:
  LanesPool(const Pool& pool, const Shape& x, const Shape& y, std::vector<float> factors)
      : pool_(pool),
        in_h_(x[2]),
        in_w_(x[3]),
        out_h_(y[2]),
        out_w_(y[3]),
        groups_(x[0] * x[1]),
        bands_(pool_.window, in_h_, in_w_, out_h_, out_w_),
        factors_(std::move(factors)) {}

  std::size_t workspace() const override { return static_cast<std::size_t>(bands_.workspace()); }

  void run(const Operands& o) const noexcept override {
    const Lanes lanes{kind_of(pool_), pool_.window, in_h_, in_w_, out_w_, nullptr, nullptr, factors_.data(), {}};
    for (std::int64_t group = 0; group < groups_.count(); ++group) {
      const auto first = groups_.first_of(group);
      bands_.run(
          lanes, o.input(0) + first * in_h_ * in_w_, o.output() + first * out_h_ * out_w_, o.workspace,
          [](float*, std::int64_t) {}, [](std::int64_t, std::int64_t) {});
    }
  }

  static Lanes::Kind kind_of(const Pool& pool) {
    return pool.kind == Pool::Kind::max ? Lanes::Kind::maximum : Lanes::Kind::average;
  }

 private:
  Pool pool_;
  std::int64_t in_h_, in_w_, out_h_, out_w_;
  Groups groups_;
  Bands bands_;
  std::vector<float> factors_;
};

} // namespace

bool lanes_apply(const ConvGeometry& g) {
  return g.group_in() == 1 && g.group_out() == 1 && g.out_channels >= lane_count() &&
         has_lanes(Lanes::Kind::products, g.window);
}

std::unique_ptr<Step> make_lanes_conv(const ConvGeometry& geometry) { return std::make_unique<LanesConv>(geometry); }

bool lanes_apply(const Pool& pool, const Shape& x) {
  return x[0] * x[1] >= lane_count() && has_lanes(LanesPool::kind_of(pool), pool.window);
}

StepPointer make_lanes_pool(const Pool& pool, const Shape& x, const Shape& y, std::vector<float> factors) {
  return std::make_unique<LanesPool>(pool, x, y, std::move(factors));
}

} // namespace rtexec::tasks::kernels
