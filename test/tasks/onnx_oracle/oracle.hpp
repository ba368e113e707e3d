// The oracle: what each operator computes according to ONNX (opsets 11 to 24). It follows the operator specification in
// double precision with plain loops, and shares no code with the engine.
#pragma once

#include "test/tasks/onnx_oracle/array.hpp"

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace rtexec::test {

using Floats = std::vector<float>;
using Strings = std::vector<std::string>;
using Attribute = std::variant<Index, float, std::string, Ints, Floats, Strings, Array>;
using Attributes = std::map<std::string, Attribute>;

/// One node. An absent optional input is null.
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

/// Returns the outputs of one node. Throws std::invalid_argument if the oracle does not know the operator.
[[nodiscard]] std::vector<Array> evaluate(const Operator& node);

/// Returns the values of an integer tensor.
[[nodiscard]] Ints integers(const Array& array);
/// Returns the `axis` of a tensor of `rank` dimensions, counted from the front.
[[nodiscard]] inline Index from_front(Index axis, Index rank) { return axis < 0 ? axis + rank : axis; }
[[nodiscard]] inline std::size_t place(Index axis, Index rank) {
  return static_cast<std::size_t>(from_front(axis, rank));
}
/// Returns 0, 1, ... rank - 1.
[[nodiscard]] Ints every_axis(Index rank);
/// Returns `x` with its elements in another shape.
[[nodiscard]] Array with_shape(Array x, Ints shape);

/// Returns y with y[at] = x[f(at)].
template <class F> [[nodiscard]] Array pick(const Array& x, const Ints& shape, F&& f) {
  Array y(shape, x.kind);
  for_each_index(shape, [&](const Ints& at) { y[offset(shape, at)] = x[offset(x.shape, f(at))]; });
  return y;
}

/// A function that computes one output, or one that computes several.
using Function = std::variant<Array (*)(const Operator&), std::vector<Array> (*)(const Operator&)>;
using Functions = std::map<std::string, Function>;
[[nodiscard]] Functions element_operators();
[[nodiscard]] Functions reduction_operators();
[[nodiscard]] Functions normalization_operators();
[[nodiscard]] Functions matmul_operators();
[[nodiscard]] Functions attention_operators();
[[nodiscard]] Functions window_operators();
[[nodiscard]] Functions shape_operators();
[[nodiscard]] Functions index_operators();
[[nodiscard]] Functions sampling_operators();
[[nodiscard]] Functions recurrent_operators();
[[nodiscard]] Functions quantized_operators();
[[nodiscard]] Functions spectral_operators();

} // namespace rtexec::test
