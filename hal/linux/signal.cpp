#include "hal/system.hpp"
#include "hal/thread.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rtexec::hal {
namespace {

/// Returns the futex operation `shared`, or its cheaper private variant if all threads belong to one process.
template <bool between_processes> constexpr int operation(int shared) {
  return between_processes ? shared : shared | FUTEX_PRIVATE_FLAG;
}

timespec to_timespec(Instant when) {
  // The kernel refuses negative times
  const auto ns = std::max<std::int64_t>(when.time_since_epoch().count(), 0);
  return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

} // namespace

template <bool shared> void BasicSignal<shared>::raise() noexcept {
  word_.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &word_, operation<shared>(FUTEX_WAKE), INT_MAX);
}

template <bool shared> void BasicSignal<shared>::wait(std::uint32_t seen) const noexcept {
  ::syscall(SYS_futex, &word_, operation<shared>(FUTEX_WAIT), seen, nullptr);
}

template <bool shared> bool BasicSignal<shared>::wait_until(std::uint32_t seen, Instant deadline) const noexcept {
  const timespec absolute = to_timespec(deadline);
  const auto outcome = ::syscall(SYS_futex, &word_, operation<shared>(FUTEX_WAIT_BITSET), seen, &absolute, nullptr,
                                 FUTEX_BITSET_MATCH_ANY);
  return outcome == 0 || errno != ETIMEDOUT;
}

template class BasicSignal<false>;
template class BasicSignal<true>;

unsigned current_core() noexcept { return static_cast<unsigned>(::sched_getcpu()); }

void sleep_until(Instant when) noexcept {
  const timespec absolute = to_timespec(when);
  while (sys().clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &absolute, nullptr) != 0 && errno == EINTR) {}
}

Instant now() noexcept { return std::chrono::steady_clock::now(); }

Duration execution_time() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

ThreadUse thread_use() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {.processor = execution_time(), .waits = usage.ru_nvcsw};
}

Duration used_between(const ThreadUse& begin, const ThreadUse& end, Duration passed) noexcept {
  return begin.waits == end.waits ? std::min(passed, end.processor - begin.processor) : passed;
}

Duration tick() noexcept {
  timespec resolution{};
  ::clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return std::chrono::seconds(resolution.tv_sec) + Duration(resolution.tv_nsec);
}

} // namespace rtexec::hal
