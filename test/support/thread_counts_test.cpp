// Tests the counters themselves. A counter stuck at 0 would make tests that rely on it pass, so this test is linked
// into each test program.
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <unistd.h>

namespace rtexec::test {
namespace {

/// Keeps the compiler from optimising the allocation away.
void* kept(void* block) {
  static void* volatile last;
  last = block;
  return last;
}

#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t ways = 5; // ThreadSanitizer does not report aligned_alloc
#else
constexpr std::uint64_t ways = 6;
#endif

void allocate_in_each_way() {
  std::free(kept(std::malloc(1)));
  std::free(kept(std::calloc(1, 1)));
  std::free(kept(std::realloc(nullptr, 1)));
  std::free(kept(std::aligned_alloc(64, 64)));
  ::operator delete(kept(::operator new(1)));
  ::operator delete (kept(::operator new (1, std::align_val_t{64})), std::align_val_t{64});
}

TEST(ThreadCounts, CountEachAllocation) {
  const auto before = allocations();
  allocate_in_each_way();
  EXPECT_EQ(allocations(), before + ways);
}

TEST(ThreadCounts, CountEachThreadSeparately) {
  const int here = ::gettid();
  int there = 0;
  ThreadCounts before_here, before_there;
  std::mutex mutex;
  std::thread([&] {
    there = ::gettid();
    before_here = counts_of(here);
    before_there = counts_of(there);
    allocate_in_each_way();
    const std::scoped_lock lock(mutex);
    EXPECT_EQ(counts_of(here).allocations, before_here.allocations);
    EXPECT_EQ(counts_of(here).locks, before_here.locks);
    EXPECT_EQ(counts_of(there).locks, before_there.locks + 1);
  }).join();
  EXPECT_EQ(counts_of(there).allocations, before_there.allocations + ways);
}

} // namespace
} // namespace rtexec::test
