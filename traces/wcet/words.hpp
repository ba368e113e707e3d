// Formats numbers for texts that explain the statistics of a WCET to the user: the rule of a test or of a choice, and
// the reason why there is no estimate.
#pragma once

#include <concepts>
#include <cstdio>
#include <string>

namespace rtexec::traces {

[[nodiscard]] inline std::string number(std::integral auto value) { return std::to_string(value); }

[[nodiscard]] inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

} // namespace rtexec::traces
