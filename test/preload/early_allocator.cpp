// Replaces malloc with one that looks up the C library's with dlsym on its first call, as preloaded allocators do.
#include <atomic>
#include <cstddef>
#include <dlfcn.h>

namespace {
std::atomic<void* (*)(std::size_t)> real{nullptr};
alignas(16) char early[65536]; // for allocations during that lookup
std::atomic<std::size_t> used{0};
thread_local bool searches = false;
} // namespace

extern "C" [[gnu::visibility("default")]] void* malloc(std::size_t size) {
  if (searches) return early + used.fetch_add((size + 15) / 16 * 16);
  if (real.load() == nullptr) {
    searches = true;
    real = reinterpret_cast<void* (*)(std::size_t)>(::dlsym(RTLD_NEXT, "malloc"));
    searches = false;
  }
  return real.load()(size);
}
