// One client at the daemon: its segment, a thread that takes what it says, and one that waits for its end. A flood of
// one client keeps its own threads busy alone, for a small part of a millisecond each.
//
// Ownership: the server's. Threading: the server's thread, but for what the session's own ones do in serve() and
// watch().
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"
#include "hal/thread.hpp"
#include "rtexec/sharing/protocol/channel.hpp"
#include "rtexec/sharing/protocol/segment.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <sys/types.h>

namespace rtexec::daemon {

class Session {
 public:
  /// On the session's threads.
  struct Listener {
    virtual void said(std::uint32_t place, const protocol::Entry& entry) noexcept = 0;
    /// The client's ring is impossible: nothing comes any more.
    virtual void broken(std::uint32_t place) noexcept = 0;
    /// The client's agent is no more: its process is ending, or has closed its connection. Once.
    virtual void ending(std::uint32_t place) noexcept = 0;

   protected:
    ~Listener() = default;
  };

  /// Its threads begin.
  [[nodiscard]] static Result<std::unique_ptr<Session>> start(std::uint32_t place, protocol::SharedSegment segment,
                                                              const hal::ThreadSettings& settings, Listener& listener);
  ~Session();

  [[nodiscard]] int segment_descriptor() const noexcept { return segment_.descriptor(); }
  /// Under the dispatcher's lock: never blocks. False: the client does not take its commands.
  [[nodiscard]] bool command(const protocol::Entry& entry) noexcept;
  void verdict(protocol::JobVerdict verdict) noexcept;

 private:
  Session(std::uint32_t place, protocol::SharedSegment segment, Listener& listener)
      : place_(place),
        segment_(std::move(segment)),
        listener_(listener),
        entries_(segment_->to_daemon),
        commands_(segment_->to_client) {}
  void serve() noexcept;
  void watch() noexcept;

  std::uint32_t place_;
  protocol::SharedSegment segment_;
  Listener& listener_;
  protocol::Consumer entries_;
  protocol::Producer commands_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> running_{0}; // threads
  hal::Thread server_, watcher_;
};

} // namespace rtexec::daemon
