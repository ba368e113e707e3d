#include "tasks/engine/graph/validation.hpp"

#include "tasks/engine/graph/operand_types.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace rtexec::tasks {
namespace {

/// Returns the shape to which `a` and `b` are broadcast as in NumPy, or nullopt if they are incompatible.
std::optional<Shape> broadcast_shape(Shape a, Shape b) {
  if (a.size() < b.size()) std::swap(a, b);
  const auto missing = a.size() - b.size();
  for (std::size_t d = 0; d < b.size(); ++d) {
    auto& size = a[missing + d];
    if (size != b[d] && size != 1 && b[d] != 1) return std::nullopt;
    size = size == 1 ? b[d] : size;
  }
  return a;
}

std::int64_t count_of(std::span<const std::int64_t> dimensions) {
  return element_count({dimensions.begin(), dimensions.end()});
}

/// Returns a * b * c, or 0 if a factor is below 1 or the product exceeds max_elements.
std::int64_t bounded_product(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 1;
  for (const auto factor : {a, b, c}) {
    if (factor < 1 || factor > max_elements / product) return 0;
    product *= factor;
  }
  return product;
}

Shape outer(const Shape& matrices) { return {matrices.begin(), matrices.end() - 2}; }

/// Returns the numbers of rows and columns of a tensor's matrices, exchanged if `transposed` is set.
std::pair<std::int64_t, std::int64_t> matrix_of(const Shape& shape, bool transposed) {
  const auto rows = shape[shape.size() - 2], columns = shape.back();
  return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
}

/// The parameters of a Window in one direction, height or width.
struct Direction {
  std::int64_t kernel, stride, before, after, dilation;

