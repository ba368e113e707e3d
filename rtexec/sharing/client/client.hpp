// A process as a client of the daemon: it is known there, its memory is moved as the daemon says, and it has the device
// when a job is granted. Where the daemon goes away, the job that is there ends, all memory is saved, and the client
// waits for the next daemon and is known to it with what it was before; callers only wait longer.
//
// Threading: any thread, but begin(), grow() and declare() of one job by one thread. Two threads of its own: the agent
// (agent.hpp), and one that notices that the daemon has gone.
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
  std::filesystem::path directory; // of the daemon
  std::string name;
  Bytes granularity;         // of the driver's chunks
  bool takes_chunks = false; // of others, by file descriptor
  Agent::Hurry hurry;
  /// Told when the daemon goes and comes back, and why it does not; may be empty.
  std::function<void(const std::string&)> notice;
};

class Client {
 public:
  /// cancelled: no daemon listens; refused: it does not take this process, and says why.
  [[nodiscard]] static Result<std::unique_ptr<Client>> connect(ClientOptions options, ClientMemory& memory);
  ~Client();

  [[nodiscard]] Bytes chunk_size() const noexcept { return {welcome_.chunk_bytes}; }
  [[nodiscard]] std::uint32_t limit_slots() const noexcept { return welcome_.limit_slots; }

  /// Jobs come at least `period` apart, take at most `wcet`, and have to end within `deadline`: the bound that is
  /// promised. not_proved: with the numbers of the verdict, or not before jobs of others have ended, for which this
  /// waits for 2 s where the client does not hold the device.
  [[nodiscard]] Result<Duration> declare(const protocol::Declare& declaration);
  /// The arena has `slots` from now on, all of which stand where the client holds the device; then nothing of it may be
  /// under way there. Where that is possible only when jobs of others have ended, the client's ends first, and it holds
  /// the device no more. out_of_memory: its limit; not_proved: a promise would break; cancelled: the daemon has gone.
  [[nodiscard]] Result<> grow(std::uint32_t slots);
  /// Waits until the device is the client's. False: its memory could not be brought back; the next one may.
  [[nodiscard]] bool begin() noexcept;
  /// The work on the device has ended. Nothing where there is no job.
  void end() noexcept;
  [[nodiscard]] bool holds() const noexcept { return holds_.load(std::memory_order_acquire); }

 private:
  /// The connection to one daemon, beside its socket.
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
  std::mutex asking_; // guards what follows: one question at a time
  std::optional<protocol::Channel> channel_;
  protocol::Welcome welcome_{};
  std::optional<protocol::Declare> declared_;
  std::uint32_t slots_ = 0;
  bool later_ = false; // what was refused last is possible soon
  std::atomic<std::shared_ptr<Connection>> connection_;
  std::atomic<bool> holds_{false};
  hal::Signal reopened_;
  std::atomic<bool> stopping_{false};
  hal::Thread keeper_;
};

} // namespace rtexec::client
