// One client at the daemon: its process, its socket, its segment, and the thread that takes what it says. A flood of
// one client keeps that thread busy alone, and of it at most `entries_per_look` entries are taken in a millisecond.
//
// Ownership: the server's. Threading: the server's thread, but for what the session's own thread does in serve().
#pragma once

#include <rtexec/result.hpp>
#include "config/descriptor.hpp"
#include "hal/thread.hpp"
#include "rtexec/protocol/channel.hpp"
#include "rtexec/protocol/segment.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <sys/types.h>

namespace rtexec::daemon {

class Session {
 public:
  /// Of each entry that the client gives, on the session's thread; `broken`: its ring is, and nothing comes any more.
  struct Listener {
    virtual void said(std::uint32_t place, const protocol::Entry& entry) noexcept = 0;
    virtual void broken(std::uint32_t place) noexcept = 0;

   protected:
    ~Listener() = default;
  };

  /// Its thread begins. `process` is a pidfd of it.
  [[nodiscard]] static Result<std::unique_ptr<Session>> start(std::uint32_t place, protocol::SharedSegment segment,
                                                              const hal::ThreadSettings& settings, Listener& listener);
  ~Session();

  [[nodiscard]] int segment_descriptor() const noexcept { return segment_.descriptor(); }
  /// Under the dispatcher's lock: never blocks. False: the client does not take its commands.
  [[nodiscard]] bool command(const protocol::Entry& entry) noexcept;
  void verdict(protocol::JobVerdict verdict) noexcept;
  /// The client's agent is no more: its process is ending, or has closed its connection.
  [[nodiscard]] bool ending() const noexcept { return segment_->lifeline.broken(); }

 private:
  Session(std::uint32_t place, protocol::SharedSegment segment, Listener& listener)
      : place_(place),
        segment_(std::move(segment)),
        listener_(listener),
        entries_(segment_->to_daemon),
        commands_(segment_->to_client) {}
  void serve() noexcept;

  std::uint32_t place_;
  protocol::SharedSegment segment_;
  Listener& listener_;
  protocol::Consumer entries_;
  protocol::Producer commands_;
  std::atomic<bool> stopping_{false};
  hal::Thread thread_;
};

} // namespace rtexec::daemon
