// The C binding of Eclipse iceoryx 2.0 as one table of functions, opened at run time (libiceoryx_binding_c.so.2), so
// that one program runs where it is installed and where it is not. Types are those of its ABI; a test holds them
// against its headers where those are installed. Nothing else of ours calls iceoryx.
//
// By default iceoryx ends the process on errors. Its C binding has no say in that; the handler of its C++ library does,
// and is replaced where that library has it under the name known here: an error is then kept for whoever called. What
// it writes to std::cerr whatever its log's level, on threads of its own too, is dropped by a buffer before that of
// std::cerr, which passes on what others write.
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

/// iox_pub_storage_t and iox_sub_storage_t.
struct Storage {
  std::uint64_t word = 0;
};

/// iox_pub_options_t.
struct PublisherOptions {
  std::uint64_t history = 0;
  const char* node = nullptr;
  bool offer_on_create = true;
  unsigned too_slow_policy = 1; // ConsumerTooSlowPolicy_DISCARD_OLDEST_DATA
  std::uint64_t check = 0;
};

/// iox_sub_options_t.
struct SubscriberOptions {
  std::uint64_t queue_capacity = 0;
  std::uint64_t history_request = 0;
  const char* node = nullptr;
  bool subscribe_on_create = true;
  unsigned queue_full_policy = 1; // QueueFullPolicy_DISCARD_OLDEST_DATA
  bool require_history = false;
  std::uint64_t check = 0;
};

/// iox_AllocationResult and iox_ChunkReceiveResult, as far as they are told apart here.
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

/// What iceoryx keeps before a payload (iox::mepoo::ChunkHeader), in the version that can be read here.
struct ChunkHeader {
  static constexpr std::uint8_t known_version = 1;
  std::uint32_t chunk_size = 0;
  std::uint8_t version = 0;
  std::uint8_t reserved = 0;
  std::uint16_t user_header_id = 0;
  std::uint64_t origin = 0;   // the publisher
  std::uint64_t sequence = 0; // counts what it published
  std::uint32_t user_header_size = 0;
  std::uint32_t payload_size = 0;
  std::uint32_t payload_alignment = 0;
  std::uint32_t payload_offset = 0;
};
static_assert(sizeof(ChunkHeader) == 40);

/// Opens the library, once for the process, silences its log, and takes over its errors. unsupported: it is not
/// installed (says what to install), or is another version.
[[nodiscard]] Result<const Binding*> open_binding();
/// The same from `library`.
[[nodiscard]] Result<Binding> load_binding(const char* library);

/// Around calls to iceoryx: what they meet is kept, and what they write to std::cerr is dropped. One at a time on a
/// thread; constructed anew it begins without errors.
class Call {
 public:
  Call() noexcept;
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// After a fatal error iceoryx would have ended the process.
  [[nodiscard]] bool met_fatal_error() const noexcept;
  /// By iceoryx's name; "" where there was none, or they are not told.
  [[nodiscard]] std::string last_error() const;
  /// From here on this thread goes no further after a fatal error, ever: of a thread that may be left behind.
  void end_thread_at_fatal_errors() noexcept;
};

} // namespace rtexec::channels::iceoryx
