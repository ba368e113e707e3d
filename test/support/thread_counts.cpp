#include "test/support/thread_counts.hpp"

#include "test/support/sanitized.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

namespace {

struct Slot {
  std::atomic<int> kernel_id{0};
  std::atomic<std::uint64_t> allocations{0};
  std::atomic<std::uint64_t> locks{0};
};
constexpr std::size_t slot_count = 1 << 17; // maximum number of threads that a test program starts in total
Slot slots[slot_count];

/// Returns the slot of the thread, and takes a free one for a thread that has none.
Slot& slot_of(int kernel_id) {
  for (std::size_t i = 0; i < slot_count; ++i) {
    Slot& slot = slots[(static_cast<std::size_t>(kernel_id) + i) % slot_count];
    int owner = 0;
    if (slot.kernel_id.compare_exchange_strong(owner, kernel_id) || owner == kernel_id) return slot;
  }
  std::abort();
}

Slot& own_slot() {
  static thread_local Slot* own = nullptr;
  if (own == nullptr) own = &slot_of(::gettid());
  return *own;
}

/// Increments a counter of the calling thread's slot. No other thread writes to that slot.
void count(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

} // namespace

namespace rtexec::test {

ThreadCounts counts_of(int kernel_id) {
  const Slot& slot = slot_of(kernel_id);
  return {slot.allocations.load(), slot.locks.load()};
}

std::uint64_t allocations() { return own_slot().allocations.load(); }

} // namespace rtexec::test

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static std::atomic<Lock> real{nullptr};
  if (real.load() == nullptr) real.store(reinterpret_cast<Lock>(::dlsym(RTLD_NEXT, "pthread_mutex_lock")));
  count(own_slot().locks);
  return real.load()(mutex);
}

#ifdef RTEXEC_SANITIZED

// From sanitizer/allocator_interface.h, which g++ does not install.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, std::size_t),
                                                         void (*released)(const volatile void*));

namespace {
void on_allocation(const volatile void*, std::size_t) { count(own_slot().allocations); }
void on_release(const volatile void*) {}
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(on_allocation, on_release);
} // namespace

#else

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  count(own_slot().allocations);
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  count(own_slot().allocations);
  return __libc_calloc(n, size);
}
void* realloc(void* block, std::size_t size) {
  count(own_slot().allocations);
  return __libc_realloc(block, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count(own_slot().allocations);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  count(own_slot().allocations);
  *block = __libc_memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}
}

#endif
