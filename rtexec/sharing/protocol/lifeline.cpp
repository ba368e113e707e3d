#include "rtexec/sharing/protocol/lifeline.hpp"

#include <climits>
#include <sys/syscall.h>
#include <unistd.h>

namespace rtexec::protocol {
namespace {

constexpr std::uint32_t ended = FUTEX_OWNER_DIED;

} // namespace

bool Lifeline::hold() noexcept {
  pthread_mutexattr_t attributes;
  if (::pthread_mutexattr_init(&attributes) != 0) return false;
  const bool made = ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                    ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                    ::pthread_mutex_init(&mutex_, &attributes) == 0;
  ::pthread_mutexattr_destroy(&attributes);
  if (!made || ::pthread_mutex_lock(&mutex_) != 0) return false;
  word().fetch_or(FUTEX_WAITERS, std::memory_order_acq_rel); // so that the kernel wakes the daemon at this thread's end
  wake();
  return true;
}

bool Lifeline::broken() const noexcept { return (word().load(std::memory_order_acquire) & ended) != 0; }

void Lifeline::wait() const noexcept {
  const std::uint32_t seen = word().load(std::memory_order_acquire);
  if ((seen & ended) == 0) ::syscall(SYS_futex, &mutex_, FUTEX_WAIT, seen, nullptr);
}

void Lifeline::cut() noexcept {
  word().fetch_or(ended, std::memory_order_acq_rel);
  wake();
}

void Lifeline::wake() noexcept { ::syscall(SYS_futex, &mutex_, FUTEX_WAKE, INT_MAX); }

} // namespace rtexec::protocol
