// The files of a study's folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rtexec::report {

/// Names and contents of files.
using Files = std::vector<std::pair<std::string, std::string>>;

} // namespace rtexec::report
