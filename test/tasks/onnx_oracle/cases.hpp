// Helpers for lists of cases.
#pragma once

#include "test/tasks/onnx_oracle/agreement.hpp"

#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::test {

using Names = std::vector<std::string>;

inline constexpr Index as_float = 1; // TensorProto.DataType
/// The tolerance for a quantized output of eight bits that may be off by one.
inline constexpr double one_unit = 0.0085;

/// Returns a text such as "2x3", or "scalar".
[[nodiscard]] inline std::string shape_name(const Ints& shape) { return shape.empty() ? "scalar" : to_text(shape); }

/// Returns "_1_m2" for {1, -2}.
[[nodiscard]] inline std::string list_name(const Ints& list) {
  std::string text;
  for (const Index value : list) text += "_" + (value < 0 ? "m" + std::to_string(-value) : std::to_string(value));
  return text;
}

/// Returns the same seed for the same name.
[[nodiscard]] inline std::uint64_t seed_of(const std::string& name) {
  std::uint64_t seed = 7;
  for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
  return seed;
}

/// Makes a case. Its model has the outputs that make(model) names, one or several.
template <class F> [[nodiscard]] Case make_case(std::string name, int opset, F make, double tolerance = one_operator) {
  name += "_opset" + std::to_string(opset);
  const auto build = [=] {
    Model model(seed_of(name), opset);
    if constexpr (std::is_convertible_v<decltype(make(model)), Names>)
      for (const std::string& output : make(model)) model.output(output);
    else model.output(make(model));
    return model;
  };
  return {name, build, tolerance};
}

/// Makes a case of one node with one input, whose elements are in `range`.
[[nodiscard]] inline Case of_one_input(const std::string& name, int opset, const std::string& type, const Ints& shape,
                                       const Attributes& attributes = {}, Range range = {}) {
  return make_case(name, opset, [=](Model& m) { return m.node(type, {m.input(shape, range)}, attributes); });
}

/// Returns floats without a fraction, so that some are equal.
[[nodiscard]] inline Array whole_floats(const Ints& shape, Index low, Index high, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<Index> between(low, high);
  Array x(shape);
  for (double& value : x.values) value = static_cast<double>(between(random));
  return x;
}

/// Returns a vector of floats.
[[nodiscard]] inline Array vector_of(const std::vector<double>& values) {
  Array x({static_cast<Index>(values.size())});
  x.values = values;
  return x;
}

/// Returns a constant tensor of integers with these values and this shape.
[[nodiscard]] inline Array integers_of(const Ints& shape, const Ints& values, Kind kind = Kind::int64) {
  Array x(shape, kind);
  x.values.assign(values.begin(), values.end());
  return x;
}

} // namespace rtexec::test
