// Messages (message.hpp) from and to other programs through shared memory, without a copy, by Eclipse iceoryx 2.0. The
// first publisher or subscriber registers this process with iceoryx's daemon (roudi.hpp), for the life of the process.
//
// Set-up (open, destructors) allocates, blocks and fails with a text; one thread at a time. Functions that are noexcept
// are for real-time threads: no heap, and no page fault once memory is locked. Only publish() takes locks. They are
// iceoryx's recursive mutexes between processes, without priority inheritance: one of the publisher, twice, and one of
// each subscriber's queue. They are held briefly. The daemon, at its ordinary priority, also locks the publisher's when
// a subscriber comes or goes. A publish() at that moment may wait until the daemon has run. newest() and await() take
// no lock.
//
// A process that is killed while it holds such a lock never releases it. The daemon then hangs, and so does every
// publisher to the same subscriber. iceoryx's wait sets and listeners make that likely: the publisher wakes the waiting
// thread while it holds the lock, and that thread may preempt it. Therefore await() uses none of them and polls for
// messages every `look_again`, which admission charges (policies/bounds/charges.hpp). Other programs may use them
// nevertheless.
//
// The daemon only connects publishers and subscribers. Without it, existing connections continue, but new ones fail. A
// restarted daemon does not know the processes of its predecessor. connection_state() reports both cases.
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

/// The name by which publishers and subscribers find each other: 1 to 100 characters each.
struct Service {
  std::string service, instance, event;
};

/// Returns device_lost if the daemon that this process is registered with ended or was replaced. Existing connections
/// then continue, but new ones fail until this process is restarted.
[[nodiscard]] Result<> connection_state();

/// One thread at a time may call these functions.
class Publisher {
 public:
  /// Opens a publisher of messages with payloads of up to `largest`. Returns refused if there is no daemon, or its
  /// memory has no chunks of that size. Returns bad_input if the name is invalid.
  [[nodiscard]] static Result<std::unique_ptr<Publisher>> open(const Service& service, Bytes largest);
  virtual ~Publisher() = default;

  /// Returns memory for the payload of the next message, aligned to 64 bytes, with undefined contents. Returns
  /// bad_input if the previous loan was neither published nor cancelled, or if `payload` exceeds `largest`. Returns
  /// out_of_memory if all of the daemon's chunks of this size are in use (iceoryx allocates in this case).
  [[nodiscard]] virtual Expected<std::span<std::byte>, Errc> loan(Bytes payload) noexcept = 0;
  /// Sends the loan. Uses the element, rank, shape, instants and job of `header`. Returns bad_input if these do not
  /// imply the loan's size; it then stays a loan. Never waits for subscribers: a slow one loses its oldest messages.
  [[nodiscard]] virtual Status publish(const rtexec_message& header) noexcept = 0;
  /// Returns the loan without sending it, if there is one.
  virtual void cancel() noexcept = 0;

  [[nodiscard]] virtual bool has_subscribers() const noexcept = 0;
};

/// newest() and release() are called by one thread at a time. So is await(), possibly by another thread. wake() and
/// counts() may be called by any thread.
class Subscriber {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Subscriber>> open(const Service& service);
  virtual ~Subscriber() = default;

  /// Takes all messages from the queue, keeps the newest and returns the others. Returns nullopt if none arrived since
  /// the last call; that call's message then stays valid, even if its publisher is gone. Otherwise it becomes invalid.
  /// Returns bad_input if the arrived data are no message; they are skipped.
  [[nodiscard]] virtual Expected<std::optional<Message>, Errc> newest() noexcept = 0;
  /// Returns the message of newest() to its publisher, if it is kept. The publisher can reuse that memory, which is in
  /// caches, for the next message, and needs no other.
  virtual void release() noexcept = 0;

  enum class Wake { message, woken, time };
  /// Waits until newest() would return a message, wake() is called, or `until`. This thread notices a message after up
  /// to `look_again`.
  [[nodiscard]] virtual Expected<Wake, Errc> await(Instant until) noexcept = 0;
  static constexpr Duration look_again = std::chrono::microseconds(500);
  /// Ends the current await(), or else the next one. Real-time.
  virtual void wake() noexcept = 0;

  struct Counts {
    std::uint64_t messages = 0;    // returned by newest()
    std::uint64_t passed_over = 0; // returned unseen because there was a newer one
    std::uint64_t lost = 0;        // dropped from a full queue before newest() was called
    std::uint64_t malformed = 0;   // data that were no messages
  };
  [[nodiscard]] virtual Counts counts() const noexcept = 0;
};

} // namespace rtexec::channels::iceoryx