  [[nodiscard]] bool valid() const {
    constexpr std::int64_t most = max_elements;
    return kernel >= 1 && kernel <= most && stride >= 1 && stride <= most && dilation >= 1 && dilation <= most &&
           before >= 0 && before <= most && after >= 0 && after <= most;
  }
  [[nodiscard]] std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  /// True if a window that begins at `start` covers at least one element of an input of `size` elements.
  [[nodiscard]] bool sees(std::int64_t start, std::int64_t size) const {
    const auto skipped = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
    return skipped < kernel && start + skipped * dilation < size;
  }
};

Direction downwards(const Window& w) { return {w.kernel_h, w.stride_h, w.pad_top, w.pad_bottom, w.dilation_h}; }
Direction across(const Window& w) { return {w.kernel_w, w.stride_w, w.pad_left, w.pad_right, w.dilation_w}; }

class Checker {
 public:
  Checker(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  void check() const {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
      need(i, node_.inputs[i] < graph_.tensors.size(), "be a tensor of the graph");
    std::visit([&](const auto& operation) { fits(operation); }, node_.operation);
    if (node_.residual && graph_.tensors[*node_.residual].shape != y())
      throw Misfit{"the residual must have the output's shape " + to_string(y())};
  }

 private:
  [[nodiscard]] const Shape& shape(std::size_t input) const { return graph_.tensors[node_.inputs[input]].shape; }
  [[nodiscard]] const Shape& y() const { return graph_.tensors[node_.output].shape; }
  [[nodiscard]] std::int64_t count(std::size_t input) const { return element_count(shape(input)); }
  [[nodiscard]] std::size_t inputs() const { return node_.inputs.size(); }

  [[nodiscard]] std::string described(TensorId id) const {
    const auto& tensor = graph_.tensors[id];
    return "'" + tensor.name + "' (" + to_string(tensor.shape) + ")";
  }
  void need(std::size_t input, bool condition, const std::string& what) const {
    if (!condition)
      throw Misfit{"operand " + std::to_string(input) +
                   (node_.inputs[input] < graph_.tensors.size() ? ", " + described(node_.inputs[input]) + "," : "") +
                   " must " + what};
  }
  void need_output(bool condition, const std::string& what) const {
    if (!condition) throw Misfit{"its output of " + to_string(y()) + " must " + what};
  }
  void need_inputs(std::size_t least, std::size_t most) const {
    if (inputs() < least || inputs() > most)
      throw Misfit{"it has " + std::to_string(inputs()) + " operands and needs " + std::to_string(least) + " to " +
                   std::to_string(most)};
  }
  void need_rank(std::size_t input, std::size_t rank) const {
    need(input, shape(input).size() == rank, "have " + std::to_string(rank) + " dimensions");
  }
  void need_shape(std::size_t input, const Shape& expected) const {
    need(input, shape(input) == expected, "have the shape " + to_string(expected));
  }
  void need_count(std::size_t input, std::int64_t expected) const {
    need(input, count(input) == expected, "have " + std::to_string(expected) + " elements");
  }
  void need_output_shape(const Shape& expected) const {
    need_output(y() == expected, "have the shape " + to_string(expected));
  }
  void need_output_count(std::int64_t expected) const {
    need_output(element_count(y()) == expected, "have " + std::to_string(expected) + " elements");
  }
  void need_broadcast(std::size_t input, const Shape& to) const {
    need(input, broadcast_shape(shape(input), to) == to, "be broadcast to " + to_string(to));
  }

  /// Requires that all operands but the first are constants.
  void need_constants() const {
    for (std::size_t i = 1; i < inputs(); ++i) need(i, graph_.tensors[node_.inputs[i]].constant(), "be a constant");
  }

  void element_wise() const {
    need_inputs(1, 1);
    need_output_shape(shape(0));
  }
  /// Requires exactly one operand, whose shape can be viewed as [outer, count, inner].
  void need_middle(std::int64_t outer, std::int64_t count, std::int64_t inner) const {
    need_inputs(1, 1);
    need(0, bounded_product(outer, count, inner) == this->count(0),
         "have the elements of " + to_string({outer, count, inner}));
  }
  void broadcasts(std::size_t operands) const {
    need_inputs(operands, operands);
    Shape all;
    for (std::size_t i = 0; i < operands; ++i) {
      auto wider = broadcast_shape(all, shape(i));
      need(i, wider.has_value(), "be broadcast to " + to_string(all));
      all = std::move(*wider);
    }
    need_output_shape(all);
  }

  void fits(const Activation&) const { element_wise(); }
  void fits(const Cast&) const { element_wise(); }
  void fits(const Quantise&) const { element_wise(); }
  void fits(const Dequantise&) const { element_wise(); }
  void fits(const Binary&) const { broadcasts(2); }
  void fits(const Where&) const { broadcasts(3); }
  void fits(const MultiplyAdd&) const { broadcasts(3); }

  void fits(const Conv& conv) const {
    need_inputs(2, 3);
    need_rank(0, 4);
    need_rank(1, 4);
    const auto &x = shape(0), &w = shape(1);
    const auto down = downwards(conv.window), right = across(conv.window);
    need(1, down.valid() && right.valid() && down.kernel == w[2] && right.kernel == w[3], "be as large as the window");
    need(1, conv.groups >= 1 && w[0] % conv.groups == 0, "divide evenly among the groups");
    need(0, x[1] % conv.groups == 0 && x[1] / conv.groups == w[1], "have the channels of the weights");
    if (inputs() > 2) need_count(2, w[0]);
    need_constants();
    const auto outputs = [](const Direction& d, std::int64_t size) {
      const auto room = size + d.before + d.after - d.reach();
      return room < 0 ? 0 : room / d.stride + 1;
    };
    need_output_shape({x[0], w[0], outputs(down, x[2]), outputs(right, x[3])});
  }

  void fits(const IntegerConv& conv) const {
    need_inputs(2, 2);
    fits(conv.conv);
  }

  void fits(const Pool& pool) const {
    need_inputs(1, 1);
    need_rank(0, 4);
    const auto& x = shape(0);
    need_output(y().size() == 4 && y()[0] == x[0] && y()[1] == x[1], "have the planes of its input");
    need_windows(downwards(pool.window), x[2], y()[2]);
    need_windows(across(pool.window), x[3], y()[3]);
  }
  /// Requires that every window covers an element of the input. A maximum or mean of no elements has no value.
  void need_windows(const Direction& d, std::int64_t size, std::int64_t windows) const {
    need_output(d.valid() && d.sees((windows - 1) * d.stride - d.before, size), "have windows over its input only");
    const auto in_padding = std::min(windows, d.before / d.stride + 1);
    for (std::int64_t i = 0; i < in_padding; ++i)
      need_output(d.sees(i * d.stride - d.before, size), "have no window that covers padding only");
  }

  void fits(const Gemm& gemm) const {
    need_inputs(2, 3);
    need(0, gemm.transpose_a ? shape(0).size() == 2 : shape(0).size() >= 2, "be a matrix");
    need_rank(1, 2);
    const auto& a = shape(0);
    const auto k = gemm.transpose_a ? a.front() : a.back(), m = count(0) / k;
    const auto [depth, n] = matrix_of(shape(1), gemm.transpose_b);
    need(1, depth == k, "have " + std::to_string(k) + " rows, after transposition");
    need_output(!y().empty() && y().back() == n && element_count(y()) / n == m,
                "be the product " + to_string({m, n}) + " of its matrices");
    if (inputs() > 2) need_broadcast(2, {m, n});
  }

  void fits(const MatMul& product) const {
    need_inputs(2, 2);
    need(0, shape(0).size() >= 2, "be a matrix");
    need(1, shape(1).size() >= 2, "be a matrix");
    const auto [m, k] = matrix_of(shape(0), product.transpose_a);
    const auto [depth, n] = matrix_of(shape(1), product.transpose_b);
    need(1, depth == k, "have " + std::to_string(k) + " rows, after transposition");
    auto batches = broadcast_shape(outer(shape(0)), outer(shape(1)));
    need(1, batches.has_value(), "have as many matrices as operand 0");
    batches->insert(batches->end(), {m, n});
    need_output_shape(*batches);
  }

  void fits(const IntegerMatMul&) const { fits(MatMul{}); }

  void fits(const Attention&) const {
    need_inputs(3, 4);
    const auto& q = shape(0);
    for (std::size_t i = 0; i < 3; ++i)
      need(i, shape(i).size() >= 2 && outer(shape(i)) == outer(q), "have as many heads as operand 0");
    const auto keys = shape(1)[shape(1).size() - 2];
    need(1, shape(1).back() == q.back(), "have keys of " + std::to_string(q.back()) + " elements");
    need(2, shape(2)[shape(2).size() - 2] == keys, "have " + std::to_string(keys) + " values");
    auto scores = q, out = q;
    scores.back() = keys;
    out.back() = shape(2).back();
    if (inputs() > 3) need_broadcast(3, scores);
    need_output_shape(out);
  }

  void fits(const ScaleShift&) const {
    need_inputs(3, 3);
    need(0, shape(0).size() >= 2, "have at least 2 dimensions");
    need_count(1, shape(0)[1]);
    need_count(2, shape(0)[1]);
    need_constants();
    need_output_shape(shape(0));
  }

  void fits(const Softmax& s) const {
    need_middle(s.outer, s.count, s.inner);
    need_output_count(count(0));
  }
  void fits(const Reduce& r) const {
    need_middle(r.outer, r.count, r.inner);
    need_output_count(r.outer * r.inner);
  }
  void fits(const CumSum& r) const {
    need_middle(r.outer, r.count, r.inner);
    need_output_count(count(0));
  }
  void fits(const TopK& t) const {
    need_middle(t.outer, t.count, t.inner);
    need(0, t.kept >= 1 && t.kept <= t.count, "have the " + std::to_string(t.kept) + " elements that are kept");
    need_output_count(t.outer * t.kept * t.inner);
  }

  void fits(const LayerNorm& n) const {
    need_inputs(1, 3);
    need(0, bounded_product(n.outer, n.count, 1) == count(0), "have the elements of " + to_string({n.outer, n.count}));
    for (std::size_t i = 1; i < inputs(); ++i) need_broadcast(i, shape(0));
    need_output_shape(shape(0));
  }
  void fits(const Lrn& lrn) const {
    element_wise();
    need(0, shape(0).size() >= 2 && lrn.size >= 1 && lrn.size <= max_elements, "have channels");
  }

  void fits(const Concat& concat) const {
    need_inputs(1, inputs());
    Shape all = shape(0);
    need(0, concat.axis < all.size(), "have axis " + std::to_string(concat.axis));
    all[concat.axis] = 0;
    for (std::size_t i = 0; i < inputs(); ++i) {
      auto other = shape(i);
      const auto length = other.size() == all.size() ? std::exchange(other[concat.axis], all[concat.axis]) : 0;
      need(i, other == all, "differ from the others along axis " + std::to_string(concat.axis) + " only");
      all[concat.axis] += length;
    }
    need_output_shape(all);
  }

  void fits(const Reshape&) const {
    need_inputs(1, 1);
    need_output_count(count(0));
  }

  /// Checks that a view reads inside its operand. Computes in double: an index beyond 2^53, the limit of exact
  /// integers, is out of range anyway.
  void fits(const View& view) const {
    need_inputs(1, 1);
    need_output(view.strides.size() == y().size(), "have " + std::to_string(view.strides.size()) + " dimensions");
    auto low = static_cast<double>(view.offset), high = low;
    for (std::size_t d = 0; d < y().size(); ++d) {
      const double reach = static_cast<double>(view.strides[d]) * static_cast<double>(y()[d] - 1);
      (reach < 0 ? low : high) += reach;
    }
    need(0, low >= 0 && high < static_cast<double>(count(0)), "hold all elements that its output views");
  }

  void fits(const GatherConstant& gather) const {
    need_inputs(1, 1);
    auto out = shape(0);
    need(0, gather.axis < out.size(), "have axis " + std::to_string(gather.axis));
    const auto size = std::exchange(out[gather.axis], std::ssize(gather.indices));
    need(0, std::ranges::all_of(gather.indices, [&](auto index) { return index >= 0 && index < size; }),
         "have all elements that its indices name");
    need_output_shape(out);
  }
  void fits(const Gather& take) const {
    need_inputs(2, 2);
    need(0, take.axis < shape(0).size(), "have axis " + std::to_string(take.axis));
    need_output_count(bounded_product(count(0) / shape(0)[take.axis], count(1), 1));
  }
  /// Requires that operand 1 holds indices along dimension `axis` of operand 0, and that no other dimension of operand
  /// 1 is larger than that of operand 0.
  void need_indices_along(std::size_t axis) const {
    need(0, axis < shape(0).size(), "have axis " + std::to_string(axis));
    need_rank(1, shape(0).size());
    for (std::size_t d = 0; d < shape(0).size(); ++d)
      need(1, d == axis || shape(1)[d] <= shape(0)[d], "be no larger than operand 0 outside of its axis");
  }
  void fits(const GatherElements& take) const {
    need_inputs(2, 2);
    need_indices_along(take.axis);
    need_output_shape(shape(1));
  }
  /// Returns the number of elements of the slice of operand 0 that one index selects. The last dimension of operand 1
  /// holds the indices. Both operands must have the same first `batch` dimensions.
  [[nodiscard]] std::int64_t slice_of(std::size_t batch) const {
    const auto &x = shape(0), &indices = shape(1);
    need(1, batch < indices.size(), "have more than its " + std::to_string(batch) + " batch dimensions");
    const auto depth = static_cast<std::size_t>(indices.back());
    need(1, batch < x.size() && depth <= x.size() - batch, "name dimensions of operand 0");
    for (std::size_t d = 0; d < batch; ++d) need(1, indices[d] == x[d], "have the batches of operand 0");
    return count_of(std::span(x).subspan(batch + depth));
  }
  void fits(const GatherND& take) const {
    need_inputs(2, 2);
    const auto slice = slice_of(take.batch);
    need_output_count(bounded_product(count(1) / shape(1).back(), slice, 1));
  }
  void fits(const Scatter& put) const {
    need_inputs(3, 3);
    if (put.axis) {
      need_indices_along(*put.axis);
      need_shape(2, shape(1));
    } else {
      const auto slice = slice_of(0);
      need_count(2, bounded_product(count(1) / shape(1).back(), slice, 1));
    }
    need_output_shape(shape(0));
  }

  void fits(const Pad& pad) const {
    need_inputs(1, 1);
    const auto& x = shape(0);
    need(0, pad.before.size() == x.size() && y().size() == x.size(), "have a padding for each dimension");
    for (std::size_t d = 0; d < x.size(); ++d)
      need_output(pad.before[d] >= 0 && pad.before[d] <= y()[d] - x[d], "hold its input and the padding");
  }

  void fits(const Resize& resize) const {
    need_inputs(1, 1);
    need_rank(0, 4);
    const auto& x = shape(0);
    need_output_shape({x[0], x[1], std::ssize(resize.rows), std::ssize(resize.columns)});
    const auto inside = [](std::int64_t size) {
      return
          [size](const Resize::Tap& tap) { return tap.low >= 0 && tap.low < size && tap.high >= 0 && tap.high < size; };
    };
    need(0, std::ranges::all_of(resize.rows, inside(x[2])) && std::ranges::all_of(resize.columns, inside(x[3])),
         "have all rows and columns that are blended");
  }
  void fits(const Resample& r) const {
    need_middle(r.outer, r.count, r.inner);
    need(0,
         r.taps >= 1 && std::ssize(r.indices) % r.taps == 0 && r.indices.size() == r.weights.size() &&
             std::ranges::all_of(r.indices, [&](auto index) { return index >= 0 && index < r.count; }),
         "have all elements that are blended");
    need_output_count(bounded_product(r.outer, std::ssize(r.indices) / r.taps, r.inner));
  }
  void fits(const GridSample&) const {
    need_inputs(2, 2);
    const auto &x = shape(0), &grid = shape(1);
    need(0, x.size() == 4 || x.size() == 5, "have 4 or 5 dimensions");
    need_rank(1, x.size());
    need(1, grid[0] == x[0] && grid.back() == std::ssize(x) - 2, "have a position for each output of operand 0");
    Shape out{x[0], x[1]};
    out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
    need_output_shape(out);
  }
  void fits(const DeformableAttention&) const {
    need_inputs(3, 1 + 2 * DeformableAttention::max_images);
    const auto images = static_cast<std::int64_t>(inputs() / 2);
    need_output(inputs() % 2 == 1 && y().size() == 3, "be [batch, queries, channels] of images with a grid each");
    const auto &out = y(), &grid = shape(2);
    need_rank(2, 4);
    for (std::size_t i = 1; i < inputs(); i += 2) {
      need_rank(i, 4);
      need(i, shape(i)[0] == out[0] && shape(i)[1] == out[2], "have the batch and channels of its output");
      need_shape(i + 1, {out[0], out[1], grid[2], 2});
    }
    need_count(0, bounded_product(out[0] * out[1], images, grid[2]));
  }
  void fits(const RoiAlign& align) const {
    need_inputs(3, 3);
    need_rank(0, 4);
    need(1, shape(1).size() == 2 && shape(1)[1] == 4, "have 4 coordinates for each region");
    const auto regions = shape(1)[0];
    need_shape(2, {regions});
    need_output(y().size() == 4 && y()[0] == regions && y()[1] == shape(0)[1], "have the channels of each region");
    need(0, align.samples >= 0 && align.samples <= RoiAlign::max_samples,
         "be sampled at most " + std::to_string(RoiAlign::max_samples) + " times in each direction");
  }
  void fits(const NonMaxSuppression& suppression) const {
    need_inputs(2, 2);
    need_rank(1, 3);
    const auto& scores = shape(1);
    need_shape(0, {scores[0], scores[2], 4});
    need(1, suppression.most >= 1 && suppression.most <= scores[2], "have the boxes that are kept");
    need_output_shape({bounded_product(scores[0], scores[1], suppression.most), 3});
  }

  void fits(const Recurrent& recurrent) const {
    const bool lstm = recurrent.kind == Recurrent::Kind::lstm;
    const std::size_t optional = (recurrent.peepholes ? 1U : 0U) + (recurrent.late_reset ? 1U : 0U) +
                                 (recurrent.lengths ? 1U : 0U),
                      operands = (lstm ? 4U : 3U) + optional;
    need_inputs(operands, operands);
    need_rank(0, 3);
    need_rank(2, 2);
    const auto steps = shape(0)[0], batch = shape(0)[1], hidden = shape(2)[1];
    const std::int64_t gates = lstm ? 4 : recurrent.kind == Recurrent::Kind::gru ? 3 : 1;
    need_shape(0, {steps, batch, gates * hidden});
    need_shape(1, {gates * hidden, hidden});
    need_shape(2, {batch, hidden});
    std::size_t next = 3;
    if (lstm) need_shape(next++, {batch, hidden});
    if (recurrent.peepholes) need_count(next++, 3 * hidden);
    if (recurrent.late_reset) need_count(next++, hidden);
    if (recurrent.lengths) need_count(next++, batch);
    need_output_shape({lstm ? steps + 1 : steps, batch, hidden});
  }

  const Graph& graph_;
  const Node& node_;
};

} // namespace

std::optional<Misfit> find_misfit(const Graph& graph, const Node& node) {
  try {
    Checker(graph, node).check();
    check_operand_types(graph, node);
  } catch (const Misfit& misfit) { return misfit; }
  return std::nullopt;
}

} // namespace rtexec::tasks
