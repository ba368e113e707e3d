// An ONNX model as plain values, so that one translation unit (onnx_reader.cpp) knows protobuf. Between reader and
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

/// Thrown while a model is read; becomes the Error of parse_onnx.
struct Refusal : std::exception {
  Refusal(Errc error_code, std::string message) : code(error_code), text(std::move(message)) {}
  [[nodiscard]] const char* what() const noexcept override { return text.c_str(); }
  Errc code;
  std::string text;
};

/// A constant; dimensions may be 0 here. Half precision is widened to float, double narrowed.
struct Constant {
  Shape shape;
  std::variant<std::vector<float>, Integers> values;
  /// Of a sparse constant: where its values are, in row-major order; all other elements are zero.
  std::optional<std::vector<std::int64_t>> places = {};

  /// Once all its elements are stored.
  [[nodiscard]] std::int64_t dense_bytes() const;
};

/// What stands in the file, and is not supported: why, as it stands behind its name.
struct Unreadable {
  std::string why;
};

/// In the body of a function: the value of the call's attribute of that name.
struct Reference {
  std::string name;
};

/// A graph inside a node, which reads the tensors around it.
struct Subgraph;
using SharedConstant = std::shared_ptr<const Constant>; // nodes are copied for each round of a loop
using Attribute =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                 std::vector<std::string>, SharedConstant, std::shared_ptr<const Subgraph>, Reference, Unreadable>;
/// Those over one range of a file share a constant.
using Initialisers = std::map<std::string, std::variant<std::shared_ptr<Constant>, Unreadable>>;

struct Node {
  std::string name;
  std::string type;                // with its domain before it, where that is not ONNX's own
  std::vector<std::string> inputs; // "" where an optional one is left out
  std::vector<std::string> outputs;
  std::map<std::string, Attribute> attributes;
  std::int64_t opset = 0; // 0: the model's
};

/// A function of the model, which nodes call.
struct LocalFunction {
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;       // without a default
  std::map<std::string, Attribute> defaults; // of attributes
  std::int64_t opset = 0;                    // of its nodes; 0: the model's
  std::vector<Node> nodes;
};
using LocalFunctions = std::map<std::string, LocalFunction>; // by the type of the nodes that call them

struct Subgraph {
  std::vector<std::string> inputs, outputs;
  Initialisers initialisers; // none behind lift_initialisers()
  std::vector<Node> nodes;
};

struct Dimension {
  std::optional<std::int64_t> value; // none: not fixed
  std::string symbol;                // its name where it is not fixed
};

struct Input {
  std::string name;
  ElementType type = ElementType::float32;
  std::vector<Dimension> shape;
  bool has_shape = true; // false: the file does not even say how many dimensions there are
};

struct Output {
  std::string name;
  std::optional<ElementType> type; // none: as it is computed
};

struct Model {
  std::string file; // stands before every message
  std::string name;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> notes; // as those of the Graph
  std::int64_t opset = 0;
  std::vector<Input> inputs; // without those that are initialisers
  GivenInputs given;         // by who reads the model
  std::vector<Output> outputs;
  Initialisers initialisers;
  std::vector<Node> nodes;
  LocalFunctions functions;
};

/// Checks and simplifies. Throws Refusal.
[[nodiscard]] Graph lower(Model model);

} // namespace rtexec::tasks::onnx_source
