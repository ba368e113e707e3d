// Counts the heap allocations (malloc, calloc, realloc, new...) and mutex locks of each thread of a test program:
// thread_counts.cpp replaces the functions. Under the sanitizers too, but for aligned_alloc and posix_memalign under
// ThreadSanitizer.
#pragma once

#include <cstdint>

namespace rtexec::test {

struct ThreadCounts {
  std::uint64_t allocations = 0;
  std::uint64_t locks = 0;
};

/// Since the thread began. Any thread may ask, of a running thread or of one that ended.
[[nodiscard]] ThreadCounts counts_of(int kernel_id);

/// Of the calling thread.
[[nodiscard]] std::uint64_t allocations();

} // namespace rtexec::test
