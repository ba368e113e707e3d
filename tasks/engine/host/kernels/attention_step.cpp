// Attention, computed for a few queries at a time. The scores of one query form a column, and the columns of all these
// queries are normalised together. The second product (softmax times values) reads the scores in this layout.
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/steps.hpp"
#include "tasks/engine/host/kernels/tiles.hpp"
#include "tasks/engine/host/kernels/transpose.hpp"

#include <algorithm>
#include <limits>

namespace rtexec::tasks::kernels {
namespace {

/// A matrix in strips of rows, the layout in which tiles read their first operand. The rows of a strip are interleaved.
struct RowStrips {
  std::int64_t rows, depth;
  std::int64_t width = balanced_block(rows, tile_shape().rows);

  [[nodiscard]] std::int64_t floats() const { return rounded_up(rows, width) * depth; }
  void pack(float* to, const float* from) const noexcept {
    for (std::int64_t row = 0; row < rows; row += width)
      pack_strip(to + row * depth, width, from + row * depth, std::min(width, rows - row), depth, depth, 1);
  }
};

/// A matrix in strips of columns, the layout in which tiles read their second operand.
struct ColumnStrips {
  std::int64_t depth, columns;
  std::int64_t width = tile_shape().columns;

  [[nodiscard]] std::int64_t floats() const { return rounded_up(columns, width) * depth; }
  void pack(float* to, const float* from) const noexcept {
    for (std::int64_t column = 0; column < columns; column += width)
      pack_strip(to + column * depth, width, from + column, std::min(width, columns - column), 1, depth, columns);
  }
};

class AttentionStep final : public Step {
 public:
  AttentionStep(const Graph& graph, const Node& node, const Attention& attention)
      : AttentionStep(attention, shape_of(graph, node, 0), shape_of(graph, node, 2)) {
    if (node.inputs.size() < 4) return;
    const auto &q = shape_of(graph, node, 0), &mask = shape_of(graph, node, 3);
    mask_shape_ = {q.begin(), q.end() - 1};
    mask_shape_.push_back(n_);
    mask_strides_ = broadcast(mask, dense_strides(mask), mask_shape_);
  }

  std::size_t workspace() const override {
    const auto scores = (mask_strides_.empty() ? 1 : 2) * n_ * width_;
    return static_cast<std::size_t>(scores + d_ * tile_shape().columns + 2 * width_ + keys_.floats() +
                                    values_.floats());
  }

  void run(const Operands& o) const noexcept override {
    Work work;
    work.scores = o.workspace;
    work.queries = work.scores + n_ * width_;
    work.most = work.queries + d_ * tile_shape().columns;
    work.total = work.most + width_;
    work.keys = work.total + width_;
    work.values = work.keys + keys_.floats();
    work.mask = work.values + values_.floats();
    for (std::int64_t b = 0; b < batch_; ++b) {
      keys_.pack(work.keys, o.input(1) + b * n_ * d_);
      values_.pack(work.values, o.input(2) + b * n_ * e_);
      for (std::int64_t first = 0; first < m_; first += block_) attend(o, work, b, first, std::min(block_, m_ - first));
    }
  }

 private:
  struct Work {
    float* scores;  // [key][query]
    float* queries; // the queries, as one strip
    float* most;    // the largest score of each query
    float* total;   // the sum of each query's exponentials, then its reciprocal
    float *keys, *values;
    float* mask; // the mask, in the layout of `scores`
  };

  AttentionStep(const Attention& attention, const Shape& q, const Shape& v)
      : a_(attention),
        m_(q[q.size() - 2]),
        d_(q.back()),
        n_(v[v.size() - 2]),
        e_(v.back()),
        batch_(element_count({q.begin(), q.end() - 2})),
        block_(balanced_block(m_, tile_shape().columns)),
        width_(rounded_up(block_, tile_shape().step)),
        keys_{n_, d_},
        values_{n_, e_} {}

  static const Shape& shape_of(const Graph& graph, const Node& node, std::size_t input) {
    return graph.tensors[node.inputs[input]].shape;
  }

  void attend(const Operands& o, const Work& work, std::int64_t b, std::int64_t first,
              std::int64_t queries) const noexcept {
    pack_strip(work.queries, tile_shape().columns, o.input(0) + (b * m_ + first) * d_, queries, d_, d_, 1);
    for (std::int64_t key = 0; key < n_; key += keys_.width)
      multiply_tile({d_, work.keys + key * d_, keys_.width, work.queries, a_.scale}, std::min(keys_.width, n_ - key),
                    width_, work.scores + key * width_, width_);
    if (!mask_strides_.empty()) add_mask(work, o.input(3), b, first, queries);
    normalise(work);
    float* const y = o.output() + (b * m_ + first) * e_;
    const auto rows = balanced_block(queries, tile_shape().rows);
    for (std::int64_t row = 0; row < queries; row += rows)
      for (std::int64_t column = 0; column < e_; column += values_.width)
        multiply_tile({n_, work.scores + row, width_, work.values + column * n_}, std::min(rows, queries - row),
                      std::min(values_.width, e_ - column), y + row * e_ + column, e_);
    for (std::int64_t row = 0; row < queries; ++row)
      scale_shift({}, y + row * e_, y + row * e_, work.total[row], 0.0F, static_cast<std::size_t>(e_));
  }

  void add_mask(const Work& work, const float* mask, std::int64_t batch, std::int64_t first,
                std::int64_t queries) const noexcept {
    const auto rank = mask_shape_.size();
    const auto of_query = mask_strides_[rank - 2], of_key = mask_strides_[rank - 1];
    mask += first * of_query;
    for (std::size_t d = rank - 2; d-- > 0; batch /= mask_shape_[d]) mask += batch % mask_shape_[d] * mask_strides_[d];
    if (of_key == 1) transpose(work.mask, width_, mask, of_query, queries, n_);
    else
      for (std::int64_t i = 0; i < n_ * queries; ++i)
        work.mask[i / queries * width_ + i % queries] = mask[i % queries * of_query];
    for (std::int64_t key = 0; key < n_; ++key)
      accumulate(work.scores + key * width_, work.mask + key * width_, 1.0F, static_cast<std::size_t>(queries));
  }

  /// Replaces scores by their exponentials, and computes the factor that normalises the result of each query.
  void normalise(const Work& work) const noexcept {
    const auto n = static_cast<std::size_t>(n_), width = static_cast<std::size_t>(width_);
    maxima(work.most, work.scores, width, n);
    if (a_.may_be_nothing) std::replace(work.most, work.most + width_, -std::numeric_limits<float>::infinity(), 0.0F);
    exponentials(work.scores, work.most, work.total, width, n);
    for (std::int64_t i = 0; i < width_; ++i)
      work.total[i] = a_.may_be_nothing && work.total[i] == 0.0F ? 0.0F : 1.0F / work.total[i];
  }

  Attention a_;
  std::int64_t m_, d_, n_, e_, batch_;
  std::int64_t block_, width_; // number of queries that are computed together; distance between the scores of two keys
  RowStrips keys_;
  ColumnStrips values_;
  Shape mask_shape_;
  std::vector<std::int64_t> mask_strides_; // empty: no mask
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const Attention& attention) {
  return std::make_unique<AttentionStep>(graph, node, attention);
}

} // namespace rtexec::tasks::kernels
