// Where the files of this room's tests are.
#pragma once

#include <filesystem>

namespace rtexec::test {

/// test/config/, as the compiler was given it.
inline std::filesystem::path folder() { return std::filesystem::path(__FILE__).parent_path().lexically_normal(); }

} // namespace rtexec::test
