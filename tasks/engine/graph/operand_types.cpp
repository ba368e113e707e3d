#include "tasks/engine/graph/operand_types.hpp"

namespace rtexec::tasks {
namespace {

class OperandTypes {
 public:
  OperandTypes(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  void check() const {
    std::visit([&](const auto& operation) { (*this)(operation); }, node_.operation);
  }

  template <class Operation> void operator()(const Operation&) const { floats(0, node_.inputs.size()); }

  void operator()(const Cast&) const {}
  void operator()(const Activation& activation) const {
    using enum Activation::Kind;
    const auto kind = activation.kind;
    const bool of_integers = kind == relu || kind == absolute || kind == sign || kind == is_zero || kind == is_not_zero;
    if (!of_integers) floats(0, 1);
    if (kind == is_nan || kind == is_infinite || kind == is_zero || kind == is_not_zero) return gives_boolean();
    gives(0);
  }
  void operator()(const Dequantise&) const { integers(0); }
  void operator()(const Quantise&) const {
    floats(0, 1);
    need(is_integer(output()), "it quantises to floats");
  }
  void operator()(const IntegerMatMul&) const {
    integers(0);
    same(0, 1);
  }
  void operator()(const IntegerConv&) const {
    if (type(0) != ElementType::int16 || type(1) != ElementType::int16)
      throw Misfit{"its operands are of " + name_of(0) + " and " + name_of(1) + ", and must be of int16"};
  }
  void operator()(const Binary& binary) const {
    same(0, 1);
    if (binary.kind == Binary::Kind::divide) floats(0, 1);
    if (binary.kind == Binary::Kind::divide_integers || binary.kind > Binary::Kind::less_or_equal) integers(0);
    if (is_comparison(binary.kind)) return gives_boolean();
    gives(0);
  }
  void operator()(const Where&) const {
    need(type(0) == ElementType::boolean, "its condition is of " + name_of(0) + ", and must be of bool");
    same(1, 2);
    gives(1);
  }
  void operator()(const Reduce& reduce) const {
    if (reduce.kind >= Reduce::Kind::first_minimum) return gives_indices();
    if (reduce.kind == Reduce::Kind::mean) floats(0, 1);
    gives(0);
  }
  void operator()(const CumSum&) const { gives(0); }
  void operator()(const TopK&) const { gives_indices(); }
  void operator()(const Concat&) const {
    for (std::size_t i = 1; i < node_.inputs.size(); ++i) same(0, i);
    gives(0);
  }
  void operator()(const Reshape&) const { gives(0); }
  void operator()(const View&) const { gives(0); }
  void operator()(const GatherConstant&) const { gives(0); }
  void operator()(const Pad&) const { gives(0); }
  void operator()(const Gather&) const { taken(); }
  void operator()(const GatherElements&) const { taken(); }
  void operator()(const GatherND&) const { taken(); }
  void operator()(const Scatter&) const {
    same(0, 2);
    taken();
  }
  void operator()(const RoiAlign&) const {
    floats(0, 2);
    indices(2);
  }
  void operator()(const NonMaxSuppression&) const {
    floats(0, 2);
    gives_indices();
  }

 private:
  [[nodiscard]] ElementType type(std::size_t input) const { return graph_.tensors[node_.inputs[input]].type; }
  [[nodiscard]] ElementType output() const { return graph_.tensors[node_.output].type; }
  [[nodiscard]] std::string name_of(std::size_t input) const { return std::string(name(type(input))); }
  static void need(bool condition, const std::string& else_) {
    if (!condition) throw Misfit{else_};
  }
  /// True if both types are equal, or if both are floats: floats of every precision are computed alike.
  static bool alike(ElementType a, ElementType b) { return a == b || (!is_integer(a) && !is_integer(b)); }

  void floats(std::size_t first, std::size_t last) const {
    for (std::size_t i = first; i < last; ++i)
      if (is_integer(type(i)))
        throw Misfit{"it computes with " + name_of(i) + "; supported: floats; convert it by a Cast before", true};
  }
  void integers(std::size_t input) const {
    need(is_integer(type(input)), "it computes with " + name_of(input) + ", and needs integers");
  }
  void indices(std::size_t input) const {
    need(type(input) == ElementType::int64, "its indices are of " + name_of(input) + ", and must be of int64");
  }
  void same(std::size_t a, std::size_t b) const {
    need(alike(type(a), type(b)), "its operands are of different types: " + name_of(a) + " and " + name_of(b));
  }
  void gives(std::size_t input) const {
    need(alike(type(input), output()),
         "it gives " + std::string(name(output())) + " and computes with " + name_of(input));
  }
  void gives_boolean() const { need(output() == ElementType::boolean, "it gives booleans"); }
  void gives_indices() const { need(output() == ElementType::int64, "it gives indices, of int64"); }
  void taken() const {
    indices(1);
    gives(0);
  }

  const Graph& graph_;
  const Node& node_;
};

} // namespace

void check_operand_types(const Graph& graph, const Node& node) { OperandTypes(graph, node).check(); }

} // namespace rtexec::tasks
