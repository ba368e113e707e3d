// Set-up messages between a client and the daemon, on one SOCK_SEQPACKET socket. Each message is a struct of fixed size
// that begins with a Header. A message is valid only if read() accepts its size, kind, version, texts and ranges of
// numbers. The daemon may still refuse the request in a valid message.
//
//   client sends                      daemon answers
//   Hello                             Welcome with the descriptor of the shared memory (segment.hpp), or Refused
//   Declare, after Hello              Declared, or Refused with the numbers of the verdict
//   Grow                              Grown, or Refused
//   NeedFrame                         Frame with its file descriptor, or Refused
//   Status, first message or later    StatusPart for each client, then StatusEnd
//
// A client sends one request at a time, and gets answers in the order of its requests. Jobs and copies use the shared
// memory. If a client closes the socket, the daemon frees all resources of that client. If the daemon closes the
// socket, the client completes its job, saves its chunks to its own host memory and releases all frames. The client
// then sends Hello to the next daemon, with the number of its slots in `slots`.
//
// Pure; any thread. Functions report failure only by their result.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace rtexec::protocol {

/// The version of messages, entries and shared memory. If the two sides have different versions, the daemon refuses
/// Hello.
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t longest_message = 512;
/// Limits of values in the messages of both sides.
inline constexpr std::uint32_t max_slots = 1u << 20;
inline constexpr std::uint32_t max_places = 1024;
inline constexpr std::uint64_t min_chunk = 4096, largest_chunk = std::uint64_t{1} << 40;
inline constexpr std::int64_t shortest_time = 1'000, longest_time = 1'000'000'000'000; // ns

enum class MessageKind : std::uint16_t {
  hello = 1,
  welcome,
  refused,
  declare,
  declared,
  grow,
  grown,
  frame,
  need_frame,
  status,
  status_part,
  status_end,
};

struct Header {
  std::uint16_t kind = 0;
  std::uint16_t size = 0; // of the whole message, in bytes
  std::uint32_t version = protocol::version;
};

/// A NUL-terminated text; all bytes after the first NUL are zero.
template <std::size_t Size> using Text = std::array<char, Size>;

/// Returns `text`, truncated if it is too long.
template <std::size_t Size> [[nodiscard]] constexpr Text<Size> text(std::string_view text) noexcept {
  Text<Size> out{};
  for (std::size_t i = 0; i < text.size() && i + 1 < Size && text[i] != '\0'; ++i) out[i] = text[i];
  return out;
}
/// Returns the characters of a text that valid() accepted.
template <std::size_t Size> [[nodiscard]] std::string_view view(const Text<Size>& text) noexcept { return text.data(); }

/// How clients use the frames. A frame is the number of a chunk on the device.
enum class Mode : std::uint32_t {
  /// A client creates a chunk when it loads a slot, and releases it after saving the slot. `frame` is only a number.
  private_chunks,
  /// A frame is one chunk that the daemon creates and every client imports. For clients that trust each other.
  shared_chunks,
};

/// The action of the daemon if a job exceeds its declared WCET. The actions correspond to rtexec::OnWcetExceeded.
enum class OnOverrun : std::uint8_t {
  tell,      // the daemon only counts the excess
  skip_next, // the next release is one period later, to make up for the excess
  stop,      // the daemon ends the client
};

struct Hello {
  static constexpr MessageKind kind = MessageKind::hello;
  Header header;
  Text<64> name{};               // RTEXEC_CLIENT, or the executable's name
  std::uint64_t granularity = 0; // granularity of the driver's chunks in bytes: a power of two
  std::uint64_t chunk_bytes = 0; // chunk size of the client's existing arena; 0: the client has no arena
  std::uint32_t can_export = 0;  // 1: the client can export and import chunks; 0: it cannot
  /// The number of slots of an existing arena after the end of a daemon. All of these slots are saved.
  std::uint32_t slots = 0;
};

struct Welcome {
  static constexpr MessageKind kind = MessageKind::welcome;
  Header header;
  std::uint64_t chunk_bytes = 0;
  std::uint32_t place = 0;       // the client's number at the daemon
  std::uint32_t frames = 0;      // number of frames on the device; Entry::frame is below it
  std::uint32_t limit_slots = 0; // maximum number of slots of this client's arena
  Mode mode{};
  std::uint32_t declared = 0; // 1: a rule of the daemon's file declares the client, so that Declare is refused
  /// The SCHED_FIFO priority of the thread that executes commands. 0: no real-time priority.
  std::uint32_t agent_priority = 0;
  std::uint32_t awake = 0; // 1: cores are kept out of idle states, and waiting clients spin briefly
  std::uint32_t reserved = 0;
};

enum class Refusal : std::uint32_t {
  other_version = 1, // the sides have different versions of the protocol
  full,              // the daemon has no free place
  not_allowed,       // a rule, or the identity of the process, forbids it
  limit,             // the client's own limit is reached
  not_proved,        // a deadline could no longer be guaranteed; the text has the inequality
  unsupported,       // the client's driver lacks a needed feature
  order,             // wrong order of messages: Declare before Hello, or a second Hello
  stopping,          // the daemon is stopping
  /// The request is possible after certain jobs have ended: release the device, then repeat the request.
  later,
};

