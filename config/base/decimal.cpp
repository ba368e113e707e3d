#include "config/base/decimal.hpp"

#include <charconv>

namespace rtexec::config {

std::string decimal(double x) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, x).ptr};
}

} // namespace rtexec::config
