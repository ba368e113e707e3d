// The C binding of Eclipse iceoryx 2.0 (libiceoryx_binding_c.so.2) as one table of functions. The library is opened at
// run time, so that the program also runs if iceoryx is not installed. The types below have the layout of the library's
// ABI. If iceoryx's headers are installed, a test compares the types with these headers. No other code of rtexec calls
// iceoryx.
//
// By default iceoryx ends the process on errors. Its C binding has no function to change this behaviour, so this code
// replaces the error handler of the C++ library. This is possible if the library exports the handler under the known
// symbol name. Errors are then kept for the caller. iceoryx writes to std::cerr at any log level, also on its own
// threads. A stream buffer that replaces the stream buffer of std::cerr drops this output, and forwards all other
// output.
#pragma once

#include <rtexec/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rtexec::channels::iceoryx {

struct PublisherRecord;
struct SubscriberRecord;
struct ChunkRecord;
using PublisherHandle = PublisherRecord*;
using SubscriberHandle = SubscriberRecord*;

/// The layout of iox_pub_storage_t and iox_sub_storage_t.
struct Storage {
  std::uint64_t word = 0;
};

/// The layout of iox_pub_options_t.
struct PublisherOptions {
  std::uint64_t history = 0;
  const char* node = nullptr;
  bool offer_on_create = true;
  unsigned too_slow_policy = 1; // ConsumerTooSlowPolicy_DISCARD_OLDEST_DATA
  std::uint64_t check = 0;
};

/// The layout of iox_sub_options_t.
struct SubscriberOptions {
  std::uint64_t queue_capacity = 0;
  std::uint64_t history_request = 0;
  const char* node = nullptr;
  bool subscribe_on_create = true;
  unsigned queue_full_policy = 1; // QueueFullPolicy_DISCARD_OLDEST_DATA
  bool require_history = false;
  std::uint64_t check = 0;
};

/// The values of iox_AllocationResult and iox_ChunkReceiveResult to which this code reacts in a special way.
inline constexpr unsigned allocated = 8;
inline constexpr unsigned received = 3;

struct Binding {
  void (*set_log_level)(unsigned level);
  void (*runtime_init)(const char* name);
  void (*publisher_options)(PublisherOptions* options);
  PublisherHandle (*publisher_create)(Storage* storage, const char* service, const char* instance, const char* event,
                                      const PublisherOptions* options);
  void (*publisher_destroy)(PublisherHandle publisher);
  unsigned (*loan)(PublisherHandle publisher, void** payload, std::uint32_t size, std::uint32_t alignment);
  void (*release_loan)(PublisherHandle publisher, void* payload);
  void (*publish)(PublisherHandle publisher, void* payload);
  bool (*has_subscribers)(PublisherHandle publisher);
  void (*subscriber_options)(SubscriberOptions* options);
  SubscriberHandle (*subscriber_create)(Storage* storage, const char* service, const char* instance, const char* event,
                                        const SubscriberOptions* options);
  void (*subscriber_destroy)(SubscriberHandle subscriber);
  unsigned (*take)(SubscriberHandle subscriber, const void** payload);
  void (*release)(SubscriberHandle subscriber, const void* payload);
  bool (*has_chunks)(SubscriberHandle subscriber);
  const ChunkRecord* (*chunk_of)(const void* payload);
};

/// The header that iceoryx stores before a payload (iox::mepoo::ChunkHeader), in the only version that is supported.
struct ChunkHeader {
  static constexpr std::uint8_t known_version = 1;
  std::uint32_t chunk_size = 0;
  std::uint8_t version = 0;
  std::uint8_t reserved = 0;
  std::uint16_t user_header_id = 0;
  std::uint64_t origin = 0;   // identifies the publisher
  std::uint64_t sequence = 0; // number of the message, counted by its publisher
  std::uint32_t user_header_size = 0;
  std::uint32_t payload_size = 0;
  std::uint32_t payload_alignment = 0;
  std::uint32_t payload_offset = 0;
};
static_assert(sizeof(ChunkHeader) == 40);

/// Opens the library, silences its log, and replaces its error handler. Further calls return the same binding. Returns
/// unsupported if the library is not installed (the error then names the packages to install), or if this binding does
/// not support the library's version.
[[nodiscard]] Result<const Binding*> open_binding();
/// Opens the binding from the shared object `library`.
[[nodiscard]] Result<Binding> load_binding(const char* library);

/// A scope for calls to iceoryx by this thread. It keeps the errors of these calls, and drops their output to
/// std::cerr. A thread may have one such scope at a time. A new scope has no errors.
class Call {
 public:
  Call() noexcept;
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Returns true after an error at which iceoryx would have ended the process.
  [[nodiscard]] bool met_fatal_error() const noexcept;
  /// Returns iceoryx's name of the last error; "" if there was none, or errors are not available.
  [[nodiscard]] std::string last_error() const;
  /// From now on, a fatal error makes this thread wait forever, instead of returning to iceoryx, which would end the
  /// process. For threads that nobody joins.
  void end_thread_at_fatal_errors() noexcept;
};

} // namespace rtexec::channels::iceoryx
