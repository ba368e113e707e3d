#include "rtexec/sharing/preload/preloaded_library.hpp"

#include "rtexec/sharing/protocol/messages.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace rtexec::preload {
namespace {

enum class Part : std::uint8_t { unknown, taken, turned_away, none };
constinit std::atomic<Part> part{Part::unknown};
constinit std::atomic<unsigned> said{0};

const char* in_environment(const char* name) noexcept {
  const char* value = secure_getenv(name);
  return value != nullptr && value[0] != '\0' ? value : nullptr;
}

Part find_out() noexcept {
  if (in_environment("RTEXEC_CLIENT") == nullptr) {
    say_once(Occasion::standing, "RTEXEC_CLIENT is not set: CUDA's functions are passed on unchanged");
    return Part::none;
  }
  if (!protocol::is_name(client_name())) {
    say_once(Occasion::standing,
             "RTEXEC_CLIENT must have at most 63 characters of printable ASCII: this process gets neither memory nor "
             "time of the device");
    return Part::turned_away;
  }
  if (::access(daemon_directory(), X_OK) == 0) return Part::taken;
  const bool forbidden = errno == EACCES;
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(), "no daemon at %.300s (%s): %s", daemon_directory(), std::strerror(errno),
                forbidden ? "this process gets neither memory nor time of the device"
                          : "CUDA's functions are passed on unchanged");
  say_once(Occasion::standing, text.data());
  return forbidden ? Part::turned_away : Part::none;
}

} // namespace

const char* client_name() noexcept {
  const char* name = in_environment("RTEXEC_CLIENT");
  return name != nullptr ? name : "";
}

const char* daemon_directory() noexcept {
  const char* path = in_environment("RTEXEC_DAEMON");
  return path != nullptr ? path : "/run/rtexec/daemon";
}

bool takes_part() noexcept {
  Part now = part.load(std::memory_order_acquire);
  if (now == Part::unknown) [[unlikely]] {
    const Part found = find_out();
    if (part.compare_exchange_strong(now, found)) now = found;
  }
  return now != Part::none;
}

void step_back(std::string_view reason) noexcept {
  part.store(Part::none, std::memory_order_release);
  if (!reason.empty()) say(reason);
}

void turn_away(std::string_view reason) noexcept {
  part.store(Part::turned_away, std::memory_order_release);
  say(reason);
}

bool turned_away() noexcept { return part.load(std::memory_order_acquire) == Part::turned_away; }

void say(std::string_view text) noexcept {
  std::array<char, 512> line{};
  const int length = std::snprintf(line.data(), line.size(), "rtexec: process %d: %.*s\n", static_cast<int>(::getpid()),
                                   static_cast<int>(text.size()), text.data());
  if (length <= 0) return;
  const auto size = std::min(static_cast<std::size_t>(length), line.size() - 1);
  line[size - 1] = '\n';
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), size);
}

void say_once(Occasion occasion, std::string_view text) noexcept {
  const unsigned bit = 1U << static_cast<unsigned>(occasion);
  if ((said.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) say(text);
}

} // namespace rtexec::preload
