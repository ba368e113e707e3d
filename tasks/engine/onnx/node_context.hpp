// The view that an operator's lowering has of its ONNX node (NodeContext), and the state of lowering the model
// (Lowering). A node whose inputs are all constants is evaluated at once.
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

/// A small integer tensor known at load: shapes, axes, indices. Larger ones than `max_count` become constants of the
/// graph.
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
/// An optional without a value.
struct Absent {};
/// The meaning of an ONNX name during lowering. A tensor without elements has a TensorId too, but no node of the graph
/// reads or writes it.
using Value = std::variant<TensorId, Ints, Sequence, Absent>;

/// The state of lowering a model.
struct Lowering {
  std::string file;
  std::int64_t opset = 0;
  Graph graph{};
  std::unordered_map<std::string, Value> values{}; // by ONNX name
  std::unordered_set<std::string> read{};          // ONNX names that nodes or graph outputs read
  std::unordered_set<std::string> read_by_nodes{};
  std::unordered_map<std::string, std::string> unreadable{}; // why a constant is not supported, by its ONNX name
  std::int64_t given = 0;                                    // bytes of the file's own constants
  std::int64_t made = 0;                                     // bytes of constants computed while loading
  double folding = 0;                                        // cost of nodes evaluated while loading, see evaluate.hpp
  std::size_t unrolled = 0;                                  // nodes that unrolled loop iterations have added
  std::size_t copies = 0;                                    // counter for unique names
  std::unordered_map<std::string, TensorId> as_tensors{};    // constants made of Ints that nodes read, by ONNX name

  /// Returns the declared element type of the tensor.
  [[nodiscard]] ElementType type(TensorId id) const { return graph.tensors[id].type; }
  /// Returns the value of a constant of that name.
  [[nodiscard]] Value value_of(const std::string& name, Constant constant);
  /// Returns the location of the node for messages: the file, its name, its operator and its first output.
  [[nodiscard]] std::string describe(const Node& node) const;

  /// The bytes of computed constants that every file may use, however small it is. The process then stays below 256
  /// MiB.
  static constexpr std::int64_t always_made_bytes = 240 << 20;
};

/// A node that is not supported. Its outputs remain undefined.
struct UnsupportedNode : Refusal {
  UnsupportedNode(const Node& node, std::string reason, const std::string& described)
      : Refusal(Errc::unsupported, described + reason), type(node.type), name(node.name), why(std::move(reason)) {}
  std::string type, name, why;
};

/// The access of an operator's lowering to one node: its inputs, attributes and outputs, each checked. Every function
/// throws Refusal. Tensor properties are returned by value, since tensors move in memory while the graph grows.
class NodeContext {
 public:
  NodeContext(Lowering& lowering, const Node& node) : lowering_(lowering), node_(node) {}

  [[noreturn]] void bad(const std::string& why) const;         // the model violates ONNX or contradicts itself
  [[noreturn]] void unsupported(const std::string& why) const; // the engine does not support it
  void require(bool condition, const char* why) const {
    if (!condition) bad(why);
  }

  [[nodiscard]] std::int64_t opset() const { return node_.opset != 0 ? node_.opset : lowering_.opset; }
  [[nodiscard]] const std::string& type() const { return node_.type; }
  [[nodiscard]] std::size_t inputs() const { return node_.inputs.size(); }
  [[nodiscard]] std::size_t outputs() const { return node_.outputs.size(); }
  [[nodiscard]] const std::string& input(std::size_t number) const { return node_.inputs.at(number); }
  [[nodiscard]] std::string name_of(std::size_t input) const { return config::quoted(node_.inputs.at(input)); }

  [[nodiscard]] bool has(std::size_t input) const;      // present, with a value and with elements
  [[nodiscard]] bool is_ints(std::size_t input) const;  // known integers, not a tensor
  [[nodiscard]] bool is_empty(std::size_t input) const; // present, without elements
  [[nodiscard]] bool is_sequence(std::size_t input) const;
  [[nodiscard]] bool is_absent(std::size_t input) const { return std::holds_alternative<Absent>(value(input)); }
  [[nodiscard]] const Sequence& sequence(std::size_t input) const;
  /// Returns the tensor of the input. Known integers become a constant tensor.
  [[nodiscard]] TensorId tensor(std::size_t input) const;
  /// Returns the input as an int64 tensor, for use as indices.
  [[nodiscard]] TensorId indices(std::size_t input) { return cast(integers(input), ElementType::int64); }
  [[nodiscard]] ElementType element_type(std::size_t input) const;
  /// Returns the shape of a tensor or of known integers.
  [[nodiscard]] Shape shape(std::size_t input) const;
  [[nodiscard]] Shape shape_of(TensorId id) const { return lowering_.graph.tensors[id].shape; }
  [[nodiscard]] bool is_constant(TensorId id) const { return lowering_.graph.tensors[id].constant(); }
  [[nodiscard]] std::vector<float> values_of(TensorId id) const { return lowering_.graph.tensors[id].values; }
  [[nodiscard]] Integers integers_of(TensorId id) const { return lowering_.graph.tensors[id].integers; }
  /// Returns the first element of a constant.
  [[nodiscard]] float number_of(TensorId id) const;
  /// True if the node names this output, even if nobody reads it.
  [[nodiscard]] bool has_output(std::size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }
  [[nodiscard]] Shape shape_of_rank(std::size_t input, std::size_t rank) const;
  [[nodiscard]] std::vector<float> floats(std::size_t input, const char* role) const; // elements of a constant
  /// True if the input is known when the model is loaded.
  [[nodiscard]] bool is_known(std::size_t input) const { return is_ints(input) || is_constant(tensor(input)); }
  /// Returns the elements of known integers or of a constant integer tensor.
  [[nodiscard]] std::vector<std::int64_t> ints(std::size_t input, const char* role) const;
  /// Returns the only element of known integers or of a constant integer tensor.
  [[nodiscard]] std::int64_t integer(std::size_t input, const char* role) const;

