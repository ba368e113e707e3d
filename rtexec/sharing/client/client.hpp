// A process as a client of the daemon. It connects to the daemon, loads and saves its memory at the daemon's command,
// and holds the device while a job is granted. If the daemon ends, the client completes the current job and saves all
// memory. The client then waits for the next daemon, and registers its slots and its declaration again. Callers wait
// during this time, and get no error.
//
// Threading: any thread may call, but begin(), grow() and declare() of one job must be on the same thread. The client
// has two threads of its own: the agent (agent.hpp), and a thread that notices the end of the daemon.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/thread.hpp"
#include "rtexec/sharing/client/agent.hpp"
#include "rtexec/sharing/client/jobs.hpp"
#include "rtexec/sharing/client/client_memory.hpp"
#include "rtexec/sharing/client/outbox.hpp"
#include "rtexec/sharing/protocol/channel.hpp"
#include "rtexec/sharing/protocol/messages.hpp"
#include "rtexec/sharing/protocol/segment.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace rtexec::client {

struct ClientOptions {
  std::filesystem::path directory; // the daemon's directory
  std::string name;
  Bytes granularity;         // granularity of the driver's chunks
  bool takes_chunks = false; // true: the driver can import chunks of other processes by file descriptor
  Agent::Hurry hurry;
  /// Receives a text when the daemon ends, when a daemon runs again, and when the new daemon refuses the client. May be
  /// empty
  std::function<void(const std::string&)> notice;
};

class Client {
 public:
  /// Connects to the daemon. Returns cancelled if no daemon listens. Returns refused, with the reason, if the daemon
  /// rejects this process.
  [[nodiscard]] static Result<std::unique_ptr<Client>> connect(ClientOptions options, ClientMemory& memory);
  ~Client();

  [[nodiscard]] Bytes chunk_size() const noexcept { return {welcome_.chunk_bytes}; }
  [[nodiscard]] std::uint32_t limit_slots() const noexcept { return welcome_.limit_slots; }

  /// Declares that jobs come at least `period` apart, take at most `wcet`, and must end within `deadline`. Returns the
  /// promised response bound. Returns not_proved, with the numbers, if admission cannot promise the deadline. If
  /// admission must first wait for jobs of other clients, the call retries for up to 2 s, unless the client holds the
  /// device. Without success, the call returns not_proved too.
  [[nodiscard]] Result<Duration> declare(const protocol::Declare& declaration);
  /// Grows the arena to `slots`. If the client holds the device, the caller must wait for the client's work on the
  /// device before the call. In this case, all slots are resident after the call. If admission must first wait for jobs
  /// of other clients, the client ends its own job and releases the device. Returns out_of_memory if the client's limit
  /// is reached. Returns not_proved if a promised response bound would be violated. Returns cancelled if the daemon has
  /// ended.
  [[nodiscard]] Result<> grow(std::uint32_t slots);
  /// Waits until the client holds the device. Returns false if the client's memory could not be loaded; the next call
  /// may succeed.
  [[nodiscard]] bool begin() noexcept;
  /// Releases the device. Requires that the client's work on the device has ended. Has no effect without a job.
  void end() noexcept;
  [[nodiscard]] bool holds() const noexcept { return holds_.load(std::memory_order_acquire); }

 private:
  /// The state of the connection to one daemon. Its socket is separate.
  struct Connection {
    explicit Connection(protocol::SharedSegment shared, std::uint64_t last_job, Duration spin)
        : segment(std::move(shared)), outbox(*segment), jobs(segment->state, outbox, last_job, spin) {}
    protocol::SharedSegment segment;
    Outbox outbox;
    Jobs jobs;
    std::unique_ptr<Agent> agent;
  };

  Client(ClientOptions options, ClientMemory& memory) : options_(std::move(options)), memory_(memory) {}
  [[nodiscard]] Result<> open();
  [[nodiscard]] Result<> take_frames();
  template <class Answer, class Question>
  [[nodiscard]] Result<Answer> ask(const Question& question, config::Descriptor* with = nullptr);
  void keep();
  void await_end_of_daemon() const;
  void leave_daemon();
  void reopen();
  void notice(const std::string& text) const {
    if (options_.notice) options_.notice(text);
  }
  [[nodiscard]] std::shared_ptr<Connection> connection() const noexcept {
    return connection_.load(std::memory_order_acquire);
  }

  ClientOptions options_;
  ClientMemory& memory_;
  std::mutex asking_; // guards the following members, and allows one request at a time
  std::optional<protocol::Channel> channel_;
  protocol::Welcome welcome_{};
  std::optional<protocol::Declare> declared_;
  std::uint32_t slots_ = 0;
  bool later_ = false; // true: the last request was refused with "later"
  std::atomic<std::shared_ptr<Connection>> connection_;
  std::atomic<bool> holds_{false};
  hal::Signal reopened_;
  std::atomic<bool> stopping_{false};
  hal::Thread keeper_;
};

} // namespace rtexec::client
