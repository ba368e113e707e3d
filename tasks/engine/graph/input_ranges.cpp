#include "tasks/engine/graph/input_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <span>
#include <tuple>

namespace rtexec::tasks {
namespace {

constexpr double any = 0x1p62;

/// An interval of real numbers that includes its ends.
struct Interval {
  double min = -any, max = any;
  void intersect(const Interval& other) {
    min = std::max(min, other.min);
    max = std::min(max, other.max);
  }
};

/// A tensor that is computed from the graph input x as factor * x + term.
struct Value {
  TensorId tensor = 0;
  double factor = 1, term = 0;
  bool whole = true; // true: the tensor contains every element of x
  [[nodiscard]] auto key() const { return std::tie(tensor, factor, term, whole); }
};

/// The range of indices that an operand of a node may hold, and the range from which random indices for it are drawn.
struct Indices {
  Interval valid, noise;
};

Indices indices_of(double count) { return {.valid = {-count, count - 1}, .noise = {0, count - 1}}; }

/// Returns the ranges of indices into the `count` dimensions of `shape` that begin with dimension `begin`. `valid` is
/// the range for the largest of these dimensions, `noise` the range for the smallest.
Indices indices_of(const Shape& shape, std::size_t begin, std::int64_t count) {
  const auto [least, most] =
      std::ranges::minmax(std::span(shape).subspan(begin, static_cast<std::size_t>(std::max<std::int64_t>(count, 1))));
  Indices indices = indices_of(static_cast<double>(most));
  indices.noise.max = static_cast<double>(least - 1);
  return indices;
}

/// True if the view contains every element of its input.
bool is_whole(const View& view, const Shape& from, const Shape& to) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps; // pairs of stride and dimension
  for (std::size_t d = 0; d < to.size(); ++d)
    if (to[d] > 1 && view.strides[d] != 0) steps.emplace_back(std::abs(view.strides[d]), to[d]);
  std::ranges::sort(steps);
  std::int64_t next = 1;
  for (const auto& [stride, dimension] : steps)
    if (stride == next) next *= dimension;
  return next == element_count(from);
}

/// Returns the common value of all elements of a constant. Returns nullopt if the elements differ or the tensor is not
/// a constant.
std::optional<double> same_throughout(const Tensor& tensor) {
  const auto first_of = [](const auto& values) -> std::optional<double> {
    if (values.empty() || std::ranges::any_of(values, [&](auto each) { return each != values.front(); })) return {};
    return static_cast<double>(values.front());
  };
  return tensor.integers.empty() ? first_of(tensor.values) : first_of(tensor.integers);
}

class RangeSearch {
 public:
  explicit RangeSearch(const Graph& graph) : graph_(graph), readers_(graph.tensors.size()) {
    for (std::size_t node = 0; node < graph.nodes.size(); ++node)
      for (const TensorId input : graph.nodes[node].inputs) readers_[input].push_back(node);
  }

  [[nodiscard]] std::optional<InputRange> of(TensorId input) {
    found_ = false;
    valid_ = noise_ = {};
    seen_.clear();
    std::vector<Value> open{{.tensor = input}};
    while (!open.empty()) {
      const Value value = open.back();
      open.pop_back();
      if (!seen_.insert(value.key()).second) continue;
      for (const std::size_t node : readers_[value.tensor]) follow(graph_.nodes[node], value, open);
    }
    valid_.intersect({-any, any});
    noise_.intersect(valid_);
    if (!found_ || valid_.min > valid_.max) return std::nullopt;
    if (noise_.min > noise_.max) noise_ = {valid_.max, valid_.max};
    const auto integer = [](double end) { return static_cast<std::int64_t>(end); };
    return InputRange{integer(valid_.min), integer(valid_.max), integer(noise_.min), integer(noise_.max)};
  }

 private:
  void follow(const Node& node, const Value& value, std::vector<Value>& open) {
    for (std::size_t place = 0; place < node.inputs.size(); ++place) {
      if (node.inputs[place] != value.tensor) continue;
      if (const auto indices = taken_by(node, place)) limit(value, *indices);
      if (auto next = passed_on(node, place, value)) open.push_back(*next);
    }
  }

  [[nodiscard]] const Shape& shape(const Node& node, std::size_t place) const {
    return graph_.tensors[node.inputs[place]].shape;
  }

