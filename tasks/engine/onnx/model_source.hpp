// An ONNX model as plain values: the interface between onnx_reader.cpp, the only file that depends on protobuf, and the
// lowering.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <rtexec/result.hpp>

namespace rtexec::tasks::onnx_source {

/// Thrown while a model is read; parse_onnx() converts it to an Error.
struct Refusal : std::exception {
  Refusal(Errc error_code, std::string message) : code(error_code), text(std::move(message)) {}
  [[nodiscard]] const char* what() const noexcept override { return text.c_str(); }
  Errc code;
  std::string text;
};

/// A constant. Its dimensions may be 0. Half precision has been widened to float, and double precision narrowed to
/// float.
struct Constant {
  Shape shape;
  std::variant<std::vector<float>, Integers> values;
  /// The row-major index of each value, if the constant is sparse. All other elements of the constant are zero.
  std::optional<std::vector<std::int64_t>> places = {};

  /// Returns the number of bytes that all elements take when they are stored densely.
  [[nodiscard]] std::int64_t dense_bytes() const;
};

/// A part of the file that is not supported. `why` is the reason, as text that follows the part's name in a message.
struct Unreadable {
  std::string why;
};

/// A reference in the body of a function to an attribute of the call. `name` is the name of that attribute.
struct Reference {
  std::string name;
};

/// A graph that a node contains. Its nodes can also read the tensors of the graph that contains the node.
struct Subgraph;
using SharedConstant = std::shared_ptr<const Constant>; // shared because nodes are copied for each loop iteration
using Attribute =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<std::string>, SharedConstant, std::shared_ptr<const Subgraph>, Reference, Unreadable>;
/// The initialisers by name. Initialisers that have the same data range of a file share one constant.
using Initialisers = std::map<std::string, std::variant<std::shared_ptr<Constant>, Unreadable>>;

struct Node {
  std::string name;
  std::string type;                // the operator, with its domain as a prefix unless the domain is ONNX's own
  std::vector<std::string> inputs; // "" for an omitted optional input
  std::vector<std::string> outputs;
  std::map<std::string, Attribute> attributes;
  std::int64_t opset = 0; // 0: the model's opset
};

/// A function of the model, which nodes call.
struct LocalFunction {
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;       // attributes without a default value
  std::map<std::string, Attribute> defaults; // default values, by attribute
  std::int64_t opset = 0;                    // opset of the function's nodes; 0: the model's opset
  std::vector<Node> nodes;
};
using LocalFunctions = std::map<std::string, LocalFunction>; // keyed by the type of the nodes that call the function

struct Subgraph {
  std::vector<std::string> inputs, outputs;
  Initialisers initialisers; // empty after lift_initialisers()
  std::vector<Node> nodes;
};

struct Dimension {
  std::optional<std::int64_t> value; // the size; nullopt for an open dimension: the file does not specify its size
  std::string symbol;                // the name of an open dimension
};

struct Input {
  std::string name;
  ElementType type = ElementType::float32;
  std::vector<Dimension> shape;
  bool has_shape = true; // false: the file does not even specify the number of dimensions
};

struct Output {
  std::string name;
  std::optional<ElementType> type; // nullopt: the file declares no type, and the output has the computed type
};

struct Model {
  std::string file; // path of the file; every message begins with it
  std::string name;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> notes; // see Graph::notes
  std::int64_t opset = 0;
  std::vector<Input> inputs; // inputs that are not initialisers
  GivenInputs given;         // the user's values
  std::vector<Output> outputs;
  Initialisers initialisers;
  std::vector<Node> nodes;
  LocalFunctions functions;
};

/// Checks and simplifies the model. Throws Refusal.
[[nodiscard]] Graph lower(Model model);

} // namespace rtexec::tasks::onnx_source
