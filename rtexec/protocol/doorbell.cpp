#include "rtexec/protocol/doorbell.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace rtexec::protocol {

void Doorbell::ring() noexcept {
  word_.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &word_, FUTEX_WAKE, INT_MAX);
}

void Doorbell::wait(std::uint32_t seen) const noexcept { ::syscall(SYS_futex, &word_, FUTEX_WAIT, seen, nullptr); }

bool Doorbell::wait_until(std::uint32_t seen, Instant deadline) const noexcept {
  const auto ns = std::max<std::int64_t>(deadline.time_since_epoch().count(), 0);
  const timespec absolute{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  const auto outcome =
      ::syscall(SYS_futex, &word_, FUTEX_WAIT_BITSET, seen, &absolute, nullptr, FUTEX_BITSET_MATCH_ANY);
  return outcome == 0 || errno != ETIMEDOUT;
}

} // namespace rtexec::protocol
