#include "rtexec/sharing/client/outbox.hpp"

#include "hal/thread.hpp"

#include <mutex>

namespace rtexec::client {

bool Outbox::send(protocol::Entry entry) noexcept {
  entry.time_ns = hal::now().time_since_epoch().count();
  {
    const std::scoped_lock lock(lock_);
    if (producer_.push(entry) != protocol::Turn::done) return false;
  }
  segment_.to_daemon_bell.raise();
  return true;
}

} // namespace rtexec::client
