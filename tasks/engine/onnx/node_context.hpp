// NodeContext, through which the lowering of an operator accesses its ONNX node, and Lowering, the state of lowering
// the model. A node whose inputs are all constants is evaluated while the model is loaded.
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

/// A small integer tensor whose elements are known when the model is loaded: a shape, axes or indices. A tensor with
/// more than `max_count` elements becomes a constant of the graph instead.
struct Ints {
  static constexpr std::size_t max_count = 1 << 16;
  Shape shape;
  std::vector<std::int64_t> values;
  ElementType type = ElementType::int64;
};
/// A list of tensors, given by their ONNX names.
struct Sequence {
  std::vector<std::string> elements;
};
/// The value of an ONNX optional (a value that may be absent) that is empty.
struct Absent {};
/// The value of an ONNX name during lowering. A tensor without elements has a TensorId too, but no node of the graph
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
  std::unordered_map<std::string, std::string> unreadable{}; // ONNX name of an unsupported constant, with the reason
  std::int64_t given = 0;                                    // bytes of the constants in the file
  std::int64_t made = 0;                                     // bytes of the constants computed while loading
  /// Cost of the nodes evaluated while loading, as defined in evaluate.hpp.
  double folding = 0;
  std::size_t unrolled = 0; // nodes that unrolled loop iterations have added
  std::size_t copies = 0;   // counter for unique names
  /// Constant tensors made from Ints, because a node reads them as tensors. Keyed by ONNX name.
  std::unordered_map<std::string, TensorId> as_tensors{};

  /// Returns the element type of the tensor.
  [[nodiscard]] ElementType type(TensorId id) const { return graph.tensors[id].type; }
  /// Returns the value of a constant with this name: Ints if it is a small integer constant, otherwise a tensor.
  [[nodiscard]] Value value_of(const std::string& name, Constant constant);
  /// Describes the node for messages: the file, the node's name, its operator and its first output.
  [[nodiscard]] std::string describe(const Node& node) const;

  /// The number of bytes that computed constants may use for any file, however small the file is. With this limit the
  /// process stays below 256 MiB.
  static constexpr std::int64_t always_made_bytes = 240 << 20;
};

/// Thrown for a node that is not supported. Its outputs remain undefined.
struct UnsupportedNode : Refusal {
  UnsupportedNode(const Node& node, std::string reason, const std::string& described)
      : Refusal(Errc::unsupported, described + reason), type(node.type), name(node.name), why(std::move(reason)) {}
  std::string type, name, why;
};

/// An operator's access to one node during lowering: its inputs, attributes and outputs, each checked. Every function
/// may throw Refusal. Tensor properties are returned by value, since tensors move in memory when the graph grows.
class NodeContext {
 public:
  NodeContext(Lowering& lowering, const Node& node) : lowering_(lowering), node_(node) {}

  [[noreturn]] void bad(const std::string& why) const;         // the model violates ONNX or contradicts itself
  [[noreturn]] void unsupported(const std::string& why) const; // the engine does not support the node
  void require(bool condition, const char* why) const {
    if (!condition) bad(why);
  }

  [[nodiscard]] std::int64_t opset() const { return node_.opset != 0 ? node_.opset : lowering_.opset; }
  [[nodiscard]] const std::string& type() const { return node_.type; }
  [[nodiscard]] std::size_t inputs() const { return node_.inputs.size(); }
  [[nodiscard]] std::size_t outputs() const { return node_.outputs.size(); }
  [[nodiscard]] const std::string& input(std::size_t number) const { return node_.inputs.at(number); }
  [[nodiscard]] std::string name_of(std::size_t input) const { return config::quoted(node_.inputs.at(input)); }

