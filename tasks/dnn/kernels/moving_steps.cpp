#include "tasks/dnn/kernels/elementwise.hpp"
#include "tasks/dnn/kernels/loops.hpp"
#include "tasks/dnn/kernels/steps.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

const Shape& shape_of(const Graph& graph, TensorId id) { return graph.tensors[id].shape; }

void copy(float* y, const float* x, std::int64_t n) noexcept {
  std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(float));
}

/// Copies between two layouts: operand 0 is read, operand 1 written.
void copy_strided(const Loops<2>& loops, float* y, const float* x) noexcept {
  const auto n = loops.count();
  const auto [from, to] = loops.step();
  loops.run([&](const Loops<2>::Offsets& at) {
    if (to != 1) {
      for (std::size_t i = 0; i < n; ++i)
        y[at[1] + static_cast<std::int64_t>(i) * to] = x[at[0] + static_cast<std::int64_t>(i) * from];
    } else if (from == 1) {
      std::memcpy(y + at[1], x + at[0], n * sizeof(float));
    } else {
      gather_strided(y + at[1], x + at[0], from, n);
    }
  });
}

class ViewStep final : public Step {
 public:
  ViewStep(const View& view, const Shape& y) : offset_(view.offset), loops_(y, {view.strides, dense_strides(y)}) {}
  void run(const Operands& o) const noexcept override { copy_strided(loops_, o.output, o.inputs[0] + offset_); }

 private:
  std::int64_t offset_;
  Loops<2> loops_;
};

class PadStep final : public Step {
 public:
  PadStep(const Pad& pad, const Shape& x, const Shape& y)
      : value_(pad.value), count_(element_count(y)), loops_(x, {dense_strides(x), dense_strides(y)}) {
    const auto strides = dense_strides(y);
    for (std::size_t d = 0; d < strides.size(); ++d) offset_ += pad.before[d] * strides[d];
  }
  void run(const Operands& o) const noexcept override {
    std::fill_n(o.output, count_, value_);
    copy_strided(loops_, o.output + offset_, o.inputs[0]);
  }

 private:
  float value_;
  std::int64_t count_;
  std::int64_t offset_ = 0;
  Loops<2> loops_;
};

class ConcatStep final : public Step {
 public:
  ConcatStep(const Graph& graph, const Node& node, std::size_t axis) {
    const auto& y = shape_of(graph, node.output);
    outer_ = element_count({y.begin(), y.begin() + static_cast<std::ptrdiff_t>(axis)});
    pitch_ = element_count(y) / outer_;
    for (const auto input : node.inputs) lengths_.push_back(element_count(shape_of(graph, input)) / outer_);
  }
  void run(const Operands& o) const noexcept override {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      const auto length = lengths_[i];
      if (o.output + at != o.inputs[i]) // else it was written in place
        for (std::int64_t outer = 0; outer < outer_; ++outer)
          copy(o.output + outer * pitch_ + at, o.inputs[i] + outer * length, length);
      at += length;
    }
  }

 private:
  std::int64_t outer_ = 1, pitch_ = 1;
  std::vector<std::int64_t> lengths_; // of each input, for one outer index
};

class PoolStep final : public Step {
 public:
  PoolStep(const Pool& pool, const Shape& x, const Shape& y)
      : pool_(pool), planes_(x[0] * x[1]), in_h_(x[2]), in_w_(x[3]), out_h_(y[2]), out_w_(y[3]) {
    const auto& w = pool_.window;
    for (std::int64_t out = 0; out < out_w_; ++out)
      columns_.push_back(span_of(out * w.stride_w - w.pad_left, w.kernel_w, w.dilation_w, in_w_, w.pad_right));
    for (std::int64_t out = 0; out < out_h_; ++out)
      rows_.push_back(span_of(out * w.stride_h - w.pad_top, w.kernel_h, w.dilation_h, in_h_, w.pad_bottom));
  }
  std::size_t workspace() const override { return static_cast<std::size_t>(in_w_); }

  void run(const Operands& o) const noexcept override {
    float* y = o.output;
    for (std::int64_t plane = 0; plane < planes_; ++plane)
      for (const auto& row : rows_) {
        pool_columns(o.workspace, o.inputs[0] + plane * in_h_ * in_w_, row);
        for (const auto& column : columns_) *y++ = pool_row(o.workspace, row, column);
      }
  }

 private:
  /// The part of a window that lies inside of the input: first, first + dilation, ..., before `end`.
  struct Span {
    std::int64_t first, end, counted; // counted: positions that an average divides by
  };

  Span span_of(std::int64_t start, std::int64_t kernel, std::int64_t dilation, std::int64_t size,
               std::int64_t pad_after) const {
    const auto skipped = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
    const auto first = start + skipped * dilation, end = std::min(start + (kernel - 1) * dilation + 1, size);
    const auto inside = (end - first + dilation - 1) / dilation;
    // A window may hang over the padding (ceil_mode)
    const auto padded_end = std::min(start + (kernel - 1) * dilation + 1, size + pad_after);
    return {first, end, pool_.count_padding ? (padded_end - start + dilation - 1) / dilation : inside};
  }

  /// Vertically first, for a whole row of the input at once.
  void pool_columns(float* line, const float* x, const Span& row) const noexcept {
    const auto n = static_cast<std::size_t>(in_w_);
    copy(line, x + row.first * in_w_, in_w_);
    for (auto r = row.first + pool_.window.dilation_h; r < row.end; r += pool_.window.dilation_h) {
      if (pool_.kind == Pool::Kind::max) maximum(line, x + r * in_w_, n);
      else accumulate(line, x + r * in_w_, 1.0F, n);
    }
  }

  [[nodiscard]] float pool_row(const float* line, const Span& row, const Span& column) const noexcept {
    float value = line[column.first];
    const auto step = pool_.window.dilation_w;
    if (pool_.kind == Pool::Kind::max) {
      for (auto c = column.first + step; c < column.end; c += step) value = std::max(value, line[c]);
      return value;
    }
    for (auto c = column.first + step; c < column.end; c += step) value += line[c];
    return value / static_cast<float>(row.counted * column.counted);
  }

  Pool pool_;
  std::int64_t planes_, in_h_, in_w_, out_h_, out_w_;
  std::vector<Span> rows_, columns_; // by output row and column
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const View& view) {
  return std::make_unique<ViewStep>(view, shape_of(graph, node.output));
}
StepPointer make_step(const Graph& graph, const Node& node, const Pad& pad) {
  return std::make_unique<PadStep>(pad, shape_of(graph, node.inputs[0]), shape_of(graph, node.output));
}
StepPointer make_step(const Graph& graph, const Node& node, const Concat& concat) {
  return std::make_unique<ConcatStep>(graph, node, concat.axis);
}
StepPointer make_step(const Graph& graph, const Node& node, const Pool& pool) {
  return std::make_unique<PoolStep>(pool, shape_of(graph, node.inputs[0]), shape_of(graph, node.output));
}
} // namespace rtexec::tasks::kernels
