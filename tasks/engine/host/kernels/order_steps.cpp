// Steps that reduce integers, and steps that order elements: the indices of extremes, and the top k.
#include "tasks/engine/host/kernels/arithmetic.hpp"
#include "tasks/engine/host/kernels/element_types.hpp"
#include "tasks/engine/host/kernels/typed_steps.hpp"

#include <algorithm>
#include <numeric>

namespace rtexec::tasks::kernels {
namespace {

using Kind = Reduce::Kind;
using Index = std::int64_t;

template <class T> class IntegerReduceStep final : public Step {
 public:
  explicit IntegerReduceStep(const Reduce& reduce) : r_(reduce) {}

  void run(const Operands& o) const noexcept override {
    for (std::int64_t outer = 0; outer < r_.outer; ++outer) {
      const T* x = o.input<T>(0) + outer * r_.count * r_.inner;
      T* const y = o.output<T>() + outer * r_.inner;
      for (std::int64_t i = 0; i < r_.inner; ++i) y[i] = r_.kind == Kind::squares ? squared(x[i]) : x[i];
      for (std::int64_t row = 1; row < r_.count; ++row) {
        x += r_.inner;
        for (std::int64_t i = 0; i < r_.inner; ++i) y[i] = folded(y[i], x[i]);
      }
    }
  }

 private:
  static T squared(T x) noexcept {
    return modular(x, x, [](auto a, auto b) { return a * b; });
  }
  [[nodiscard]] T folded(T sum, T x) const noexcept {
    switch (r_.kind) {
    case Kind::product: return modular(sum, x, [](auto a, auto b) { return a * b; });
    case Kind::minimum: return std::min(sum, x);
    case Kind::maximum: return std::max(sum, x);
    default: return modular(sum, r_.kind == Kind::squares ? squared(x) : x, [](auto a, auto b) { return a + b; });
    }
  }

  Reduce r_;
};

template <class T> class IndexStep final : public Step {
 public:
  explicit IndexStep(const Reduce& reduce) : r_(reduce) {}

  void run(const Operands& o) const noexcept override {
    for (std::int64_t outer = 0; outer < r_.outer; ++outer)
      for (std::int64_t inner = 0; inner < r_.inner; ++inner)
        o.output<Index>()[outer * r_.inner + inner] = best(o.input<T>(0) + outer * r_.count * r_.inner + inner);
  }

 private:
  [[nodiscard]] Index best(const T* x) const noexcept {
    Index best = 0;
    for (Index i = 1; i < r_.count; ++i)
      if (beats(x[i * r_.inner], x[best * r_.inner])) best = i;
    return best;
  }
  [[nodiscard]] bool beats(T later, T earlier) const noexcept {
    switch (r_.kind) {
    case Kind::first_minimum: return precedes(later, earlier);
    case Kind::last_minimum: return !precedes(earlier, later);
    case Kind::first_maximum: return precedes(earlier, later);
    default: return !precedes(later, earlier);
    }
  }

  Reduce r_;
};

/// Computes cumulative sums. Accumulates floats in double precision, and integers modulo 2^n.
template <class T> class CumSumStep final : public Step {
 public:
  explicit CumSumStep(const CumSum& running) : r_(running) {}

  void run(const Operands& o) const noexcept override {
    for (std::int64_t outer = 0; outer < r_.outer; ++outer)
      for (std::int64_t inner = 0; inner < r_.inner; ++inner) {
        const std::int64_t at = outer * r_.count * r_.inner + inner;
        add_up(o.output<T>() + at, o.input<T>(0) + at);
      }
  }

 private:
  using Sum = std::conditional_t<std::is_same_v<T, float>, double, std::uint64_t>;

  void add_up(T* y, const T* x) const noexcept {
    Sum sum = 0;
    for (std::int64_t i = 0; i < r_.count; ++i) {
      const std::int64_t at = (r_.reverse ? r_.count - 1 - i : i) * r_.inner;
      if (r_.exclusive) y[at] = static_cast<T>(sum);
      sum += static_cast<Sum>(x[at]);
      if (!r_.exclusive) y[at] = static_cast<T>(sum);
    }
  }

  CumSum r_;
};

/// Computes the indices of the top k elements. Sorts only the elements that are kept, with a heap, which is cheap if
/// they are few.
template <class T> class TopKStep final : public Step {
 public:
  explicit TopKStep(const TopK& top) : t_(top) {}
  std::size_t workspace() const override { return static_cast<std::size_t>(t_.count) * sizeof(Index) / sizeof(float); }

  void run(const Operands& o) const noexcept override {
    for (std::int64_t outer = 0; outer < t_.outer; ++outer)
      for (std::int64_t inner = 0; inner < t_.inner; ++inner)
        find(o.output<Index>() + outer * t_.kept * t_.inner + inner,
             o.input<T>(0) + outer * t_.count * t_.inner + inner, reinterpret_cast<Index*>(o.workspace));
  }

 private:
  void find(Index* y, const T* x, Index* order) const noexcept {
    std::iota(order, order + t_.count, Index{0});
    std::partial_sort(order, order + t_.kept, order + t_.count, [&](Index a, Index b) {
      const T p = x[a * t_.inner], q = x[b * t_.inner];
      if (precedes(p, q) || precedes(q, p)) return t_.largest ? precedes(q, p) : precedes(p, q);
      return a < b;
    });
    for (Index i = 0; i < t_.kept; ++i) y[i * t_.inner] = order[i];
  }

  TopK t_;
};

ElementType input_type(const Graph& graph, const Node& node) { return graph.tensors[node.inputs[0]].type; }

} // namespace

StepPointer make_integer_step(const Graph& graph, const Node& node, const Reduce& reduce) {
  return for_integer(input_type(graph, node),
                     [&]<class T>() -> StepPointer { return std::make_unique<IntegerReduceStep<T>>(reduce); });
}
StepPointer make_index_step(const Graph& graph, const Node& node, const Reduce& reduce) {
  return for_element(input_type(graph, node),
                     [&]<class T>() -> StepPointer { return std::make_unique<IndexStep<T>>(reduce); });
}
StepPointer make_step(const Graph& graph, const Node& node, const CumSum& running) {
  return for_element(input_type(graph, node),
                     [&]<class T>() -> StepPointer { return std::make_unique<CumSumStep<T>>(running); });
}
StepPointer make_step(const Graph& graph, const Node& node, const TopK& top) {
  return for_element(input_type(graph, node),
                     [&]<class T>() -> StepPointer { return std::make_unique<TopKStep<T>>(top); });
}

} // namespace rtexec::tasks::kernels
