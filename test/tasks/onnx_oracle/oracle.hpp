// What ONNX says an operator computes (opsets 11 to 23): written from its operator specification in double precision,
// one loop after the other, sharing nothing with the engine.
#pragma once

#include "test/tasks/onnx_oracle/array.hpp"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace rtexec::test {

using Floats = std::vector<float>;
using Attribute = std::variant<Index, float, std::string, Ints, Floats, Array>;
using Attributes = std::map<std::string, Attribute>;

/// One node; an absent optional input is null.
struct Operator {
  std::string type;
  int opset = 13;
  std::vector<const Array*> inputs;
  Attributes attributes;
  std::size_t outputs = 1;

  [[nodiscard]] bool has(std::size_t input) const { return input < inputs.size() && inputs[input] != nullptr; }
  [[nodiscard]] const Array& in(std::size_t input) const { return *inputs.at(input); }
  [[nodiscard]] bool has(const std::string& attribute) const { return attributes.contains(attribute); }
  template <class T> [[nodiscard]] T get(const std::string& attribute, T otherwise) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? otherwise : std::get<T>(found->second);
  }
};

/// The outputs of one node. Throws std::invalid_argument where the oracle does not know the operator.
[[nodiscard]] std::vector<Array> evaluate(const Operator& node);

/// The values of an int64 tensor.
[[nodiscard]] Ints integers(const Array& array);
/// `axis` of a tensor of `rank` dimensions, counted from the front.
[[nodiscard]] inline Index from_front(Index axis, Index rank) { return axis < 0 ? axis + rank : axis; }

using Function = Array (*)(const Operator&);
using Functions = std::map<std::string, Function>;
[[nodiscard]] const Functions& window_operators();
[[nodiscard]] const Functions& math_operators();
[[nodiscard]] const Functions& shape_operators();
[[nodiscard]] std::vector<Array> split(const Operator& node);

} // namespace rtexec::test
