// Evaluates shape arithmetic: operations on values that are known at load, integers of any rank or floats of rank 0 or
// 1.
#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace rtexec::tasks::onnx_source {
namespace {

constexpr auto int64_max = std::numeric_limits<std::int64_t>::max();

/// A scalar or a list of integers or floats.
template <class T> struct List {
  bool scalar = false;
  std::vector<T> values;
};

template <class T> std::vector<T> values_of(const NodeContext& node, std::size_t input) {
  if constexpr (std::is_same_v<T, float>) return node.floats(input, "the input");
  else return node.ints(input, "the input");
}

template <class T> List<T> list_of(const NodeContext& node, std::size_t input) {
  if (node.shape(input).size() > 1)
    node.unsupported("input " + node.name_of(input) + " has " + dimensions(node.shape(input)) +
                     "; supported: a scalar or a list");
  return {node.shape(input).empty(), values_of<T>(node, input)};
}

/// Converts values to the form in which a constant stores them.
std::vector<float> typed(std::vector<float> values, ElementType) { return values; }
Integers typed(const std::vector<std::int64_t>& values, ElementType type) { return {values, type}; }

template <class T> void set_list(NodeContext& node, List<T> list) {
  const auto size = static_cast<std::int64_t>(list.values.size());
  node.set_constant({list.scalar ? Shape{} : Shape{size}, typed(std::move(list.values), node.element_type(0))});
}

template <class T> T arithmetic(NodeContext& node, T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    return node.type() == "Add" ? a + b : node.type() == "Sub" ? a - b : node.type() == "Mul" ? a * b : a / b;
  } else {
    const auto p = static_cast<std::uint64_t>(a), q = static_cast<std::uint64_t>(b);
    if (node.type() == "Div") {
      node.require(b != 0, "a division by zero");
      if (node.element_type(0) == ElementType::uint64) return static_cast<T>(p / q);
      return b == -1 ? static_cast<T>(0 - p) : a / b;
    }
    return static_cast<T>(node.type() == "Add" ? p + q : node.type() == "Sub" ? p - q : p * q);
  }
}

template <class T> void evaluate_binary(NodeContext& node) {
  node.require(node.inputs() == 2, "it needs two inputs");
  const auto a = list_of<T>(node, 0), b = list_of<T>(node, 1);
  const auto m = a.values.size(), n = b.values.size();
  node.require(m == n || m == 1 || n == 1, "its inputs cannot be broadcast together");
  List<T> result{a.scalar && b.scalar, std::vector<T>(m == 0 || n == 0 ? 0 : std::max(m, n))};
  for (std::size_t i = 0; i < result.values.size(); ++i)
    result.values[i] = arithmetic<T>(node, a.values[m == 1 ? 0 : i], b.values[n == 1 ? 0 : i]);
  set_list(node, std::move(result));
}

std::int64_t to_integer(float value) {
  constexpr float limit = 9.2e18F;
  return value >= limit    ? int64_max
         : value > -limit  ? static_cast<std::int64_t>(value)
         : value <= -limit ? std::numeric_limits<std::int64_t>::min()
                           : 0;
}

template <class T> void evaluate_cast(NodeContext& node) {
  const auto from = list_of<T>(node, 0);
  const auto target = cast_target(node);
  const Shape shape = from.scalar ? Shape{} : Shape{static_cast<std::int64_t>(from.values.size())};
  if (!is_integer(target)) {
    std::vector<float> floats;
    for (const auto value : from.values) floats.push_back(static_cast<float>(value));
    return node.set_constant({shape, std::move(floats)});
  }
  std::vector<std::int64_t> whole;
  for (const auto value : from.values) {
    if (target == ElementType::boolean) whole.push_back(value != 0);
    else if constexpr (std::is_same_v<T, float>) whole.push_back(to_integer(value));
    else whole.push_back(value);
  }
  node.set_constant({shape, Integers(whole, target)});
}

template <class T> void evaluate_gather(NodeContext& node) {
  const auto data = list_of<T>(node, 0);
  node.require(!data.scalar, "its input is a scalar");
  (void)node.axis(node.attribute<std::int64_t>("axis", 0), 1);
  List<T> result{node.shape(1).empty(), {}};
  for (const auto index :
       checked_indices(node, node.ints(1, "the indices"), static_cast<std::int64_t>(data.values.size())))
    result.values.push_back(data.values[static_cast<std::size_t>(index)]);
  set_list(node, std::move(result));
}

