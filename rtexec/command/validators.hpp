// What options of several commands may be.
#pragma once

#include <CLI/Validators.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

namespace rtexec::command {

/// CLI::Range takes "nan" for a number in range.
[[nodiscard]] inline CLI::Validator number_within(double least, double most) {
  const CLI::Range range(least, most);
  const auto check = [range](std::string& text) {
    const std::string refusal = range(text);
    return refusal.empty() && std::isnan(std::strtod(text.c_str(), nullptr)) ? "Value " + text + " is no number"
                                                                             : refusal;
  };
  return {check, range.get_description()};
}

/// Without a description, which help would show.
[[nodiscard]] inline CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? std::string("must not be empty") : std::string(); }, ""};
}

} // namespace rtexec::command
