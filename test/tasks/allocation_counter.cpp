#include "test/tasks/allocation_counter.hpp"

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RTEXEC_SANITIZED 1
#endif

namespace {
thread_local std::size_t count = 0;
}

namespace rtexec::test {
std::size_t allocations() noexcept { return count; }
} // namespace rtexec::test

#ifdef RTEXEC_SANITIZED

// Of the sanitizers' public interface; GCC installs no header for it.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t), void (*)(const volatile void*));

namespace {
void allocated(const volatile void*, std::size_t) { ++count; }
void freed(const volatile void*) {}
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(allocated, freed);
} // namespace

#else

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  ++count;
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  ++count;
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  ++count;
  return __libc_realloc(p, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++count;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t size) {
  ++count;
  *p = __libc_memalign(alignment, size);
  return *p ? 0 : 12; // ENOMEM
}
}

#endif