template <class T> void evaluate_slice(NodeContext& node) {
  const auto data = list_of<T>(node, 0);
  node.require(!data.scalar, "its input is a scalar");
  const auto cut = cuts_of(node, {static_cast<std::int64_t>(data.values.size())}).front();
  List<T> result;
  for (std::int64_t i = 0; i < cut.count; ++i)
    result.values.push_back(data.values[static_cast<std::size_t>(cut.start + i * cut.step)]);
  set_list(node, std::move(result));
}

template <class T> void evaluate_concat(NodeContext& node) {
  (void)node.axis(node.attribute<std::int64_t>("axis"), 1);
  List<T> result;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const auto part = list_of<T>(node, i);
    node.require(!part.scalar, "an input is a scalar");
    result.values.insert(result.values.end(), part.values.begin(), part.values.end());
  }
  set_list(node, std::move(result));
}

/// Evaluates Squeeze, Unsqueeze, Reshape and Identity, which do not change the elements. The result may have any shape.
template <class T> void evaluate_rename(NodeContext& node) {
  const auto& x = node.shape(0);
  const auto& type = node.type();
  auto shape = type == "Squeeze"     ? squeezed(node, x, axes_of(node))
               : type == "Unsqueeze" ? unsqueezed(node, x, axes_of(node))
               : type == "Reshape"   ? requested_shape(node, x, node.ints(1, "the shape"))
                                     : x;
  node.set_constant({std::move(shape), typed(values_of<T>(node, 0), node.element_type(0))});
}

template <class T> void evaluate_rounding(NodeContext& node) {
  auto list = list_of<T>(node, 0);
  if constexpr (std::is_same_v<T, float>)
    for (auto& value : list.values) value = node.type() == "Floor" ? std::floor(value) : std::ceil(value);
  set_list(node, std::move(list));
}

template <class T> const std::map<std::string_view, Lower>& arithmetic_operators() {
  static const std::map<std::string_view, Lower> table{
      {"Add", evaluate_binary<T>},       {"Sub", evaluate_binary<T>},     {"Mul", evaluate_binary<T>},
      {"Div", evaluate_binary<T>},       {"Cast", evaluate_cast<T>},      {"Gather", evaluate_gather<T>},
      {"Slice", evaluate_slice<T>},      {"Concat", evaluate_concat<T>},  {"Squeeze", evaluate_rename<T>},
      {"Unsqueeze", evaluate_rename<T>}, {"Reshape", evaluate_rename<T>}, {"Identity", evaluate_rename<T>},
      {"Floor", evaluate_rounding<T>},   {"Ceil", evaluate_rounding<T>}};
  return table;
}

} // namespace

bool evaluate_shape_arithmetic(NodeContext& node) {
  if (!arithmetic_operators<float>().contains(node.type()) || !node.has(0) || node.is_sequence(0)) return false;
  const auto& type = node.type();
  const bool all_data = type == "Concat" || type == "Add" || type == "Sub" || type == "Mul" || type == "Div";
  const std::size_t data = all_data ? node.inputs() : type == "Gather" ? 2 : 1;
  const bool renames = type == "Squeeze" || type == "Unsqueeze" || type == "Reshape" || type == "Identity";
  const auto all = [&](std::size_t count, auto fits) {
    for (std::size_t i = 0; i < count; ++i)
      if (!node.has(i) || !fits(i) || (node.shape(i).size() > 1 && !renames)) return false;
    return true;
  };
  if (all(data, [&](std::size_t i) { return node.is_ints(i); })) {
    arithmetic_operators<std::int64_t>().at(type)(node);
    return true;
  }
  const auto is_list = [&](std::size_t i) {
    return !node.is_ints(i) && node.is_known(i) && !is_integer(node.element_type(i)) && node.shape(i).size() <= 1;
  };
  if (!all(all_data ? node.inputs() : 1, is_list)) return false;
  if (type == "Gather" && !(node.is_ints(1) && node.shape(1).size() <= 1)) return false;
  arithmetic_operators<float>().at(type)(node);
  return true;
}

} // namespace rtexec::tasks::onnx_source
