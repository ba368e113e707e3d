// Messages (message.hpp) from and to other programs through shared memory, without a copy, by Eclipse iceoryx 2.0. The
// first publisher or subscriber registers this process with iceoryx's daemon (roudi.hpp), for the life of the process.
//
// Set-up (open(), destructors) allocates, blocks, and returns errors with a text. One thread at a time may call set-up
// functions. Functions that are noexcept are for real-time threads: they use no heap, and cause no page fault once
// memory is locked. Of these functions, only publish() takes locks. The locks are iceoryx's recursive inter-process
// mutexes, without priority inheritance. publish() locks the publisher's mutex twice, and the mutex of each
// subscriber's queue once, for a short time. The daemon, which has ordinary priority, also takes the publisher's mutex
// when a subscriber connects or disconnects. A publish() at that moment may wait until the daemon has run. newest() and
// await() take no lock.
//
// A process that is killed while it holds such a mutex never releases it. The daemon then hangs, and so does every
// publisher to the same subscriber. iceoryx's wait sets and listeners make such a hang likely: the publisher wakes the
// waiting thread while the publisher holds the mutex, and may then be preempted by the waiting thread. Therefore
// await() uses neither wait sets nor listeners. It polls for messages every `look_again`, and admission counts the CPU
// time of this polling (policies/bounds/charges.hpp). Other programs may use wait sets and listeners nevertheless.
//
// The daemon only connects publishers and subscribers. Without the daemon, existing connections continue, but new
// connections fail. A restarted daemon does not know the processes of its predecessor. connection_state() reports both
// cases.
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

/// The name by which publishers and subscribers find each other. Each part has 1 to 100 characters.
struct Service {
  std::string service, instance, event;
};

/// Checks the connection to the daemon. Returns device_lost if the daemon with which this process is registered has
/// ended, or was replaced. Existing connections then continue, but new connections fail until this process is
/// restarted.
[[nodiscard]] Result<> connection_state();

/// A publisher. At most one thread at a time may call its functions.
class Publisher {
 public:
  /// Opens a publisher of messages with payloads of up to `largest`. Returns refused if no daemon runs, or the daemon's
  /// shared memory has no chunks of that size. Returns bad_input if the name is invalid.
  [[nodiscard]] static Result<std::unique_ptr<Publisher>> open(const Service& service, Bytes largest);
  virtual ~Publisher() = default;

  /// Returns a loan: shared memory for the payload of the next message, aligned to 64 bytes, with undefined contents.
  /// Returns bad_input if the previous loan was neither published nor cancelled, or if `payload` exceeds `largest`.
  /// Returns out_of_memory if all of the daemon's chunks of this size are in use (iceoryx allocates in this case).
  [[nodiscard]] virtual Expected<std::span<std::byte>, Errc> loan(Bytes payload) noexcept = 0;
  /// Sends the loan as a message. Its header gets the element type, rank, shape, instants and job of `header`. Returns
  /// bad_input, and keeps the loan, if type and shape do not imply the loan's size. Never waits for subscribers: a slow
  /// subscriber loses its oldest messages.
  [[nodiscard]] virtual Status publish(const rtexec_message& header) noexcept = 0;
  /// Returns the loan to the daemon without sending it. Has no effect if there is no loan.
  virtual void cancel() noexcept = 0;

  [[nodiscard]] virtual bool has_subscribers() const noexcept = 0;
};

/// A subscriber. One thread at a time may call newest() and release(). One thread at a time, possibly a different
/// thread, may call await(). Any thread may call wake() and counts().
class Subscriber {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Subscriber>> open(const Service& service);
  virtual ~Subscriber() = default;

  /// Takes all messages from the queue, returns the newest message, and releases all older messages to their
  /// publishers. If a message arrived since the previous call, the message that the previous call returned becomes
  /// invalid. Otherwise returns nullopt, and the message of the previous call stays valid even if its publisher is
  /// gone. Returns bad_input, and skips the data, if the arrived data are not a valid message.
  [[nodiscard]] virtual Expected<std::optional<Message>, Errc> newest() noexcept = 0;
  /// Releases the message of newest() to its publisher. Has no effect if there is no such message. The publisher can
  /// then reuse the message's memory, which is still in caches, for its next message.
  virtual void release() noexcept = 0;

  enum class Wake { message, woken, time };
  /// Waits until newest() would return a message, wake() is called, or the instant `until`. Returns the reason. A
  /// message is noticed at most `look_again` after its arrival.
  [[nodiscard]] virtual Expected<Wake, Errc> await(Instant until) noexcept = 0;
  static constexpr Duration look_again = std::chrono::microseconds(500);
  /// Ends the current await(), or the next await() if none is running. Real-time.
  virtual void wake() noexcept = 0;

  struct Counts {
    std::uint64_t messages = 0;    // messages that newest() returned
    std::uint64_t passed_over = 0; // messages that newest() released unread because a newer message had arrived
    std::uint64_t lost = 0;        // messages that a full queue dropped before newest() was called
    std::uint64_t malformed = 0;   // received data that were not valid messages
  };
  [[nodiscard]] virtual Counts counts() const noexcept = 0;
};

} // namespace rtexec::channels::iceoryx
