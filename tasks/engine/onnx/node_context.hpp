// What an operator sees of the ONNX node that it lowers (NodeContext), and what is known of the model so far
// (Lowering). A node whose inputs are all constants is run at once.
#pragma once

#include "config/base/text.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "tasks/engine/onnx/model_source.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace rtexec::tasks::onnx_source {

/// Few integers known at load: shapes, axes, indices. More than `max_count` are a constant of the graph.
struct Ints {
  static constexpr std::size_t max_count = 1 << 16;
  Shape shape;
  std::vector<std::int64_t> values;
  ElementType type = ElementType::int64;
};
/// A list of tensors, by their ONNX names.
struct Sequence {
  std::vector<std::string> elements;
};
/// An optional that has no value.
struct Absent {};
/// A tensor without elements is neither written by a node of the graph nor a constant, and no node of the graph reads
/// it.
using Value = std::variant<TensorId, Ints, Sequence, Absent>;

/// Everything known so far.
struct Lowering {
  std::string file;
  std::int64_t opset = 0;
  Graph graph{};
  std::unordered_map<std::string, Value> values{}; // by ONNX name
  std::unordered_set<std::string> read{};          // ONNX names that some node, or the graph's outputs, ask for
  std::unordered_set<std::string> read_by_nodes{};
  std::unordered_map<std::string, std::string> unreadable{}; // ONNX names of constants that are not supported: why
  std::int64_t given = 0;                                    // bytes of constants that the file has
  std::int64_t made = 0;                                     // bytes of constants made while loading
  double folding = 0;                                        // work of nodes run while loading, see evaluate.hpp
  std::size_t unrolled = 0;                                  // nodes of rounds
  std::size_t copies = 0;                                    // of graphs within nodes, and other names of one's own
  std::unordered_map<std::string, TensorId> as_tensors{};    // of integers, by ONNX name, once nodes read them

  /// What the floats of a tensor stand for.
  [[nodiscard]] ElementType type(TensorId id) const { return graph.tensors[id].type; }
  /// What is known of a constant by that name.
  [[nodiscard]] Value value_of(const std::string& name, Constant constant);
  /// Where errors of the node lie: the file, its name, its operator and its first output.
  [[nodiscard]] std::string describe(const Node& node) const;

  /// Bytes of constants made while loading that a file may have however small it is, so that the process stays below
  /// 256 MiB.
  static constexpr std::int64_t always_made_bytes = 240 << 20;
};

/// Of one node, whose outputs are not known then.
struct UnsupportedNode : Refusal {
  UnsupportedNode(const Node& node, std::string reason, const std::string& described)
      : Refusal(Errc::unsupported, described + reason), type(node.type), name(node.name), why(std::move(reason)) {}
  std::string type, name, why;
};

/// One node: access to its inputs, attributes and outputs, each checked. Every function throws Refusal. What is known
/// of tensors is returned by value: tensors move in memory while the graph grows.
class NodeContext {
 public:
  NodeContext(Lowering& lowering, const Node& node) : lowering_(lowering), node_(node) {}

  [[noreturn]] void bad(const std::string& why) const;         // the model contradicts itself or ONNX
  [[noreturn]] void unsupported(const std::string& why) const; // the engine cannot do it
  void require(bool condition, const char* why) const {
    if (!condition) bad(why);
  }

  [[nodiscard]] std::int64_t opset() const { return node_.opset != 0 ? node_.opset : lowering_.opset; }
  [[nodiscard]] const std::string& type() const { return node_.type; }
  [[nodiscard]] std::size_t inputs() const { return node_.inputs.size(); }
  [[nodiscard]] std::size_t outputs() const { return node_.outputs.size(); }
  [[nodiscard]] const std::string& input(std::size_t number) const { return node_.inputs.at(number); }
  [[nodiscard]] std::string name_of(std::size_t input) const { return config::quoted(node_.inputs.at(input)); }

