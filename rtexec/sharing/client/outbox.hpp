// A client's way to the daemon: entries of several threads into the one ring, and its bell.
#pragma once

#include "hal/inheriting_mutex.hpp"
#include "rtexec/sharing/protocol/segment.hpp"

namespace rtexec::client {

class Outbox {
 public:
  explicit Outbox(protocol::Segment& segment) noexcept : segment_(segment), producer_(segment.to_daemon) {}

  /// False: the daemon takes nothing any more; no client has as many entries under way as the ring holds. Any thread.
  [[nodiscard]] bool send(protocol::Entry entry) noexcept;

 private:
  protocol::Segment& segment_;
  protocol::Producer producer_;
  hal::InheritingMutex lock_; // of producer_
};

} // namespace rtexec::client
