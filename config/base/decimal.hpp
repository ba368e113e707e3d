// A number as text. It is in a file of its own, since it needs a library that not all users of text need.
#pragma once

#include <string>

namespace rtexec::config {

/// Returns the shortest text from which number() makes `x` again.
[[nodiscard]] std::string decimal(double x);

} // namespace rtexec::config
