// One process connected to the daemon. The process is an observer until it sends Hello, and then a client. A place is
// the number that a client has at the daemon. A client shares memory with the daemon (segment.hpp) and has two threads
// in the daemon. One thread reads the entries of the client's ring; the other thread waits for the client's end. A
// flood of entries occupies only the threads of this client, for a small part of each millisecond.
//
// Owned by the server. Called by the server's thread, unless a comment names another thread.
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
  /// Receives the events of a client. The client's two threads call it.
  struct Listener {
    virtual void said(std::uint32_t place, const protocol::Entry& entry) noexcept = 0;
    /// Reports that the client's ring is in an impossible state. No entries follow.
    virtual void broken(std::uint32_t place) noexcept = 0;
    /// Reports that the client's agent has ended, because the process ends or has closed its connection. Called once.
    virtual void ending(std::uint32_t place) noexcept = 0;

   protected:
    ~Listener() = default;
  };

  Connection(protocol::Channel with, config::Descriptor pidfd, pid_t pid, uid_t of_user)
      : channel(std::move(with)), process(std::move(pidfd)), number(pid), user(of_user) {}
  ~Connection() { stop(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Makes the process the client at the place `at`. Creates the shared memory and starts the two threads. If start()
  /// fails, the process remains an observer. `listener` must outlive stop().
  [[nodiscard]] Result<> start(std::uint32_t at, int fifo_priority, Listener& listener);
  /// Ends the threads and unmaps the shared memory. Has no effect on an observer.
  void stop();
  /// Returns the descriptor of a client's shared memory. The connection still owns the descriptor.
  [[nodiscard]] int memory_descriptor() const noexcept { return shared_->segment.descriptor(); }

  // The next two functions require that the process is a client, and that the caller holds the dispatcher's lock. The
  // two functions never block.
  /// Sends a command. Returns false if the ring is full, because the client does not read its commands.
  [[nodiscard]] bool command(const protocol::Entry& entry) noexcept;
  void verdict(protocol::JobVerdict verdict) noexcept;

  // ---- data of the connected process, observer or client ----
  protocol::Channel channel;
  config::Descriptor process; // pidfd; no descriptor after the end of the process
  pid_t number = 0;
  uid_t user = 0;
  Identity identity;       // the name is empty before Hello
  bool gone = false;       // true: its socket is closed
  bool asks_again = false; // true: a request was refused with "later", and this refusal was logged
  /// The place of the client with which an interrupted status continues when the socket's buffer has space again.
  std::optional<std::uint32_t> status_from;

  // ---- data of a client; unused for an observer ----
  std::optional<std::uint32_t> place;
  config::Descriptor address_space;     // /proc/PID/maps, opened at Hello; no descriptor if it cannot be read
  std::optional<Instant> leave_by;      // time at which the process is killed if it is still alive
  std::optional<std::uint32_t> growing; // requested number of slots
  // The dispatcher's reports about the client (ClientSink::changed() and vacant()), written under the dispatcher's lock
  std::atomic<bool> changed{false}, vacant{false};
  /// The instant when the client began to end, in ns of CLOCK_MONOTONIC. 0: the client is not ending.
  std::atomic<std::int64_t> ending{0};
  std::atomic<int> expelled{-1}; // a value of Expelled; -1: not expelled

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
  std::atomic<int> running_{0}; // number of running threads
  hal::Thread server_, watcher_;
};

} // namespace rtexec::daemon
