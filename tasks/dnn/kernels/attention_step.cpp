// Attention: a few rows of scores at a time.
#include "tasks/dnn/kernels/elementwise.hpp"
#include "tasks/dnn/kernels/gemm.hpp"
#include "tasks/dnn/kernels/steps.hpp"

#include <algorithm>
#include <limits>

namespace rtexec::tasks::kernels {
namespace {

constexpr std::int64_t rows_at_once = 64;

class AttentionStep final : public Step {
 public:
  AttentionStep(const Graph& graph, const Node& node, const Attention& attention) : a_(attention) {
    const auto shape = [&](std::size_t i) -> const Shape& { return graph.tensors[node.inputs[i]].shape; };
    const auto &q = shape(0), &v = shape(2);
    m_ = q[q.size() - 2];
    d_ = q.back();
    n_ = v[v.size() - 2];
    e_ = v.back();
    batch_ = element_count({q.begin(), q.end() - 2});
    if (node.inputs.size() < 4) return;
    Shape scores(q.begin(), q.end() - 1);
    scores.push_back(n_);
    mask_shape_ = scores;
    mask_strides_ = broadcast(shape(3), dense_strides(shape(3)), scores);
  }

  std::size_t workspace() const override { return static_cast<std::size_t>(std::min(m_, rows_at_once) * n_); }

  void run(const Operands& o) const noexcept override {
    for (std::int64_t b = 0; b < batch_; ++b)
      for (std::int64_t row = 0; row < m_; row += rows_at_once) attend(o, b, row, std::min(rows_at_once, m_ - row));
  }

 private:
  void attend(const Operands& o, std::int64_t b, std::int64_t first, std::int64_t rows) const noexcept {
    float* const scores = o.workspace;
    multiply(rows, n_, d_, a_.scale, {o.inputs[0] + (b * m_ + first) * d_, d_, false},
             {o.inputs[1] + b * n_ * d_, d_, true}, scores, n_);
    const auto n = static_cast<std::size_t>(n_);
    for (std::int64_t row = 0; row < rows; ++row) {
      float* const line = scores + row * n_;
      if (!mask_strides_.empty()) add_mask(line, o.inputs[3], b, first + row);
      normalise(line, n);
    }
    multiply(rows, e_, n_, 1, {scores, n_, false}, {o.inputs[2] + b * n_ * e_, e_, false},
             o.output + (b * m_ + first) * e_, e_);
  }

  void add_mask(float* line, const float* mask, std::int64_t batch, std::int64_t row) const noexcept {
    const auto rank = mask_shape_.size();
    mask += row * mask_strides_[rank - 2];
    for (std::size_t d = rank - 2; d-- > 0; batch /= mask_shape_[d]) mask += batch % mask_shape_[d] * mask_strides_[d];
    combine(Binary::Kind::add, line, line, 1, mask, static_cast<std::size_t>(mask_strides_[rank - 1]),
            static_cast<std::size_t>(n_));
  }

  void normalise(float* line, std::size_t n) const noexcept {
    const float most = *std::max_element(line, line + n);
    if (a_.may_be_nothing && most == -std::numeric_limits<float>::infinity()) {
      std::fill_n(line, n, 0.0F);
      return;
    }
    finish({Activation::Kind::exp}, line, line, -most, nullptr, n);
    scale_shift({}, line, line, static_cast<float>(1.0 / sum(line, n)), 0.0F, n);
  }

  Attention a_;
  std::int64_t m_ = 1, d_ = 1, n_ = 1, e_ = 1, batch_ = 1;
  Shape mask_shape_;
  std::vector<std::int64_t> mask_strides_; // empty: no mask
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const Attention& attention) {
  return std::make_unique<AttentionStep>(graph, node, attention);
}

} // namespace rtexec::tasks::kernels
