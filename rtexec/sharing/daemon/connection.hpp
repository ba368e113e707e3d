// One process connected to the daemon: an observer until it sends Hello, then a client. A client shares memory with the
// daemon (segment.hpp) and has two threads here: one takes the entries of its ring, one waits for its end. A flood of
// entries keeps only the threads of that client busy, for a small part of each millisecond.
//
// Owned by the server. Threading: the server's thread, except where another is named.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "config/base/descriptor.hpp"
#include "hal/thread.hpp"
#include "rtexec/sharing/daemon/client_admission.hpp"
#include "rtexec/sharing/protocol/channel.hpp"
#include "rtexec/sharing/protocol/segment.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>

namespace rtexec::daemon {

class Connection {
 public:
  /// Called on the client's two threads.
  struct Listener {
    virtual void said(std::uint32_t place, const protocol::Entry& entry) noexcept = 0;
    /// The client's ring is in an impossible state; no entries follow.
    virtual void broken(std::uint32_t place) noexcept = 0;
    /// The client's agent has ended: its process is ending, or has closed its connection. Called once.
    virtual void ending(std::uint32_t place) noexcept = 0;

   protected:
    ~Listener() = default;
  };

  Connection(protocol::Channel with, config::Descriptor pidfd, pid_t pid, uid_t of_user)
      : channel(std::move(with)), process(std::move(pidfd)), number(pid), user(of_user) {}
  ~Connection() { stop(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Makes the process the client at `at`: creates the shared memory and starts the two threads. A failure leaves it an
  /// observer. `listener` outlives stop().
  [[nodiscard]] Result<> start(std::uint32_t at, int fifo_priority, Listener& listener);
  /// Ends the threads and unmaps the shared memory. No effect on an observer.
  void stop();
  /// Returns the descriptor of a client's shared memory; it stays the connection's.
  [[nodiscard]] int memory_descriptor() const noexcept { return shared_->segment.descriptor(); }

  // Only for a client, and under the dispatcher's lock: they never block.
  /// Sends a command. False: the client does not read its commands.
  [[nodiscard]] bool command(const protocol::Entry& entry) noexcept;
  void verdict(protocol::JobVerdict verdict) noexcept;

  // The process
  protocol::Channel channel;
  config::Descriptor process; // pidfd; none: the process has ended
  pid_t number = 0;
  uid_t user = 0;
  Identity identity;                        // the name is empty until Hello
  bool gone = false;                        // its socket is closed
  bool asks_again = false;                  // it was refused with "later", which was logged
  std::optional<std::uint32_t> status_from; // the next place of a status that its socket had no room for yet

  // Members of a client
  std::optional<std::uint32_t> place;
  config::Descriptor address_space;     // its /proc/PID/maps, opened at Hello; none: not readable
  std::optional<Instant> leave_by;      // when the process is killed, if it is still alive
  std::optional<std::uint32_t> growing; // in slots
  // Reports of the dispatcher about the client: written under the dispatcher's lock
  std::atomic<bool> changed{false}, vacant{false};
  std::atomic<std::int64_t> ending{0}; // since when the client is ending, in ns of CLOCK_MONOTONIC; 0: it is not
  std::atomic<int> expelled{-1};       // an Expelled; negative: not expelled

 private:
  struct Shared {
    explicit Shared(protocol::SharedSegment with)
        : segment(std::move(with)), entries(segment->to_daemon), commands(segment->to_client) {}
    protocol::SharedSegment segment;
    protocol::Consumer entries;
    protocol::Producer commands;
  };
  void serve() noexcept;
  void watch() noexcept;

  std::optional<Shared> shared_;
  Listener* listener_ = nullptr;
  std::atomic<bool> stopping_{false};
  std::atomic<int> running_{0}; // number of threads
  hal::Thread server_, watcher_;
};

} // namespace rtexec::daemon
