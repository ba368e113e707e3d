// Folds integer computations whose result follows from bounds that are known before execution. For example, indices are
// inside their tensor, and booleans are 0 or 1. Exporters write tests for negative operands around divisions of
// indices, although indices are never negative; such tests are folded.
#include "tasks/engine/graph/passes.hpp"

#include "tasks/engine/graph/patterns.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace rtexec::tasks {
namespace {

struct Bounds {
  std::int64_t low = 0, high = 0;
  [[nodiscard]] bool is_number() const { return low == high; }
};
using Known = std::optional<Bounds>;

constexpr Bounds truth{0, 1};

Known both(const Known& a, const Known& b) {
  if (!a || !b) return std::nullopt;
  return Bounds{std::min(a->low, b->low), std::max(a->high, b->high)};
}

/// Returns the result of operation `kind` for a and b, if the operation is monotonic in each operand. Returns nullopt
/// if the result overflows or the operation is not monotonic.
std::optional<std::int64_t> computed(Pair kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const auto unless = [&](bool overflows) { return overflows ? std::nullopt : std::optional(result); };
  switch (kind) {
  case Pair::add: return unless(__builtin_add_overflow(a, b, &result));
  case Pair::subtract: return unless(__builtin_sub_overflow(a, b, &result));
  case Pair::multiply: return unless(__builtin_mul_overflow(a, b, &result));
  case Pair::divide_integers: return b == -1 ? unless(__builtin_sub_overflow(0, a, &result)) : std::optional(a / b);
  case Pair::minimum: return std::min(a, b);
  case Pair::maximum: return std::max(a, b);
  case Pair::less: return a < b;
  case Pair::less_or_equal: return a <= b;
  default: return std::nullopt;
  }
}

Known at_corners(Pair kind, const Bounds& a, const Bounds& b) {
  if (kind == Pair::divide_integers && b.low <= 0 && b.high >= 0) return std::nullopt;
  Known result;
  for (const auto x : {a.low, a.high})
    for (const auto y : {b.low, b.high}) {
      const auto value = computed(kind, x, y);
      if (!value) return std::nullopt;
      result = both(result.value_or(Bounds{*value, *value}), Bounds{*value, *value});
    }
  return result;
}

Bounds equality(const Bounds& a, const Bounds& b) {
  if (a.high < b.low || b.high < a.low) return {0, 0};
  return a.is_number() && b.is_number() ? Bounds{1, 1} : truth;
}

Known bounds_of(Pair kind, const Known& a, const Known& b) {
  if (!a || !b) return is_comparison(kind) ? Known(truth) : std::nullopt;
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
      if (!is_integer(output.type)) continue;
      const auto bounds = bounds_of(node);
      if (!bounds || !holds(output.type, *bounds)) continue;
      known_[node.output] = bounds;
      if (bounds->is_number()) {
        output.integers = Integers(output.type, static_cast<std::size_t>(element_count(output.shape)));
        output.integers.fill(bounds->low);
      }
    }
    std::erase_if(graph_.nodes, [&](const Node& node) { return graph_.tensors[node.output].constant(); });
    remove_unused(graph_);
  }

 private:
  /// True if `type` can represent all values between the bounds, so that no value wraps around. Bounds in the upper
  /// half of uint64 are not supported.
  static bool holds(ElementType type, const Bounds& bounds) {
    if (type == ElementType::uint64) return bounds.low >= 0;
    return wrapped(bounds.low, type) == bounds.low && wrapped(bounds.high, type) == bounds.high;
  }

  /// Turns a Where with a known condition into a View of the selected operand.
  void choose(Node& node) {
    if (!std::holds_alternative<Where>(node.operation)) return;
    const auto condition = known(node.inputs[0]);
    if (!condition || !condition->is_number()) return;
    const auto chosen = node.inputs[condition->low != 0 ? 1 : 2];
    const auto& from = graph_.tensors[chosen].shape;
    node.operation = View{0, broadcast(from, dense_strides(from), graph_.tensors[node.output].shape)};
    node.inputs = {chosen};
  }

  Known known(TensorId id) const {
    const auto& tensor = graph_.tensors[id];
    if (tensor.integers.empty()) return known_[id];
    const auto [low, high] = std::ranges::minmax(tensor.integers);
    return holds(tensor.type, {low, high}) ? Known(Bounds{low, high}) : std::nullopt;
  }

  Known bounds_of(const Node& node) const {
    if (node.activation.kind != Function::none || node.residual) return std::nullopt;
    const auto input = [&](std::size_t i) { return known(node.inputs[i]); };
    const auto indices = [](std::int64_t count) { return Bounds{0, count - 1}; };
    if (const auto* top = std::get_if<TopK>(&node.operation)) return indices(top->count);
    if (const auto* reduce = std::get_if<Reduce>(&node.operation))
      return reduce->kind >= Reduce::Kind::first_minimum ? Known(indices(reduce->count)) : std::nullopt;
    if (const auto* pair = std::get_if<Binary>(&node.operation))
      return tasks::bounds_of(pair->kind, input(0), input(1));
    if (const auto* activation = std::get_if<Activation>(&node.operation))
      return tasks::bounds_of(*activation, input(0));
    if (std::holds_alternative<Where>(node.operation)) return both(input(1), input(2));
    if (std::holds_alternative<Cast>(node.operation) && graph_.tensors[node.output].type == ElementType::boolean)
      return tasks::bounds_of(Activation{Function::is_not_zero}, input(0));
    return moves(node.operation) ? input(0) : std::nullopt;
  }

  static bool moves(const Operation& operation) {
    return std::holds_alternative<Reshape>(operation) || std::holds_alternative<View>(operation) ||
           std::holds_alternative<Cast>(operation) || std::holds_alternative<GatherConstant>(operation) ||
           std::holds_alternative<Gather>(operation) || std::holds_alternative<GatherElements>(operation) ||
           std::holds_alternative<GatherND>(operation);
  }

  Graph& graph_;
  std::vector<Known> known_; // for each tensor; absent for constants
};

} // namespace

void fold_known_values(Graph& graph) { KnownValues(graph).run(); }

} // namespace rtexec::tasks
