// Counts the heap allocations (malloc, calloc, realloc, new...) and mutex locks of each thread of a test program.
// thread_counts.cpp replaces these functions, under the sanitizers too. ThreadSanitizer does not report aligned_alloc
// and posix_memalign.
#pragma once

#include <cstdint>

namespace rtexec::test {

struct ThreadCounts {
  std::uint64_t allocations = 0;
  std::uint64_t locks = 0;
};

/// Returns the counts since the thread began. Any thread may call it, for a running thread or one that ended.
[[nodiscard]] ThreadCounts counts_of(int kernel_id);

/// Returns the number of heap allocations of the calling thread.
[[nodiscard]] std::uint64_t allocations();

} // namespace rtexec::test