  [[nodiscard]] bool has(std::size_t input) const;      // True if present, not an empty optional, and with elements.
  [[nodiscard]] bool is_ints(std::size_t input) const;  // True if integers known at load, not a tensor.
  [[nodiscard]] bool is_empty(std::size_t input) const; // True if present, but without elements.
  [[nodiscard]] bool is_sequence(std::size_t input) const;
  [[nodiscard]] bool is_absent(std::size_t input) const { return std::holds_alternative<Absent>(value(input)); }
  [[nodiscard]] const Sequence& sequence(std::size_t input) const;
  /// Returns the tensor of the input. Integers known at load become a constant tensor.
  [[nodiscard]] TensorId tensor(std::size_t input) const;
  /// Returns the input as an int64 tensor, for use as indices.
  [[nodiscard]] TensorId indices(std::size_t input) { return cast(integers(input), ElementType::int64); }
  [[nodiscard]] ElementType element_type(std::size_t input) const;
  /// Returns the shape of the input, a tensor or integers known at load.
  [[nodiscard]] Shape shape(std::size_t input) const;
  [[nodiscard]] Shape shape_of(TensorId id) const { return lowering_.graph.tensors[id].shape; }
  [[nodiscard]] bool is_constant(TensorId id) const { return lowering_.graph.tensors[id].constant(); }
  [[nodiscard]] std::vector<float> values_of(TensorId id) const { return lowering_.graph.tensors[id].values; }
  [[nodiscard]] Integers integers_of(TensorId id) const { return lowering_.graph.tensors[id].integers; }
  /// Returns the first element of a constant tensor.
  [[nodiscard]] float number_of(TensorId id) const;
  /// True if the node names this output, even if no node reads it.
  [[nodiscard]] bool has_output(std::size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }
  [[nodiscard]] Shape shape_of_rank(std::size_t input, std::size_t rank) const;
  /// Returns the elements of a constant.
  [[nodiscard]] std::vector<float> floats(std::size_t input, const char* role) const;
  /// True if the input is known when the model is loaded.
  [[nodiscard]] bool is_known(std::size_t input) const { return is_ints(input) || is_constant(tensor(input)); }
  /// Returns the elements of an input: integers known at load, or a constant integer tensor. `role` names the input in
  /// errors.
  [[nodiscard]] std::vector<std::int64_t> ints(std::size_t input, const char* role) const;
  /// Returns the only element of an input that ints() can read.
  [[nodiscard]] std::int64_t integer(std::size_t input, const char* role) const;

  /// Marks the output as unsupported. Every node that reads the output is refused with the reason `why`.
  void set_unreadable(std::string why);
  /// Returns the reason why an attribute is not supported. Returns nullptr if the attribute is supported or absent.
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
  /// Marks an attribute as read. Use it for an attribute that does not affect inference.
  void ignore_attribute(const char* name) { read_.insert(name); }
  /// Refuses the node if it has an attribute that was never read.
  void require_all_attributes_read() const;
  /// Refuses the node if one of its outputs was not set and another node or the graph reads that output.
  void require_all_outputs_set() const;

  [[nodiscard]] bool is_read(std::size_t output) const { return lowering_.read.contains(node_.outputs.at(output)); }
  /// True if another node reads this output.
  [[nodiscard]] bool is_read_by_nodes(std::size_t output) const {
    return lowering_.read_by_nodes.contains(node_.outputs.at(output));
  }

  /// Returns the index of an axis in a tensor of `rank` dimensions. A negative `value` counts from the end.
  [[nodiscard]] std::size_t axis(std::int64_t value, std::size_t rank) const;
  /// Returns `shape`. Refuses the node if a dimension is negative, or if there are more than max_elements elements. For
  /// this limit a dimension of 0 counts as 1, so that products of dimensions do not overflow.
  [[nodiscard]] Shape checked(Shape shape) const;

