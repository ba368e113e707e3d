#include "rtexec/protocol/lifeline.hpp"

namespace rtexec::protocol {

bool Lifeline::hold() noexcept {
  pthread_mutexattr_t attributes;
  if (::pthread_mutexattr_init(&attributes) != 0) return false;
  const bool made = ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                    ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                    ::pthread_mutex_init(&mutex_, &attributes) == 0;
  ::pthread_mutexattr_destroy(&attributes);
  return made && ::pthread_mutex_lock(&mutex_) == 0;
}

} // namespace rtexec::protocol
