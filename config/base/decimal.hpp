// Converts a number to text. This is in a file of its own, since it needs a library that not all users of text.hpp
// need.
#pragma once

#include <string>

namespace rtexec::config {

/// Returns the shortest text that number() (text.hpp) reads as exactly `x`.
[[nodiscard]] std::string decimal(double x);

} // namespace rtexec::config