  /// Marks the output as unreadable: nodes that read it are refused with `why`.
  void set_unreadable(std::string why);
  /// Returns why an attribute is not supported; nullptr if it is supported or absent.
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
  /// Marks an attribute as read that does not affect inference.
  void ignore_attribute(const char* name) { read_.insert(name); }
  /// Refuses the node if it has an attribute that was never read.
  void require_all_attributes_read() const;
  /// Refuses the node if it has not set an output that is read.
  void require_all_outputs_set() const;

  [[nodiscard]] bool is_read(std::size_t output) const { return lowering_.read.contains(node_.outputs.at(output)); }
  /// True if another node reads the output.
  [[nodiscard]] bool is_read_by_nodes(std::size_t output) const {
    return lowering_.read_by_nodes.contains(node_.outputs.at(output));
  }

  /// Returns the axis of a tensor of `rank` dimensions; a negative `value` counts from the end.
  [[nodiscard]] std::size_t axis(std::int64_t value, std::size_t rank) const;
  /// Returns `shape`, or refuses the node for negative dimensions or more than max_elements elements. A dimension of 0
  /// counts as 1, so that products of dimensions do not overflow.
  [[nodiscard]] Shape checked(Shape shape) const;

  /// Appends a node, or evaluates it at once if all its inputs are constants. Returns its output, which has the type of
  /// its first input, or `type`. Refuses operands that do not fit the operation.
  TensorId emit(Operation operation, std::vector<TensorId> inputs, Shape shape);
  TensorId emit(Operation operation, std::vector<TensorId> inputs, Shape shape, ElementType type);
  /// Adds a constant tensor. For large values use filled(), or call reserve() first.
  TensorId constant(Shape shape, std::vector<float> values);
  TensorId integer_constant(Shape shape, Integers values);
  /// Adds a constant tensor whose element i, in row-major order, is f(i). Charges memory before it allocates it.
  template <class F> TensorId filled(Shape shape, F f) {
    std::vector<float> values(reserve(shape));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(static_cast<std::int64_t>(i));
    return constant(std::move(shape), std::move(values));
  }
  /// Like filled() above, for integers or booleans.
  template <class F> TensorId filled(Shape shape, ElementType type, F f) {
    Integers values(type, reserve(shape, stored_size(type)));
    for (std::size_t i = 0; i < values.size(); ++i) values.set(i, f(static_cast<std::int64_t>(i)));
    return integer_constant(std::move(shape), std::move(values));
  }
  /// Adds a scalar constant of that type.
  TensorId scalar(std::int64_t value, ElementType type);
  /// Returns `x` converted to `type`, or `x` itself if it has that type or both are floating-point types.
  TensorId cast(TensorId x, ElementType type);
  [[nodiscard]] ElementType type_of(TensorId id) const { return lowering_.type(id); }
  /// Checks that a constant of `shape` can be made and returns its number of elements. Refuses the node if the shape is
  /// not valid or the constant exceeds the file's memory budget.
  std::size_t reserve(const Shape& shape, std::size_t element_size = sizeof(float)) const;
  /// Charges memory for constants to the file's budget. Refuses the node if the budget is spent.
  void charge(std::size_t elements, std::size_t element_size = sizeof(float)) const;
  /// Records the 8-bit integers that a constant was dequantized from.
  void stands_for(TensorId id, std::shared_ptr<const QuantizedConstant> quantized) {
    lowering_.graph.tensors[id].quantized = std::move(quantized);
  }
  /// Gives a value that this node has made the name of an output.
  void set_output(Value value, std::size_t output = 0);
  void set_sequence(Sequence sequence, std::size_t output = 0);
  /// Sets an output to a value that was decoded or computed at load.
  void set_constant(Constant value);

  // The following functions replace this node by other nodes.
  using Attributes = std::map<std::string, Attribute>;
  /// Gives known integers a unique name, and returns it.
  [[nodiscard]] std::string known(Ints values);
  /// Lowers a node and returns the name of its output.
  [[nodiscard]] std::string made(const std::string& type, std::vector<std::string> inputs, Attributes attributes = {});
  /// Returns the tensor of that name with a dimension of 1 inserted at `axis`.
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
  [[nodiscard]] const Value& value(std::size_t input) const; // includes sequences
  [[nodiscard]] const Value& data(std::size_t input) const;  // excludes sequences
  [[nodiscard]] bool has_elements(TensorId id) const;
  /// Adds a constant tensor with one value in all elements: `value` for floats, `integer` for integers and booleans.
  TensorId uniform(const Shape& shape, float value, std::int64_t integer, ElementType type);
  /// Returns the result of a node whose output or one of whose inputs has no elements. The graph gets no such node.
  TensorId emit_without_elements(Operation operation, std::vector<TensorId> inputs, Shape shape, ElementType type);
  void require_budget(std::int64_t bytes) const;
  [[nodiscard]] bool is_worth_folding(double work);
  [[nodiscard]] std::string own_name(const std::string& what);

  Lowering& lowering_;
  const Node& node_;
  std::set<std::string> read_;
};

} // namespace rtexec::tasks::onnx_source