  [[nodiscard]] bool has(std::size_t input) const;      // present, and not a tensor without elements
  [[nodiscard]] bool is_ints(std::size_t input) const;  // and not a tensor
  [[nodiscard]] bool is_empty(std::size_t input) const; // present, and without elements
  [[nodiscard]] bool is_sequence(std::size_t input) const;
  [[nodiscard]] bool is_absent(std::size_t input) const { return std::holds_alternative<Absent>(value(input)); }
  [[nodiscard]] const Sequence& sequence(std::size_t input) const;
  /// Integers become a constant one.
  [[nodiscard]] TensorId tensor(std::size_t input) const;
  /// Indices are int64, whatever integers they are in the file.
  [[nodiscard]] TensorId indices(std::size_t input) { return cast(integers(input), ElementType::int64); }
  [[nodiscard]] ElementType element_type(std::size_t input) const;
  /// Of a tensor or of integers
  [[nodiscard]] Shape shape(std::size_t input) const;
  [[nodiscard]] Shape shape_of(TensorId id) const { return lowering_.graph.tensors[id].shape; }
  [[nodiscard]] bool is_constant(TensorId id) const { return lowering_.graph.tensors[id].constant(); }
  [[nodiscard]] std::vector<float> values_of(TensorId id) const { return lowering_.graph.tensors[id].values; }
  [[nodiscard]] Integers integers_of(TensorId id) const { return lowering_.graph.tensors[id].integers; }
  /// The first element of a constant.
  [[nodiscard]] float number_of(TensorId id) const;
  /// Named by the node, whether it is read or not.
  [[nodiscard]] bool has_output(std::size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }
  [[nodiscard]] Shape shape_of_rank(std::size_t input, std::size_t rank) const;
  [[nodiscard]] std::vector<float> floats(std::size_t input, const char* role) const; // of a constant
  /// True if an input is known when the model is loaded.
  [[nodiscard]] bool is_known(std::size_t input) const { return is_ints(input) || is_constant(tensor(input)); }
  /// Of integers, or a constant tensor of them
  [[nodiscard]] std::vector<std::int64_t> ints(std::size_t input, const char* role) const;
  /// The only element of those.
  [[nodiscard]] std::int64_t integer(std::size_t input, const char* role) const;

  /// Makes the output one that nodes cannot read: they are refused with `why`.
  void set_unreadable(std::string why);
  /// Why an attribute is not supported; null: it is, or is not there.
  [[nodiscard]] const std::string* why_unreadable(const char* name) const;
  [[nodiscard]] bool has_attribute(const char* name) const { return node_.attributes.contains(name); }
  template <class T> [[nodiscard]] T attribute(const char* name, T fallback) {
    const T* value = find<T>(name);
    return value ? *value : std::move(fallback);
  }
  template <class T> [[nodiscard]] T attribute(const char* name) {
    const T* value = find<T>(name);
    if (!value) bad("attribute " + config::quoted(name) + " is missing");
    return *value;
  }
  /// Counts as read: for what does not matter to inference.
  void ignore_attribute(const char* name) { read_.insert(name); }
  /// Refuses the node where an attribute was never read.
  void require_all_attributes_read() const;
  /// Refuses the node where it has not set an output that somebody reads.
  void require_all_outputs_set() const;

  [[nodiscard]] bool is_read(std::size_t output) const { return lowering_.read.contains(node_.outputs.at(output)); }
  /// Whether another node reads the output.
  [[nodiscard]] bool is_read_by_nodes(std::size_t output) const {
    return lowering_.read_by_nodes.contains(node_.outputs.at(output));
  }

  /// An axis of a tensor of `rank` dimensions, counted from the end where negative.
  [[nodiscard]] std::size_t axis(std::int64_t value, std::size_t rank) const;
  /// Refuses negative dimensions and sizes above max_elements. A dimension of 0 counts as 1, so that products of
  /// dimensions do not overflow.
  [[nodiscard]] Shape checked(Shape shape) const;

