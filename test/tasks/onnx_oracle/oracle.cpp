#include "test/tasks/onnx_oracle/oracle.hpp"

#include <limits>
#include <numeric>
#include <stdexcept>

namespace rtexec::test {
namespace {

Functions every_operator() {
  Functions all;
  for (const auto& some : {element_operators, reduction_operators, normalization_operators, matmul_operators,
                           attention_operators, window_operators, shape_operators, index_operators, sampling_operators,
                           recurrent_operators, quantized_operators, spectral_operators})
    all.merge(some());
  return all;
}

struct Call {
  const Operator& node;

  std::vector<Array> operator()(Array (*function)(const Operator&)) const { return {function(node)}; }
  std::vector<Array> operator()(std::vector<Array> (*function)(const Operator&)) const { return function(node); }
};

} // namespace

std::vector<Array> evaluate(const Operator& node) {
  static const Functions functions = every_operator();
  const auto found = functions.find(node.type);
  if (found == functions.end()) throw std::invalid_argument("the oracle has no operator " + node.type);
  return std::visit(Call{node}, found->second);
}

Ints integers(const Array& array) {
  constexpr double beyond = 0x1p63; // the double nearest to INT64_MAX, which means "to the end"
  Ints list;
  for (const double value : array.values)
    list.push_back(value >= beyond ? std::numeric_limits<Index>::max() : static_cast<Index>(value));
  return list;
}

Ints every_axis(Index rank) {
  Ints axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Array with_shape(Array x, Ints shape) {
  if (product(shape) != x.size()) throw std::invalid_argument("a shape of another size");
  x.shape = std::move(shape);
  return x;
}

} // namespace rtexec::test