  [[nodiscard]] std::optional<Indices> taken_by(const Node& node, std::size_t place) const {
    const auto along = [&](std::size_t axis) { return indices_of(static_cast<double>(shape(node, 0)[axis])); };
    const auto slices = [&](std::size_t batch) { return indices_of(shape(node, 0), batch, shape(node, 1).back()); };
    if (place == 1) {
      if (const auto* take = std::get_if<Gather>(&node.operation)) return along(take->axis);
      if (const auto* take = std::get_if<GatherElements>(&node.operation)) return along(take->axis);
      if (const auto* take = std::get_if<GatherND>(&node.operation)) return slices(take->batch);
      if (const auto* put = std::get_if<Scatter>(&node.operation)) return put->axis ? along(*put->axis) : slices(0);
    }
    if (const auto* layer = std::get_if<Recurrent>(&node.operation);
        layer != nullptr && layer->lengths && place + 1 == node.inputs.size()) {
      const auto steps = static_cast<double>(shape(node, 0)[0]);
      return Indices{.valid = {0, steps}, .noise = {1, steps}};
    }
    if (place == 2 && std::holds_alternative<RoiAlign>(node.operation)) {
      Indices images = along(0);
      images.valid.min = 0;
      return images;
    }
    return std::nullopt;
  }

  void limit(const Value& value, const Indices& indices) {
    const auto inverse = [&](const Interval& of) {
      const double a = (of.min - value.term) / value.factor, b = (of.max - value.term) / value.factor;
      return Interval{std::ceil(std::min(a, b)), std::floor(std::max(a, b))};
    };
    found_ = true;
    noise_.intersect(inverse(indices.noise));
    if (value.whole) valid_.intersect(inverse(indices.valid));
  }

  /// Returns the output of `node` as factor * x + term, where `value` describes operand number `place` of the node.
  /// Returns nullopt if the search does not follow the operation.
  [[nodiscard]] std::optional<Value> passed_on(const Node& node, std::size_t place, const Value& value) const {
    if (node.activation.kind != Activation::Kind::none) return std::nullopt;
    Value next = value;
    next.tensor = node.output;
    if (std::holds_alternative<Reshape>(node.operation) || std::holds_alternative<Concat>(node.operation)) return next;
    if (const auto* view = std::get_if<View>(&node.operation)) {
      next.whole = value.whole && is_whole(*view, shape(node, 0), graph_.tensors[node.output].shape);
      return next;
    }
    if (std::holds_alternative<Cast>(node.operation)) {
      if (graph_.tensors[node.output].type == ElementType::boolean) return std::nullopt;
      return next;
    }
    if (std::holds_alternative<GatherConstant>(node.operation)) {
      next.whole = false;
      return next;
    }
    if (const auto* activation = std::get_if<Activation>(&node.operation)) return through(*activation, next);
    if (const auto* binary = std::get_if<Binary>(&node.operation)) return through(*binary, node, place, next);
    return std::nullopt;
  }

  [[nodiscard]] static std::optional<Value> through(const Activation& activation, Value next) {
    using enum Activation::Kind;
    switch (activation.kind) {
    case none:
    case floor:
    case ceil:
    case round:
    case truncate: return next;
    case scale: return scaled(next, static_cast<double>(activation.a), static_cast<double>(activation.b));
    default: return std::nullopt;
    }
  }

  [[nodiscard]] std::optional<Value> through(const Binary& binary, const Node& node, std::size_t place,
                                             const Value& next) const {
    const auto known = same_throughout(graph_.tensors[node.inputs[1 - place]]);
    if (!known) return std::nullopt;
    const double constant = *known;
    using enum Binary::Kind;
    switch (binary.kind) {
    case add: return scaled(next, 1, constant);
    case subtract: return place == 0 ? scaled(next, 1, -constant) : scaled(next, -1, constant);
    case multiply: return scaled(next, constant, 0);
    default: return std::nullopt;
    }
  }

  [[nodiscard]] static std::optional<Value> scaled(Value value, double factor, double term) {
    if (factor == 0) return std::nullopt;
    value.factor *= factor;
    value.term = value.term * factor + term;
    return value;
  }

  const Graph& graph_;
  std::vector<std::vector<std::size_t>> readers_; // for each tensor, the indices of the nodes that read it
  std::set<std::tuple<TensorId, double, double, bool>> seen_;
  bool found_ = false;
  Interval valid_, noise_; // ranges of the graph input, as declared in Indices
};

} // namespace

std::vector<std::optional<InputRange>> input_ranges(const Graph& graph) {
  RangeSearch search(graph);
  std::vector<std::optional<InputRange>> ranges;
  for (const TensorId input : graph.inputs)
    ranges.push_back(is_integer(graph.tensors[input].type) ? search.of(input) : std::nullopt);
  return ranges;
}

} // namespace rtexec::tasks