struct Refused {
  static constexpr MessageKind kind = MessageKind::refused;
  Header header;
  Refusal code{};
  std::uint32_t reserved = 0;
  Text<400> text{};
};

struct Declare {
  static constexpr MessageKind kind = MessageKind::declare;
  Header header;
  std::int64_t period_ns = 0;   // minimum time between two releases
  std::int64_t deadline_ns = 0; // relative to the release, at most the period
  std::int64_t wcet_ns = 0;     // of a job alone on the device, with all its chunks resident
  std::int32_t priority = 0;    // 1 to 99, a larger number is more urgent; 0: period or deadline decides
  OnOverrun on_overrun{};
  std::array<std::uint8_t, 3> reserved{};
};

struct Declared {
  static constexpr MessageKind kind = MessageKind::declared;
  Header header;
  std::int64_t response_bound_ns = 0; // from the release to the end of the job
};

/// Requests an arena of `slots` slots, more than before. An arena cannot shrink while the client is connected. If the
/// client holds the device, its work on the device must have ended. The client's job is then interrupted
/// (Verdict::waiting). The job is granted again after Grown, when all slots of the client are resident. A client that
/// waits for a grant continues to wait.
struct Grow {
  static constexpr MessageKind kind = MessageKind::grow;
  Header header;
  std::uint32_t slots = 0;
  /// 1: the client holds the device. 0: the client does not hold the device, although the end of its job may still be
  /// unread in the ring.
  std::uint32_t holds = 0;
};

struct Grown {
  static constexpr MessageKind kind = MessageKind::grown;
  Header header;
  std::uint32_t slots = 0;
  std::uint32_t reserved = 0;
};

struct Frame {
  static constexpr MessageKind kind = MessageKind::frame;
  Header header;
  std::uint32_t frame = 0;
  std::uint32_t reserved = 0;
};

struct NeedFrame {
  static constexpr MessageKind kind = MessageKind::need_frame;
  Header header;
  std::uint32_t frame = 0;
  std::uint32_t reserved = 0;
};

/// Requests the daemon's status. Requires no Hello, so that an observer may send this message.
struct Status {
  static constexpr MessageKind kind = MessageKind::status;
  Header header;
};

/// The state of a client's job.
enum class Activity : std::uint32_t {
  idle,   // no job is requested
  waits,  // the job waits for its release, or for the device
  loads,  // the job's chunks are being copied to the device
  runs,   // the job holds the device
  leaves, // the client's process is ending
};

/// The status of one client. Counters start at its connection.
struct StatusPart {
  static constexpr MessageKind kind = MessageKind::status_part;
  Header header;
  Text<64> name{};
  Text<192> executable{};
  std::uint32_t place = 0;
  std::int32_t process = 0;
  std::uint32_t declared = 0;
  Activity activity{};
  std::uint32_t slots = 0, resident = 0, limit_slots = 0, violations = 0;
  std::int64_t period_ns = 0, deadline_ns = 0, wcet_ns = 0, response_bound_ns = 0; // 0: the client has no such value
  std::uint64_t jobs = 0, missed = 0, overruns = 0, failed = 0;
  std::int64_t longest_execution_ns = 0, longest_response_ns = 0;
  std::int64_t executed_ns = 0;        // total execution time of all ended jobs
  std::uint64_t loaded = 0, saved = 0; // numbers of chunks
};

/// The status of the daemon itself. This message follows the parts of all clients.
struct StatusEnd {
  static constexpr MessageKind kind = MessageKind::status_end;
  Header header;
  Text<32> release{}, order{}, policy{};
  std::uint64_t chunk_bytes = 0;
  std::uint32_t frames = 0, free_frames = 0, places = 0;
  Mode mode{};
  std::int32_t process = 0;
  std::uint32_t reserved = 0;
  std::int64_t now_ns = 0, started_ns = 0; // CLOCK_MONOTONIC
  // Numbers of clients since the daemon started
  std::uint64_t came = 0, refused = 0, expelled = 0;
};

namespace detail {
template <std::size_t Size> constexpr bool terminated(const Text<Size>& text) noexcept {
  bool ended = false;
  for (const char each : text) {
    if (ended && each != '\0') return false;
    ended = ended || each == '\0';
  }
  return ended;
}
/// True if the text is terminated and has only printable characters. Names appear in tables, traces and files, so
/// they must not contain control sequences for terminals.
template <std::size_t Size> constexpr bool printable(const Text<Size>& text) noexcept {
  for (const char each : text)
    if (each != '\0' && (each < ' ' || each > '~')) return false;
  return terminated(text);
}
constexpr bool flag(std::uint32_t value) noexcept { return value <= 1; }
constexpr bool time(std::int64_t ns) noexcept { return shortest_time <= ns && ns <= longest_time; }
constexpr bool power_of_two(std::uint64_t value) noexcept { return value != 0 && (value & (value - 1)) == 0; }
} // namespace detail

