// Formats numbers for texts to the user: rules and reasons.
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
