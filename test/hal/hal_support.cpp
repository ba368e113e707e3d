#include "test/hal/hal_support.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace rtexec::hal::test {

namespace fs = std::filesystem;

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

} // namespace rtexec::hal::test