  /// Appends a node, or evaluates the operation at once if all inputs are constants. Returns the output. The output has
  /// type `type`; without `type` it has the type of the first input. Refuses operands that do not fit the operation.
  TensorId emit(Operation operation, std::vector<TensorId> inputs, Shape shape);
  TensorId emit(Operation operation, std::vector<TensorId> inputs, Shape shape, ElementType type);
  /// Adds a constant tensor. For many values use filled(), or call reserve() first.
  TensorId constant(Shape shape, std::vector<float> values);
  TensorId integer_constant(Shape shape, Integers values);
  /// Adds a constant tensor whose element i, in row-major order, is f(i). Charges the memory to the file's budget
  /// before it allocates it.
  template <class F> TensorId filled(Shape shape, F f) {
    std::vector<float> values(reserve(shape));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(static_cast<std::int64_t>(i));
    return constant(std::move(shape), std::move(values));
  }
  /// Adds a constant tensor as filled() above does, but of integers or booleans.
  template <class F> TensorId filled(Shape shape, ElementType type, F f) {
    Integers values(type, reserve(shape, stored_size(type)));
    for (std::size_t i = 0; i < values.size(); ++i) values.set(i, f(static_cast<std::int64_t>(i)));
    return integer_constant(std::move(shape), std::move(values));
  }
  /// Adds a scalar constant of type `type`.
  TensorId scalar(std::int64_t value, ElementType type);
  /// Returns `x` converted to `type`. Returns `x` itself if its type is `type`, or if both types are floats.
  TensorId cast(TensorId x, ElementType type);
  [[nodiscard]] ElementType type_of(TensorId id) const { return lowering_.type(id); }
  /// Checks that a constant of `shape` can be made, and returns its number of elements. Refuses the node if the shape
  /// is invalid or the constant would exceed the file's memory budget.
  std::size_t reserve(const Shape& shape, std::size_t element_size = sizeof(float)) const;
  /// Deducts the memory of `elements` constant elements from the file's memory budget. Refuses the node if the budget
  /// is exhausted.
  void charge(std::size_t elements, std::size_t element_size = sizeof(float)) const;
  /// Records the 8-bit integers from which a constant was dequantized.
  void stands_for(TensorId id, std::shared_ptr<const QuantizedConstant> quantized) {
    lowering_.graph.tensors[id].quantized = std::move(quantized);
  }
  /// Sets an output of the node to a value that the node's lowering has made.
  void set_output(Value value, std::size_t output = 0);
  void set_sequence(Sequence sequence, std::size_t output = 0);
  /// Sets the node's output to a constant that was decoded or computed at load.
  void set_constant(Constant value);

  // These functions replace this node by other ONNX nodes.
  using Attributes = std::map<std::string, Attribute>;
  /// Stores integers that are known at load under a unique ONNX name, and returns that name.
  [[nodiscard]] std::string known(Ints values);
  /// Lowers a new node of operator `type` and returns the name of its output.
  [[nodiscard]] std::string made(const std::string& type, std::vector<std::string> inputs, Attributes attributes = {});
  /// Inserts a dimension of size 1 at `axis` into the named tensor. Returns the name of the resulting tensor.
  [[nodiscard]] std::string unsqueezed(const std::string& tensor, std::int64_t axis);
  /// Lowers a new node whose outputs are the outputs of this node.
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
      bad("attribute " + config::quoted(name) +
          " refers to an attribute of a function, but the node is not in a function");
    if (const auto* unreadable = std::get_if<Unreadable>(&found->second))
      unsupported("attribute " + config::quoted(name) + unreadable->why);
    const T* value = std::get_if<T>(&found->second);
    if (!value) bad("attribute " + config::quoted(name) + " is of the wrong type");
    return value;
  }
  [[nodiscard]] const Value& value(std::size_t input) const; // any value, including a sequence
  [[nodiscard]] const Value& data(std::size_t input) const;  // any value except a sequence
  [[nodiscard]] bool has_elements(TensorId id) const;
  /// Adds a constant tensor with one value in all elements: `value` for floats, `integer` for integers and booleans.
  TensorId uniform(const Shape& shape, float value, std::int64_t integer, ElementType type);
  /// Returns the result of an operation whose output or input has no elements. Adds no node for the operation to the
  /// graph.
  TensorId emit_without_elements(Operation operation, std::vector<TensorId> inputs, Shape shape, ElementType type);
  void require_budget(std::int64_t bytes) const;
  [[nodiscard]] bool is_worth_folding(double work);
  [[nodiscard]] std::string own_name(const std::string& what);

  Lowering& lowering_;
  const Node& node_;
  std::set<std::string> read_;
};

} // namespace rtexec::tasks::onnx_source
