// The location of the test files of config/.
#pragma once

#include <filesystem>

namespace rtexec::test {

/// Returns test/config/, as passed to the compiler.
inline std::filesystem::path folder() { return std::filesystem::path(__FILE__).parent_path().lexically_normal(); }

} // namespace rtexec::test
