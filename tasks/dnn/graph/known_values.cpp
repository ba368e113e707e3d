// Whole numbers of which bounds are known before anything is computed: indices lie within what they point into, truths
// are 0 or 1. Exporters guard divisions of indices against signs that those never have.
#include "tasks/dnn/graph/passes.hpp"

#include "tasks/dnn/graph/patterns.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace rtexec::tasks {
namespace {

/// As floats, which are rounded as what is computed: what lies between two numbers still does then.
struct Bounds {
  float low = 0, high = 0;
  [[nodiscard]] bool is_number() const { return low == high; }
};
using Known = std::optional<Bounds>;

constexpr Bounds truth{0, 1};

Known both(const Known& a, const Known& b) {
  if (!a || !b) return std::nullopt;
  return Bounds{std::min(a->low, b->low), std::max(a->high, b->high)};
}

/// Of operations that only rise or only fall with each operand.
std::optional<float> computed(Pair kind, float a, float b) {
  switch (kind) {
  case Pair::add: return a + b;
  case Pair::subtract: return a - b;
  case Pair::multiply: return a * b;
  case Pair::divide_whole: return std::trunc(a / b);
  case Pair::minimum: return std::min(a, b);
  case Pair::maximum: return std::max(a, b);
  case Pair::less: return a < b ? 1.0F : 0.0F;
  case Pair::less_or_equal: return a <= b ? 1.0F : 0.0F;
  default: return std::nullopt;
  }
}

Known at_corners(Pair kind, const Bounds& a, const Bounds& b) {
  if (kind == Pair::divide_whole && b.low <= 0 && b.high >= 0) return std::nullopt;
  Known result;
  for (const float x : {a.low, a.high})
    for (const float y : {b.low, b.high}) {
      const auto value = computed(kind, x, y);
      if (!value || !std::isfinite(*value)) return std::nullopt;
      result = both(result.value_or(Bounds{*value, *value}), Bounds{*value, *value});
    }
  return result;
}

Bounds equality(const Bounds& a, const Bounds& b) {
  if (a.high < b.low || b.high < a.low) return {0, 0};
  return a.is_number() && b.is_number() ? Bounds{1, 1} : truth;
}

bool compares(Pair kind) { return kind >= Pair::equal; }

Known bounds_of(Pair kind, const Known& a, const Known& b) {
  if (!a || !b) return compares(kind) ? Known(truth) : std::nullopt;
  const auto equal = equality(*a, *b);
  if (kind == Pair::equal) return equal;
  if (kind == Pair::not_equal) return Bounds{1 - equal.high, 1 - equal.low};
  if (kind != Pair::modulo) return at_corners(kind, *a, *b);
  if (b->low <= 0) return std::nullopt;
  return a->low >= 0 && a->high < b->low ? *a : Bounds{0, b->high};
}

Known bounds_of(const Activation& activation, const Known& x) {
  const bool inverse = activation.kind == Function::is_zero;
  if (!inverse && activation.kind != Function::is_not_zero) return std::nullopt;
  return x ? bounds_of(inverse ? Pair::equal : Pair::not_equal, x, Bounds{0, 0}) : truth;
}

class KnownValues {
 public:
  explicit KnownValues(Graph& graph) : graph_(graph), known_(graph.tensors.size()) {}

  void run() {
    for (auto& node : graph_.nodes) {
      choose(node);
      auto& output = graph_.tensors[node.output];
      if (!is_counted(output) && output.type != ElementType::boolean) continue;
      const auto bounds = bounds_of(node);
      known_[node.output] = bounds;
      if (bounds && bounds->is_number())
        output.values.assign(static_cast<std::size_t>(element_count(output.shape)), bounds->low);
    }
    std::erase_if(graph_.nodes, [&](const Node& node) { return graph_.tensors[node.output].constant(); });
    remove_unused(graph_);
  }

 private:
  /// Of a Select whose condition is known.
  void choose(Node& node) {
    if (!std::holds_alternative<Select>(node.operation)) return;
    const auto condition = known(node.inputs[0]);
    if (!condition || !condition->is_number()) return;
    const auto chosen = node.inputs[condition->low != 0 ? 1 : 2];
    const auto& from = graph_.tensors[chosen].shape;
    node.operation = View{0, broadcast(from, dense_strides(from), graph_.tensors[node.output].shape)};
    node.inputs = {chosen};
  }

  Known known(TensorId id) const {
    const auto& values = graph_.tensors[id].values;
    if (values.empty()) return known_[id];
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return std::nullopt;
    const auto [low, high] = std::ranges::minmax(values);
    return Bounds{low, high};
  }

  Known bounds_of(const Node& node) const {
    if (node.activation.kind != Function::none || node.residual) return std::nullopt;
    const auto input = [&](std::size_t i) { return known(node.inputs[i]); };
    const auto indices = [](std::int64_t count) { return Bounds{0, static_cast<float>(count - 1)}; };
    if (const auto* top = std::get_if<TopIndices>(&node.operation)) return indices(top->count);
    if (const auto* reduce = std::get_if<Reduce>(&node.operation))
      return reduce->kind >= Reduce::Kind::first_minimum ? Known(indices(reduce->count)) : std::nullopt;
    if (const auto* pair = std::get_if<Binary>(&node.operation))
      return tasks::bounds_of(pair->kind, input(0), input(1));
    if (const auto* activation = std::get_if<Activation>(&node.operation))
      return tasks::bounds_of(*activation, input(0));
    if (std::holds_alternative<Select>(node.operation)) return both(input(1), input(2));
    return moves(node.operation) ? input(0) : std::nullopt;
  }

  static bool moves(const Operation& operation) {
    return std::holds_alternative<Reshape>(operation) || std::holds_alternative<View>(operation) ||
           std::holds_alternative<Gather>(operation) || std::holds_alternative<Take>(operation) ||
           std::holds_alternative<TakeElements>(operation) || std::holds_alternative<TakeSlices>(operation);
  }

  Graph& graph_;
  std::vector<Known> known_; // by tensor, of what is computed
};

} // namespace

void fold_known_values(Graph& graph) { KnownValues(graph).run(); }

} // namespace rtexec::tasks
