#include "test/rtexec/thread_watch.hpp"

#include <atomic>
#include <cstddef>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WATCHING 1
#else
#define WATCHING 0
#endif

namespace {

struct Slot {
  std::atomic<int> kernel_id{0};
  std::atomic<std::uint64_t> allocations{0};
  std::atomic<std::uint64_t> locks{0};
};
constexpr std::size_t slot_count = 4096;
Slot slots[slot_count];

[[maybe_unused]] Slot& own_slot() {
  static thread_local Slot* own = nullptr;
  if (own != nullptr) return *own;
  const int id = ::gettid();
  for (std::size_t i = static_cast<std::size_t>(id) % slot_count;; i = (i + 1) % slot_count) {
    int expected = 0;
    if (slots[i].kernel_id.compare_exchange_strong(expected, id) || expected == id) return *(own = &slots[i]);
  }
}

} // namespace

namespace rtexec::test {

bool watching() { return WATCHING != 0; }

ThreadCounts counts_of(int kernel_id) {
  for (const Slot& slot : slots)
    if (slot.kernel_id.load() == kernel_id) return {slot.allocations.load(), slot.locks.load()};
  return {};
}

} // namespace rtexec::test

#if WATCHING
extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  ++own_slot().allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++own_slot().allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
  ++own_slot().allocations;
  return __libc_realloc(block, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++own_slot().allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  ++own_slot().allocations;
  *block = __libc_memalign(alignment, size);
  return *block == nullptr ? 12 : 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static std::atomic<Lock> real{nullptr};
  if (real.load() == nullptr) real.store(reinterpret_cast<Lock>(::dlsym(RTLD_NEXT, "pthread_mutex_lock")));
  ++own_slot().locks;
  return real.load()(mutex);
}
}
#endif
