// A number as text: in a file of its own, since it needs a library that not all who read text need.
#pragma once

#include <string>

namespace rtexec::config {

/// The shortest text of which number() makes `x` again.
[[nodiscard]] std::string decimal(double x);

} // namespace rtexec::config
