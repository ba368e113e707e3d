// A mutex with priority inheritance (PTHREAD_PRIO_INHERIT): its holder runs at the priority of the most urgent waiting
// thread. For threads of different priorities that hold the mutex for a bounded time. Works with std::scoped_lock.
#pragma once

#include <pthread.h>

namespace rtexec::hal {

class InheritingMutex {
 public:
  InheritingMutex() noexcept {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes); // no call here fails if the C library supports the protocol
    ::pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    ::pthread_mutex_init(&mutex_, &attributes);
    ::pthread_mutexattr_destroy(&attributes);
  }
  ~InheritingMutex() { ::pthread_mutex_destroy(&mutex_); }
  InheritingMutex(const InheritingMutex&) = delete;
  InheritingMutex& operator=(const InheritingMutex&) = delete;

  void lock() noexcept { ::pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

} // namespace rtexec::hal
