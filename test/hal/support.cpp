#include "test/hal/support.hpp"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace {
std::atomic<std::size_t> allocated{0};
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// Of sanitizer/allocator_interface.h, which g++ does not install.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, std::size_t), void (*released)(const volatile void*));

namespace {
void on_allocation(const volatile void*, std::size_t) { allocated.fetch_add(1, std::memory_order_relaxed); }
void on_release(const volatile void*) {}
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(on_allocation, on_release);
} // namespace

#else

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);

void* malloc(std::size_t size) {
  allocated.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  allocated.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  allocated.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}
}

#endif

namespace rtexec::hal::test {

namespace fs = std::filesystem;

std::size_t allocations() noexcept { return allocated.load(); }

Held held() {
  Held found;
  found.files = static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
  found.threads = static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/task"), {}));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:rtexec-device") != line.npos) ++found.device_mappings;
  }
  return found;
}

namespace {
std::string why_not(const ThreadSettings& settings) {
  const auto thread = Thread::start(settings, [] {});
  return thread ? "" : thread.error().what;
}
} // namespace

std::string why_no_fifo() {
  ThreadSettings settings;
  settings.fifo_priority = 1;
  return why_not(settings);
}

std::string why_no_deadline() {
  using namespace std::chrono_literals;
  ThreadSettings settings;
  settings.reservation = Reservation{100us, 100ms, 100ms};
  return why_not(settings);
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "rtexec-hal-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TemporaryFolder::write(const fs::path& file, std::string_view text) const {
  const fs::path full = path_ / file.relative_path();
  fs::create_directories(full.parent_path());
  std::ofstream(full) << text;
}

std::string TemporaryFolder::read(const fs::path& file) const {
  std::ifstream in(path_ / file.relative_path());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace rtexec::hal::test
