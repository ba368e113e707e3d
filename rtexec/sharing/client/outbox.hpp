// Sends a client's entries to the daemon. Several threads may send; a lock serialises them. Each entry goes into the
// ring and wakes the daemon.
#pragma once

#include "hal/inheriting_mutex.hpp"
#include "rtexec/sharing/protocol/segment.hpp"

namespace rtexec::client {

class Outbox {
 public:
  explicit Outbox(protocol::Segment& segment) noexcept : segment_(segment), producer_(segment.to_daemon) {}

  /// Appends an entry. Returns false if the ring is full. A full ring means that the daemon has stopped reading,
  /// because a client never has so many unread entries otherwise. Any thread.
  [[nodiscard]] bool send(protocol::Entry entry) noexcept;

 private:
  protocol::Segment& segment_;
  protocol::Producer producer_;
  hal::InheritingMutex lock_; // guards `producer_`
};

} // namespace rtexec::client