  /// Appends a node, or runs it at once where all its inputs are constants; returns what it writes, which is of the
  /// type of its first input, or of `type`. Refuses operands that do not fit the operation.
  TensorId emit(Operation operation, std::vector<TensorId> inputs, Shape shape);
  TensorId emit(Operation operation, std::vector<TensorId> inputs, Shape shape, ElementType type);
  /// A constant tensor. Large values are made by filled(), or behind reserve().
  TensorId constant(Shape shape, std::vector<float> values);
  TensorId integer_constant(Shape shape, Integers values);
  /// A constant tensor whose element i, in row-major order, is f(i). Memory is charged before it is taken.
  template <class F> TensorId filled(Shape shape, F f) {
    std::vector<float> values(reserve(shape));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(static_cast<std::int64_t>(i));
    return constant(std::move(shape), std::move(values));
  }
  /// Likewise, of integers or booleans.
  template <class F> TensorId filled(Shape shape, ElementType type, F f) {
    Integers values(type, reserve(shape, stored_size(type)));
    for (std::size_t i = 0; i < values.size(); ++i) values.set(i, f(static_cast<std::int64_t>(i)));
    return integer_constant(std::move(shape), std::move(values));
  }
  /// A scalar constant of that type.
  TensorId scalar(std::int64_t value, ElementType type);
  /// `x` converted to `type`; `x` itself if it is of that type, or both are types of floats.
  TensorId cast(TensorId x, ElementType type);
  [[nodiscard]] ElementType type_of(TensorId id) const { return lowering_.type(id); }
  /// Checks that a constant of `shape` can be made; returns its number of elements. Refuses the node if the shape is
  /// not valid or the file's memory budget does not hold the constant.
  std::size_t reserve(const Shape& shape, std::size_t element_size = sizeof(float)) const;
  /// Charges memory for constants to the file's budget. Refuses the node if the budget is spent.
  void charge(std::size_t elements, std::size_t element_size = sizeof(float)) const;
  /// Of a constant.
  void stands_for(TensorId id, std::shared_ptr<const QuantizedConstant> quantized) {
    lowering_.graph.tensors[id].quantized = std::move(quantized);
  }
  /// Gives the value, made by this node, the name of an output.
  void set_output(Value value, std::size_t output = 0);
  void set_sequence(Sequence sequence, std::size_t output = 0);
  /// A value that was decoded or computed at load, as an output.
  void set_constant(Constant value);

  // Other nodes in place of this one.
  using Attributes = std::map<std::string, Attribute>;
  /// Gives integers a name that nothing else has.
  [[nodiscard]] std::string known(Ints values);
  /// Lowers a node; returns the name of its output.
  [[nodiscard]] std::string made(const std::string& type, std::vector<std::string> inputs, Attributes attributes = {});
  /// The tensor of that name with a dimension of 1 at `axis`.
  [[nodiscard]] std::string unsqueezed(const std::string& tensor, std::int64_t axis);
  /// Lowers a node that writes the outputs of this one.
  void become(const std::string& type, std::vector<std::string> inputs, Attributes attributes = {}) const;

 private:
  [[nodiscard]] TensorId integers(std::size_t input) const {
    if (!is_integer(element_type(input))) bad("input " + name_of(input) + " is not of integers");
    return tensor(input);
  }
  template <class T> const T* find(const char* name) {
    const auto found = node_.attributes.find(name);
    if (found == node_.attributes.end()) return nullptr;
    read_.insert(name);
    if (std::holds_alternative<Reference>(found->second))
      bad("attribute " + config::quoted(name) + " refers to an attribute of a function, and the node is in none");
    if (const auto* unreadable = std::get_if<Unreadable>(&found->second))
      unsupported("attribute " + config::quoted(name) + unreadable->why);
    const T* value = std::get_if<T>(&found->second);
    if (!value) bad("attribute " + config::quoted(name) + " is of the wrong type");
    return value;
  }
  [[nodiscard]] const Value& value(std::size_t input) const; // sequences among them
  [[nodiscard]] const Value& data(std::size_t input) const;  // sequences not
  [[nodiscard]] bool has_elements(TensorId id) const;
  /// A constant tensor that has one value throughout: the first of floats, the second of integers and booleans.
  TensorId uniform(const Shape& shape, float value, std::int64_t integer, ElementType type);
  /// A node whose output, or one of whose inputs, has no elements: returns what it writes without such a node.
  TensorId emit_without_elements(Operation operation, std::vector<TensorId> inputs, Shape shape, ElementType type);
  void require_budget(std::int64_t bytes) const;
  [[nodiscard]] bool is_worth_folding(double work);
  [[nodiscard]] std::string own_name(const std::string& what);

  Lowering& lowering_;
  const Node& node_;
  std::set<std::string> read_;
};

} // namespace rtexec::tasks::onnx_source
