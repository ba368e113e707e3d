// Converts a number to text. In a separate file, because not all users of text.hpp need the library that it uses.
#pragma once

#include <string>

namespace rtexec::config {

/// Returns the shortest text that number() (text.hpp) converts to exactly `x`.
[[nodiscard]] std::string decimal(double x);

} // namespace rtexec::config
