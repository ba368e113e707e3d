// Steps that blend elements at positions between them.
#include "tasks/dnn/kernels/elementwise.hpp"
#include "tasks/dnn/kernels/steps.hpp"

#include <algorithm>
#include <cmath>

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
  std::size_t workspace() const override { return static_cast<std::size_t>(in_w_); }

  void run(const Operands& o) const noexcept override {
    float* y = o.output;
    for (std::int64_t plane = 0; plane < planes_; ++plane)
      for (const auto& row : rows_) {
        const float* x = o.inputs[0] + plane * in_h_ * in_w_;
        const float* line = blend_rows(o.workspace, x + row.low * in_w_, x + row.high * in_w_, row.weight);
        blend(y, line, low_.data(), high_.data(), weight_.data(), low_.size());
        y += low_.size();
      }
  }

 private:
  const float* blend_rows(float* line, const float* low, const float* high, float weight) const noexcept {
    if (weight == 0) return low;
    const auto n = static_cast<std::size_t>(in_w_);
    scale_shift({}, line, low, 1.0F - weight, 0.0F, n);
    accumulate(line, high, weight, n);
    return line;
  }

  std::vector<Resize::Tap> rows_;
  std::vector<std::int32_t> low_, high_; // by output column
  std::vector<float> weight_;
  std::int64_t planes_, in_h_, in_w_;
};

class ResampleStep final : public Step {
 public:
  explicit ResampleStep(const Resample& resample) : r_(resample) {}

  void run(const Operands& o) const noexcept override {
    const auto inner = static_cast<std::size_t>(r_.inner);
    float* y = o.output;
    for (std::int64_t outer = 0; outer < r_.outer; ++outer) {
      const float* x = o.inputs[0] + outer * r_.count * r_.inner;
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

class GridSampleStep final : public Step {
 public:
  GridSampleStep(const GridSample& sample, const Shape& x, const Shape& y)
      : s_(sample), batch_(x[0]), channels_(x[1]), h_(x[2]), w_(x[3]), points_(y[2] * y[3]) {}

  void run(const Operands& o) const noexcept override {
    for (std::int64_t n = 0; n < batch_; ++n)
      for (std::int64_t point = 0; point < points_; ++point) {
        const float* at = o.inputs[1] + (n * points_ + point) * 2;
        const float across = unscaled(at[0], w_), down = unscaled(at[1], h_);
        for (std::int64_t c = 0; c < channels_; ++c)
          o.output[(n * channels_ + c) * points_ + point] =
              sampled(o.inputs[0] + (n * channels_ + c) * h_ * w_, down, across);
      }
  }

 private:
  using Mode = GridSample::Mode;
  using Padding = GridSample::Padding;

  [[nodiscard]] float unscaled(float x, std::int64_t size) const noexcept {
    const auto n = static_cast<float>(size);
    return s_.align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  }

  /// A position as padding moves it into the input, for modes that move it.
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

  [[nodiscard]] float pixel(const float* x, std::int64_t row, std::int64_t column) const noexcept {
    return row < 0 || row >= h_ || column < 0 || column >= w_ ? 0.0F : x[row * w_ + column];
  }
  /// Of a neighbour of a position that was not moved.
  [[nodiscard]] float neighbour(const float* x, float row, float column) const noexcept {
    return pixel(x, whole(moved(row, h_)), whole(moved(column, w_)));
  }
  /// Far outside is outside.
  static std::int64_t whole(float x) noexcept {
    return x > -1e9F && x < 1e9F ? static_cast<std::int64_t>(x) : -1'000'000'000;
  }

  [[nodiscard]] float sampled(const float* x, float down, float across) const noexcept {
    if (s_.mode == Mode::cubic) return cubic(x, down, across);
    down = moved(down, h_);
    across = moved(across, w_);
    if (s_.mode == Mode::nearest) return pixel(x, whole(std::nearbyint(down)), whole(std::nearbyint(across)));
    const float top = std::floor(down), left = std::floor(across);
    const float below = down - top, right = across - left;
    const auto row = whole(top), column = whole(left);
    return (1 - below) * ((1 - right) * pixel(x, row, column) + right * pixel(x, row, column + 1)) +
           below * ((1 - right) * pixel(x, row + 1, column) + right * pixel(x, row + 1, column + 1));
  }

  /// Keys' kernel with a = -0.75.
  static std::array<float, 4> weights(float t) noexcept {
    constexpr float a = -0.75F;
    const auto far = [](float d) { return ((d - 5) * d + 8) * d * a - 4 * a; };
    const auto near = [](float d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    return {far(t + 1), near(t), near(1 - t), far(2 - t)};
  }

  [[nodiscard]] float cubic(const float* x, float down, float across) const noexcept {
    const float top = std::floor(down), left = std::floor(across);
    const auto rows = weights(down - top), columns = weights(across - left);
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
      float line = 0;
      for (int j = 0; j < 4; ++j)
        line += columns[static_cast<std::size_t>(j)] *
                neighbour(x, top + static_cast<float>(i - 1), left + static_cast<float>(j - 1));
      sum += rows[static_cast<std::size_t>(i)] * line;
    }
    return sum;
  }

  GridSample s_;
  std::int64_t batch_, channels_, h_, w_, points_;
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

} // namespace rtexec::tasks::kernels
