// Messages (message.hpp) to and from programs of others through shared memory, without a copy, by Eclipse iceoryx 2.0.
// The first publisher or subscriber registers this process with iceoryx's daemon (roudi.hpp), for as long as it lives.
//
// Set-up (open, destructors) allocates, blocks and fails with a text; one thread at a time. What is noexcept is for
// real-time threads: no heap, no page fault once memory is locked, and of locks only these of iceoryx, in publish(),
// recursive mutexes between processes without priority inheritance: one of the publisher, twice, and one of each
// subscriber's queue. They are held for a moment, and the publisher's by the daemon too, at its ordinary priority, when
// a subscriber comes or goes: a publish() just then may wait until the daemon has run. newest() and await() take none.
//
// A process that is killed while it holds one never gives it back: the daemon then hangs, and so does whoever publishes
// to the same subscriber. iceoryx's wait sets and listeners make that likely, since the publisher wakes the waiting
// thread while it holds the lock, and may be preempted by it. So await() uses none and looks for messages, every
// `look_again`, which admission charges (policies/bounds/charges.hpp); partners written otherwise are outside of our
// reach.
//
// The daemon only brings partners together. Without it what is connected goes on, and nothing new connects; a daemon
// that was started anew does not know the processes of the one before: connection_state() tells both.
#pragma once

#include "rtexec/runtime/channels/message.hpp"

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rtexec::channels::iceoryx {

/// What publishers and subscribers meet by: 1 to 100 characters each.
struct Service {
  std::string service, instance, event;
};

/// device_lost where the daemon that this process is registered with is gone or was replaced: what is connected goes
/// on, and nothing new connects until this process is started again.
[[nodiscard]] Result<> connection_state();

/// One thread at a time, but for counts.
class Publisher {
 public:
  /// For messages with payloads of up to `largest`. refused: no daemon, or its memory has no chunks so large.
  /// bad_input: no such name can be.
  [[nodiscard]] static Result<std::unique_ptr<Publisher>> open(const Service& service, Bytes largest);
  virtual ~Publisher() = default;

  /// Memory for the payload of the next message, aligned to 64 bytes, with whatever was in it before. One at a time: a
  /// second loan without publish() or cancel() in between is bad_input, and so are more bytes than `largest`.
  /// out_of_memory: all of the daemon's chunks of this size are in use (iceoryx allocates in this case).
  [[nodiscard]] virtual Expected<std::span<std::byte>, Errc> loan(Bytes payload) noexcept = 0;
  /// Sends the loan. Of `header` count the element, rank, shape, instants and job; bad_input where these do not make
  /// the loan's size: it then stays a loan. Never waits for subscribers: one that is slow loses its oldest messages.
  [[nodiscard]] virtual Status publish(const rtexec_message& header) noexcept = 0;
  /// Gives the loan back, if there is one.
  virtual void cancel() noexcept = 0;

  [[nodiscard]] virtual bool has_subscribers() const noexcept = 0;
};

/// newest() with release(), and await(), each by one thread at a time, which may differ; wake() and counts() by any.
class Subscriber {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Subscriber>> open(const Service& service);
  virtual ~Subscriber() = default;

  /// Takes all messages that are there, keeps the newest and gives the others back. Nothing where none came since the
  /// last call: that call's message then stays valid, whatever became of its publisher; otherwise it ends here.
  /// bad_input: what came was no message; it was passed over.
  [[nodiscard]] virtual Expected<std::optional<Message>, Errc> newest() noexcept = 0;
  /// Gives the message of newest() back, if it is kept. Its publisher can use that memory, which caches hold, for the
  /// next one, and needs no other.
  virtual void release() noexcept = 0;

  enum class Wake { message, woken, time };
  /// Waits until there is something for newest(), somebody called wake(), or `until`. A message may be there for up to
  /// `look_again` before this thread looks.
  [[nodiscard]] virtual Expected<Wake, Errc> await(Instant until) noexcept = 0;
  static constexpr Duration look_again = std::chrono::microseconds(500);
  /// Ends the await() under way, or else the next one. For real-time threads too.
  virtual void wake() noexcept = 0;

  struct Counts {
    std::uint64_t messages = 0;    // that newest() answered with
    std::uint64_t passed_over = 0; // given back unseen because a newer one was there
    std::uint64_t lost = 0;        // gone from a full queue before newest() was called
    std::uint64_t malformed = 0;   // that were no messages
  };
  [[nodiscard]] virtual Counts counts() const noexcept = 0;
};

} // namespace rtexec::channels::iceoryx
