// Steps that interpolate between elements.
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace rtexec::tasks::kernels {
namespace {

const Shape& shape_of(const Graph& graph, TensorId id) { return graph.tensors[id].shape; }

class ResizeStep final : public Step {
 public:
  ResizeStep(const Resize& resize, const Shape& x)
      : rows_(resize.rows), planes_(x[0] * x[1]), in_h_(x[2]), in_w_(x[3]) {
    for (const auto& column : resize.columns) {
      low_.push_back(static_cast<std::int32_t>(column.low));
      high_.push_back(static_cast<std::int32_t>(column.high));
      weight_.push_back(column.weight);
    }
  }
  std::size_t workspace() const override { return 2 * low_.size(); }

  void run(const Operands& o) const noexcept override {
    float* y = o.output();
    for (std::int64_t plane = 0; plane < planes_; ++plane) {
      Lines lines{{o.workspace, o.workspace + low_.size()}};
      const float* x = o.input(0) + plane * in_h_ * in_w_;
      for (const auto& row : rows_) {
        const float* low = line(lines, x, row.low, row.high);
        blend_lines(y, low, row.weight == 0 ? low : line(lines, x, row.high, row.low), row.weight);
        y += low_.size();
      }
    }
  }

 private:
  /// The two input rows from which the last output row was interpolated. They are already interpolated horizontally.
  struct Lines {
    std::array<float*, 2> at;
    std::array<std::int64_t, 2> row{-1, -1};
  };

  /// Returns input row number `row`, interpolated horizontally. If `lines` does not hold that row, computes it. The new
  /// row replaces a row of `lines`, but never row number `other`.
  const float* line(Lines& lines, const float* x, std::int64_t row, std::int64_t other) const noexcept {
    for (const std::size_t i : {0U, 1U})
      if (lines.row[i] == row) return lines.at[i];
    const std::size_t i = lines.row[0] == other ? 1 : 0;
    lines.row[i] = row;
    blend(lines.at[i], x + row * in_w_, low_.data(), high_.data(), weight_.data(), low_.size());
    return lines.at[i];
  }

  void blend_lines(float* y, const float* low, const float* high, float weight) const noexcept {
    if (weight == 0) return void(std::copy_n(low, low_.size(), y));
    scale_shift({}, y, low, 1.0F - weight, 0.0F, low_.size());
    accumulate(y, high, weight, low_.size());
  }

  std::vector<Resize::Tap> rows_;
  std::vector<std::int32_t> low_, high_; // for each output column
  std::vector<float> weight_;
  std::int64_t planes_, in_h_, in_w_;
};

class ResampleStep final : public Step {
 public:
  explicit ResampleStep(const Resample& resample) : r_(resample) {}

  void run(const Operands& o) const noexcept override {
    const auto inner = static_cast<std::size_t>(r_.inner);
    float* y = o.output();
    for (std::int64_t outer = 0; outer < r_.outer; ++outer) {
      const float* x = o.input(0) + outer * r_.count * r_.inner;
      for (std::size_t first = 0; first < r_.indices.size(); first += static_cast<std::size_t>(r_.taps), y += inner) {
        std::fill_n(y, inner, 0.0F);
        for (std::size_t tap = first; tap < first + static_cast<std::size_t>(r_.taps); ++tap)
          if (r_.weights[tap] != 0) accumulate(y, x + r_.indices[tap] * r_.inner, r_.weights[tap], inner);
      }
    }
  }

 private:
  Resample r_;
};

/// The pixels along one dimension whose weighted sum is the value at a position, and their weights.
struct Blend {
  std::array<std::int64_t, 4> at{}; // 0 for a pixel outside the input
  std::array<float, 4> weight{};    // 0 for a pixel outside the input
  std::size_t count = 0;

  void add(std::int64_t index, float share, std::int64_t size) noexcept {
    const bool inside = index >= 0 && index < size;
    at[count] = inside ? index : 0;
    weight[count++] = inside ? share : 0.0F;
  }
};

/// The pixels of a plane or volume whose weighted sum is the value at a position, and their weights.
struct Corners {
  std::array<std::int64_t, 64> at{}; // at most four in each of three dimensions
  std::array<float, 64> weight{1};
  std::size_t count = 1;

  /// Returns all combinations of these pixels with the pixels along one more dimension of size `size`. The new
  /// dimension varies faster than all others.
  [[nodiscard]] Corners times(const Blend& blend, std::int64_t size) const noexcept {
    Corners all;
    all.count = 0;
    for (std::size_t c = 0; c < count; ++c)
      for (std::size_t i = 0; i < blend.count; ++i) {
        if (blend.weight[i] == 0) continue;
        all.at[all.count] = at[c] * size + blend.at[i];
        all.weight[all.count++] = weight[c] * blend.weight[i];
      }
    return all;
  }
};

/// Finds the pixels from which the value at a position of an image or volume is interpolated. `sizes` are the
/// dimensions of the image or volume.
class Sampler {
 public:
  Sampler(const GridSample& sample, Shape sizes) : s_(sample), sizes_(std::move(sizes)) {}

  /// Returns the pixels and weights for a position. `position` lists the coordinates, beginning with the last
  /// dimension.
  [[nodiscard]] Corners corners(const float* position) const noexcept {
    const std::size_t rank = sizes_.size();
    Corners corners;
    for (std::size_t d = 0; d < rank; ++d)
      corners = corners.times(blend_at(unscaled(position[rank - 1 - d], sizes_[d]), sizes_[d]), sizes_[d]);
    return corners;
  }
  [[nodiscard]] std::int64_t rank() const { return std::ssize(sizes_); }
  [[nodiscard]] std::int64_t plane() const { return plane_; }

 private:
  using Mode = GridSample::Mode;
  using Padding = GridSample::Padding;

  [[nodiscard]] float unscaled(float x, std::int64_t size) const noexcept {
    const auto n = static_cast<float>(size);
    return s_.align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  }

  /// Returns the position to which the padding mode moves x, inside the input. With padding of zeros, returns x.
  [[nodiscard]] float moved(float x, std::int64_t size) const noexcept {
    const auto last = static_cast<float>(size - 1);
    if (s_.padding == Padding::border) return std::clamp(x, 0.0F, last);
    if (s_.padding == Padding::zeros) return x;
    const float low = s_.align_corners ? 0.0F : -0.5F, high = s_.align_corners ? last : last + 0.5F;
    const float span = high - low;
    if (span <= 0) return 0;
    const float over = std::fmod(std::abs(x - low), 2 * span);
    return std::clamp(low + (over <= span ? over : 2 * span - over), 0.0F, last);
  }

  /// Converts x to an integer. All positions far outside the input become a single position that is outside, too.
  static std::int64_t whole(float x) noexcept {
    return x > -1e9F && x < 1e9F ? static_cast<std::int64_t>(x) : -1'000'000'000;
  }

  [[nodiscard]] Blend blend_at(float x, std::int64_t size) const noexcept {
    Blend blend;
    if (s_.mode == Mode::cubic) {
      const float base = std::floor(x);
      const auto weight = weights(x - base);
      for (std::size_t i = 0; i < 4; ++i)
        blend.add(whole(moved(base - 1 + static_cast<float>(i), size)), weight[i], size);
      return blend;
    }
    x = moved(x, size);
    if (s_.mode == Mode::nearest) {
      blend.add(whole(std::nearbyint(x)), 1, size);
      return blend;
    }
    const float base = std::floor(x);
    blend.add(whole(base), 1 - (x - base), size);
    blend.add(whole(base) + 1, x - base, size);
    return blend;
  }

  /// Returns the weights of cubic interpolation: Keys' kernel with a = -0.75.
  static std::array<float, 4> weights(float t) noexcept {
    constexpr float a = -0.75F;
    const auto far = [](float d) { return ((d - 5) * d + 8) * d * a - 4 * a; };
    const auto near = [](float d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    return {far(t + 1), near(t), near(1 - t), far(2 - t)};
  }

  GridSample s_;
  Shape sizes_; // height and width of an image, or depth, height and width of a volume
  std::int64_t plane_ = element_count(sizes_);
};

float blended(const float* plane, const Corners& corners) noexcept {
  float sum = 0;
  for (std::size_t c = 0; c < corners.count; ++c) sum += corners.weight[c] * plane[corners.at[c]];
  return sum;
}

class GridSampleStep final : public Step {
 public:
  GridSampleStep(const GridSample& sample, const Shape& x, const Shape& y)
      : sampler_(sample, {x.begin() + 2, x.end()}),
        batch_(x[0]),
        channels_(x[1]),
        points_(element_count({y.begin() + 2, y.end()})) {}

  void run(const Operands& o) const noexcept override {
    for (std::int64_t n = 0; n < batch_; ++n)
      for (std::int64_t point = 0; point < points_; ++point) {
        const auto corners = sampler_.corners(o.input(1) + (n * points_ + point) * sampler_.rank());
        for (std::int64_t plane = n * channels_; plane < (n + 1) * channels_; ++plane)
          o.output()[plane * points_ + point] = blended(o.input(0) + plane * sampler_.plane(), corners);
      }
  }

 private:
  Sampler sampler_;
  std::int64_t batch_, channels_, points_;
};

class DeformableAttentionStep final : public Step {
 public:
  DeformableAttentionStep(const Graph& graph, const Node& node, const DeformableAttention& attention)
      : points_(shape_of(graph, node.inputs[2])[2]),
        batch_(shape_of(graph, node.output)[0]),
        queries_(shape_of(graph, node.output)[1]),
        channels_(shape_of(graph, node.output)[2]) {
    for (std::size_t i = 1; i < node.inputs.size(); i += 2) {
      const auto& x = shape_of(graph, node.inputs[i]);
      samplers_.emplace_back(attention.sample, Shape{x[2], x[3]});
    }
  }
  std::size_t workspace() const override { return scores(); }

  void run(const Operands& o) const noexcept override {
    for (std::int64_t query = 0; query < batch_ * queries_; ++query) {
      float *const y = o.output() + query * channels_, *share = o.workspace;
      const float* const x = o.input(0) + query * static_cast<std::int64_t>(scores());
      const double total = exponentials(share, x, maximum(x, scores()), scores());
      std::fill_n(y, channels_, 0.0F);
      for (std::size_t image = 0; image < samplers_.size(); ++image)
        for (std::int64_t point = 0; point < points_; ++point) add(y, o, image, query, point, *share++);
      scale_shift({}, y, y, static_cast<float>(1.0 / total), 0.0F, static_cast<std::size_t>(channels_));
    }
  }

 private:
  [[nodiscard]] std::size_t scores() const { return samplers_.size() * static_cast<std::size_t>(points_); }

  void add(float* y, const Operands& o, std::size_t image, std::int64_t query, std::int64_t point,
           float share) const noexcept {
    const auto& sampler = samplers_[image];
    const auto corners = sampler.corners(o.input(2 + 2 * image) + (query * points_ + point) * 2);
    const float* const x = o.input(1 + 2 * image) + query / queries_ * channels_ * sampler.plane();
    for (std::int64_t c = 0; c < channels_; ++c) y[c] += share * blended(x + c * sampler.plane(), corners);
  }

  std::vector<Sampler> samplers_;
  std::int64_t points_, batch_, queries_, channels_;
};

/// The sample positions in one direction of a bin.
struct Samples {
  float first = 0, step = 0;
  std::int64_t count = 0;
};

class RoiAlignStep final : public Step {
 public:
  RoiAlignStep(const RoiAlign& align, const Shape& x, const Shape& y)
      : a_(align), images_(x[0]), channels_(x[1]), h_(x[2]), w_(x[3]), regions_(y[0]), out_h_(y[2]), out_w_(y[3]) {}

  void run(const Operands& o) const noexcept override {
    float* y = o.output();
    for (std::int64_t region = 0; region < regions_; ++region) {
      const float* const box = o.input(1) + region * 4;
      const auto image = std::clamp(o.input<std::int64_t>(2)[region], std::int64_t{0}, images_ - 1);
      for (std::int64_t c = 0; c < channels_; ++c)
        for (std::int64_t row = 0; row < out_h_; ++row)
          for (std::int64_t column = 0; column < out_w_; ++column)
            *y++ = bin(o.input(0) + (image * channels_ + c) * h_ * w_, samples(box[1], box[3], row, out_h_),
                       samples(box[0], box[2], column, out_w_));
    }
  }

 private:
  [[nodiscard]] Samples samples(float low, float high, std::int64_t i, std::int64_t bins) const noexcept {
    const float start = low * a_.scale - (a_.half_pixel ? 0.5F : 0.0F);
    const float extent = (high - low) * a_.scale;
    const float size = (a_.half_pixel ? extent : std::max(extent, 1.0F)) / static_cast<float>(bins);
    constexpr auto most = static_cast<float>(RoiAlign::max_samples);
    const auto count = a_.samples > 0 ? a_.samples
                       : size > 0     ? static_cast<std::int64_t>(std::min(std::ceil(size), most))
                                      : 0;
    const float step = size / static_cast<float>(count);
    return {start + static_cast<float>(i) * size + step / 2, step, count};
  }

  /// Returns the pixels and weights from which position x is interpolated. Returns none if x is more than one pixel
  /// outside the input.
  static Blend blend_at(float x, std::int64_t size) noexcept {
    Blend blend;
    const auto last = static_cast<float>(size - 1);
    if (!(x >= -1) || x > last + 1) return blend;
    x = std::clamp(x, 0.0F, last);
    const float low = std::floor(x);
    blend.add(static_cast<std::int64_t>(low), 1 - (x - low), size);
    blend.add(static_cast<std::int64_t>(std::min(low + 1, last)), x - low, size);
    return blend;
  }

  [[nodiscard]] float bin(const float* x, const Samples& rows, const Samples& columns) const noexcept {
    float sum = 0;
    std::optional<float> most;
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const auto down = blend_at(rows.first + static_cast<float>(i) * rows.step, h_);
      for (std::int64_t j = 0; down.count > 0 && j < columns.count; ++j) {
        const auto across = blend_at(columns.first + static_cast<float>(j) * columns.step, w_);
        for (std::size_t v = 0; v < down.count; ++v)
          for (std::size_t h = 0; h < across.count; ++h) {
            const float part = down.weight[v] * across.weight[h] * x[down.at[v] * w_ + across.at[h]];
            sum += part;
            most = std::max(most.value_or(part), part);
          }
      }
    }
    if (a_.kind == RoiAlign::Kind::maximum) return most.value_or(0.0F);
    return sum / static_cast<float>(std::max<std::int64_t>(rows.count * columns.count, 1));
  }

  RoiAlign a_;
  std::int64_t images_, channels_, h_, w_, regions_, out_h_, out_w_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const Resize& resize) {
  return std::make_unique<ResizeStep>(resize, shape_of(graph, node.inputs[0]));
}
StepPointer make_step(const Graph&, const Node&, const Resample& resample) {
  return std::make_unique<ResampleStep>(resample);
}
StepPointer make_step(const Graph& graph, const Node& node, const GridSample& sample) {
  return std::make_unique<GridSampleStep>(sample, shape_of(graph, node.inputs[0]), shape_of(graph, node.output));
}
StepPointer make_step(const Graph& graph, const Node& node, const DeformableAttention& attention) {
  return std::make_unique<DeformableAttentionStep>(graph, node, attention);
}
StepPointer make_step(const Graph& graph, const Node& node, const RoiAlign& align) {
  return std::make_unique<RoiAlignStep>(align, shape_of(graph, node.inputs[0]), shape_of(graph, node.output));
}

} // namespace rtexec::tasks::kernels
