// Counts, for each thread of the test program, its heap allocations and mutex locks: both functions are replaced in
// thread_watch.cpp. Not under sanitizers, which replace them themselves.
#pragma once

#include <cstdint>

namespace rtexec::test {

struct ThreadCounts {
  std::uint64_t allocations = 0;
  std::uint64_t locks = 0;
};

[[nodiscard]] bool watching();
[[nodiscard]] ThreadCounts counts_of(int kernel_id);

} // namespace rtexec::test