/// True if a client may have this name.
[[nodiscard]] constexpr bool is_name(std::string_view name) noexcept {
  const auto whole = text<sizeof Hello::name>(name);
  return !name.empty() && name == view(whole) && detail::printable(whole);
}

// Each function returns true if the fields of the message are within their limits. read() checks the header.
[[nodiscard]] constexpr bool valid(const Hello& m) noexcept {
  return detail::printable(m.name) && m.name[0] != '\0' && detail::power_of_two(m.granularity) &&
         m.granularity <= largest_chunk && m.chunk_bytes <= largest_chunk && detail::flag(m.can_export) &&
         m.slots <= max_slots;
}
[[nodiscard]] constexpr bool valid(const Welcome& m) noexcept {
  return min_chunk <= m.chunk_bytes && m.chunk_bytes <= largest_chunk && m.place < max_places &&
         m.frames <= max_slots && m.limit_slots <= max_slots && m.mode <= Mode::shared_chunks &&
         detail::flag(m.declared) && m.agent_priority <= 99 && detail::flag(m.awake) && m.reserved == 0;
}
[[nodiscard]] constexpr bool valid(const Refused& m) noexcept {
  return Refusal::other_version <= m.code && m.code <= Refusal::later && m.reserved == 0 && detail::terminated(m.text);
}
[[nodiscard]] constexpr bool valid(const Declare& m) noexcept {
  return detail::time(m.period_ns) && detail::time(m.deadline_ns) && detail::time(m.wcet_ns) &&
         m.wcet_ns <= m.deadline_ns && m.deadline_ns <= m.period_ns && 0 <= m.priority && m.priority <= 99 &&
         m.on_overrun <= OnOverrun::stop && m.reserved == std::array<std::uint8_t, 3>{};
}
[[nodiscard]] constexpr bool valid(const Declared& m) noexcept { return detail::time(m.response_bound_ns); }
[[nodiscard]] constexpr bool valid(const Grow& m) noexcept { return m.slots <= max_slots && detail::flag(m.holds); }
[[nodiscard]] constexpr bool valid(const Grown& m) noexcept { return m.slots <= max_slots && m.reserved == 0; }
[[nodiscard]] constexpr bool valid(const Frame& m) noexcept { return m.frame < max_slots && m.reserved == 0; }
[[nodiscard]] constexpr bool valid(const NeedFrame& m) noexcept { return m.frame < max_slots && m.reserved == 0; }
[[nodiscard]] constexpr bool valid(const Status&) noexcept { return true; }
[[nodiscard]] constexpr bool valid(const StatusPart& m) noexcept {
  return detail::printable(m.name) && detail::printable(m.executable) && detail::flag(m.declared) &&
         m.activity <= Activity::leaves && m.place < max_places && m.slots <= max_slots && m.resident <= max_slots &&
         m.limit_slots <= max_slots && m.period_ns >= 0 && m.deadline_ns >= 0 && m.response_bound_ns >= 0;
}
[[nodiscard]] constexpr bool valid(const StatusEnd& m) noexcept {
  return detail::printable(m.release) && detail::printable(m.order) && detail::printable(m.policy) &&
         m.chunk_bytes <= largest_chunk && m.frames <= max_slots && m.free_frames <= m.frames &&
         m.places <= max_places && m.mode <= Mode::shared_chunks && m.reserved == 0 && m.started_ns <= m.now_ns;
}

template <class M>
concept Message = std::is_trivially_copyable_v<M> &&
                  sizeof(M) <= longest_message&& std::has_unique_object_representations_v<M>&& requires(const M& m) {
  { M::kind } -> std::convertible_to<MessageKind>;
  { valid(m) } -> std::same_as<bool>;
};

/// Fills in the header of `message`, and returns the bytes of `message`. The bytes are valid while `message` lives.
template <Message M> [[nodiscard]] std::span<const std::byte> bytes_of(M& message) noexcept {
  message.header = {static_cast<std::uint16_t>(M::kind), sizeof(M), version};
  return std::as_bytes(std::span(&message, 1));
}

/// Returns the header of a received message of any version. Returns nullopt if the message is too short, or its size
/// field differs from its length.
[[nodiscard]] inline std::optional<Header> header_of(std::span<const std::byte> bytes) noexcept {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.size == bytes.size() ? std::optional(header) : std::nullopt;
}

/// Returns the message of type M in `bytes`, or nullopt if `bytes` are no valid M.
template <Message M> [[nodiscard]] std::optional<M> read(std::span<const std::byte> bytes) noexcept {
  const auto header = header_of(bytes);
  if (!header || header->kind != static_cast<std::uint16_t>(M::kind) || header->version != version ||
      header->size != sizeof(M))
    return std::nullopt;
  M message;
  std::memcpy(&message, bytes.data(), sizeof message);
  return valid(message) ? std::optional(message) : std::nullopt;
}

static_assert(Message<Hello> && Message<Welcome> && Message<Refused> && Message<Declare> && Message<Declared> &&
              Message<Grow> && Message<Grown> && Message<Frame> && Message<NeedFrame> && Message<Status> &&
              Message<StatusPart> && Message<StatusEnd>);

} // namespace rtexec::protocol
