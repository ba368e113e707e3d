// What types of elements each operation takes and gives.
#include "tasks/dnn/onnx/lowering.hpp"

namespace rtexec::tasks::onnx_source {
namespace {

class OperandTypes {
 public:
  OperandTypes(const NodeContext& context, const Graph& graph, const tasks::Node& node)
      : context_(context), graph_(graph), node_(node) {}

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
    context_.require(is_integer(output()), "it quantises to floats");
  }
  void operator()(const IntegerMatMul&) const {
    integers(0);
    same(0, 1);
  }
  void operator()(const IntegerConv&) const {
    if (type(0) != ElementType::int16 || type(1) != ElementType::int16)
      context_.bad("its operands are of " + name_of(0) + " and " + name_of(1) + ", and must be of int16");
  }
  void operator()(const Binary& binary) const {
    same(0, 1);
    if (binary.kind == Binary::Kind::divide) floats(0, 1);
    if (binary.kind == Binary::Kind::divide_whole || binary.kind > Binary::Kind::less_or_equal) integers(0);
    if (is_comparison(binary.kind)) return gives_boolean();
    gives(0);
  }
  void operator()(const Select&) const {
    if (type(0) != ElementType::boolean) context_.bad("its condition is of " + name_of(0) + ", and must be of bool");
    same(1, 2);
    gives(1);
  }
  void operator()(const Reduce& reduce) const {
    if (reduce.kind >= Reduce::Kind::first_minimum) return gives_indices();
    if (reduce.kind == Reduce::Kind::mean) floats(0, 1);
    gives(0);
  }
  void operator()(const RunningSum&) const { gives(0); }
  void operator()(const TopIndices&) const { gives_indices(); }
  void operator()(const Concat&) const {
    for (std::size_t i = 1; i < node_.inputs.size(); ++i) same(0, i);
    gives(0);
  }
  void operator()(const Reshape&) const { gives(0); }
  void operator()(const View&) const { gives(0); }
  void operator()(const Gather&) const { gives(0); }
  void operator()(const Pad&) const { gives(0); }
  void operator()(const Take&) const { taken(); }
  void operator()(const TakeElements&) const { taken(); }
  void operator()(const TakeSlices&) const { taken(); }
  void operator()(const Put&) const {
    same(0, 2);
    taken();
  }
  void operator()(const RegionAlign&) const {
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
  /// Floats of every precision are computed alike.
  static bool alike(ElementType a, ElementType b) { return a == b || (!is_integer(a) && !is_integer(b)); }

  void floats(std::size_t first, std::size_t last) const {
    for (std::size_t i = first; i < last; ++i)
      if (is_integer(type(i)))
        context_.unsupported("it computes with " + name_of(i) + "; supported: floats; convert it by a Cast before");
  }
  void integers(std::size_t input) const {
    if (!is_integer(type(input))) context_.bad("it computes with " + name_of(input) + ", and needs integers");
  }
  void indices(std::size_t input) const {
    if (type(input) != ElementType::int64) context_.bad("its indices are of " + name_of(input));
  }
  void same(std::size_t a, std::size_t b) const {
    if (!alike(type(a), type(b)))
      context_.bad("its operands are of different types: " + name_of(a) + " and " + name_of(b));
  }
  void gives(std::size_t input) const {
    if (!alike(type(input), output()))
      context_.bad("it gives " + std::string(name(output())) + " and computes with " + name_of(input));
  }
  void gives_boolean() const { context_.require(output() == ElementType::boolean, "it gives booleans"); }
  void gives_indices() const { context_.require(output() == ElementType::int64, "it gives indices, of int64"); }
  void taken() const {
    indices(1);
    gives(0);
  }

  const NodeContext& context_;
  const Graph& graph_;
  const tasks::Node& node_;
};

} // namespace

void check_operand_types(const NodeContext& context, const Graph& graph, const tasks::Node& node) {
  OperandTypes(context, graph, node).check();
}

} // namespace rtexec::tasks::onnx_source
