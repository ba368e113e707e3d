// The files that a study writes into its folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rtexec::report {

/// The names and contents of files.
using Files = std::vector<std::pair<std::string, std::string>>;

} // namespace rtexec::report
