#include "tasks/base/shape.hpp"

namespace rtexec::tasks {

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const auto dimension : shape) count *= dimension;
  return count;
}

std::string to_string(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const auto dimension : shape) text += (text.empty() ? "" : "x") + std::to_string(dimension);
  return text;
}

} // namespace rtexec::tasks
