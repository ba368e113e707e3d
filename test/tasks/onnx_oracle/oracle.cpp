#include "test/tasks/onnx_oracle/oracle.hpp"

#include <limits>
#include <stdexcept>

namespace rtexec::test {

std::vector<Array> evaluate(const Operator& node) {
  if (node.type == "Split") return split(node);
  for (const Functions* functions : {&window_operators(), &math_operators(), &shape_operators()})
    if (const auto found = functions->find(node.type); found != functions->end()) return {found->second(node)};
  throw std::invalid_argument("the oracle has no operator " + node.type);
}

Ints integers(const Array& array) {
  constexpr double beyond = 0x1p63; // INT64_MAX, which means "to the end", is rounded to this
  Ints list;
  for (const double value : array.values)
    list.push_back(value >= beyond ? std::numeric_limits<Index>::max() : static_cast<Index>(value));
  return list;
}

} // namespace rtexec::test
