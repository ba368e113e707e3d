// What a client and the daemon say while they set things up: messages of one SOCK_SEQPACKET socket, each a struct of
// fixed size that begins with a Header. A message is believed only after read() took it: size, kind, version, texts,
// numbers within limits. What it asks for may still be refused.
//
//   client says                       daemon answers
//   Hello                             Welcome with the segment's file descriptor (segment.hpp), or Refused
//   Declare, after Hello              Declared, or Refused with the numbers of the verdict
//   Grow                              Grown, or Refused
//   NeedFrame                         Frame with its file descriptor, or Refused
//   Status, first message or later    StatusPart for each client, then StatusEnd
//
// A client asks one thing at a time, and gets answers in the order of its questions. Jobs and copies go through the
// segment. Who closes the socket leaves: of a client everything is freed; of a daemon each client lets its job end,
// saves its chunks into its own host memory, lets go of all frames, and says Hello anew with what it has in `slots`.
//
// Pure; any thread. No function here fails otherwise than by its result.
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

/// Of messages, entries and segment together: both sides have the same one, or Hello is refused.
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t longest_message = 512;
/// Limits of what a message may say, whoever says it.
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
  std::uint16_t size = 0; // of the whole message
  std::uint32_t version = protocol::version;
};

/// NUL-terminated, and zero behind that.
template <std::size_t Size> using Text = std::array<char, Size>;

/// `text`, cut where it is too long.
template <std::size_t Size> [[nodiscard]] constexpr Text<Size> text(std::string_view text) noexcept {
  Text<Size> out{};
  for (std::size_t i = 0; i < text.size() && i + 1 < Size && text[i] != '\0'; ++i) out[i] = text[i];
  return out;
}
/// Of a text that valid() passed.
template <std::size_t Size> [[nodiscard]] std::string_view view(const Text<Size>& text) noexcept { return text.data(); }

/// How the frames are shared between clients.
enum class Mode : std::uint32_t {
  /// A client creates a chunk when it loads a slot and releases it when it has saved it; `frame` only counts.
  private_chunks,
  /// A frame is one chunk of the device, made by the daemon, that every client imports: for clients that trust each
  /// other.
  shared_chunks,
};

/// Answers to a part above its declared WCET: as rtexec::OnWcetExceeded.
enum class OnOverrun : std::uint8_t {
  tell,      // it is counted
  skip_next, // the next job is released one period later: what it would have brought pays for the excess
  stop,      // the client is disconnected
};

struct Hello {
  static constexpr MessageKind kind = MessageKind::hello;
  Header header;
  Text<64> name{};               // RTEXEC_CLIENT, or that of the executable
  std::uint64_t granularity = 0; // of its driver's chunks, in bytes: a power of two
  std::uint64_t chunk_bytes = 0; // of the arena that it has already; 0: it has none
  std::uint32_t can_export = 0;  // whether it can export and import chunks: 0 or 1
  std::uint32_t slots = 0;       // that its arena has already, saved all: of a client whose daemon went away
};

struct Welcome {
  static constexpr MessageKind kind = MessageKind::welcome;
  Header header;
  std::uint64_t chunk_bytes = 0;
  std::uint32_t place = 0;       // of this client at the daemon
  std::uint32_t frames = 0;      // of all clients together: Entry::frame is below
  std::uint32_t limit_slots = 0; // that this client's arena may have
  Mode mode{};
  std::uint32_t declared = 0;       // 1: a rule of the daemon declared it, and Declare is refused
  std::uint32_t agent_priority = 0; // SCHED_FIFO, of the thread that carries out commands; 0: none is asked for
  std::uint32_t awake = 0;          // 1: cores are kept from idling, and so are clients that wait for an answer
  std::uint32_t reserved = 0;
};

enum class Refusal : std::uint32_t {
  other_version = 1, // another version of the protocol
  full,              // no place is left
  not_allowed,       // a rule, or who it is
  limit,             // the client's own limit
  not_proved,        // somebody's deadline could not be promised any more: the text has the inequality
  unsupported,       // what the client's driver cannot do
  order,             // not now: Declare before Hello, or a second Hello
  stopping,          // the daemon ends
  later,             // not until jobs that others have delayed have ended: ask again, and let go of the device for it
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
  std::int64_t period_ns = 0;   // least distance of two releases
  std::int64_t deadline_ns = 0; // from the release, at most the period
  std::int64_t wcet_ns = 0;     // of a job on the device, alone, with all its chunks there
  std::int32_t priority = 0;    // 1 to 99, larger is more urgent; 0: none, by period or deadline
  OnOverrun on_overrun{};
  std::array<std::uint8_t, 3> reserved{};
};

struct Declared {
  static constexpr MessageKind kind = MessageKind::declared;
  Header header;
  std::int64_t response_bound_ns = 0; // from the release to the end of the job
};

/// The arena has `slots` slots from now on, more than before: it does not shrink while the client is connected.
/// Where the client holds the device, it has synchronised: its job is interrupted (State: waiting) and granted again
/// when all its slots stand, after Grown. Where it waits for a grant, it goes on to wait.
struct Grow {
  static constexpr MessageKind kind = MessageKind::grow;
  Header header;
  std::uint32_t slots = 0;
  std::uint32_t holds = 0; // 1: the client holds the device; what it ended before counts as not
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

/// Of who only looks on: no Hello is needed.
struct Status {
  static constexpr MessageKind kind = MessageKind::status;
  Header header;
};

/// Where a client's job is.
enum class Activity : std::uint32_t {
  idle,   // it has asked for none
  waits,  // for its release, or for the device
  loads,  // its chunks are brought to the device
  runs,   // it has the device
  leaves, // its process ends
};

/// One client. Counters are since it came.
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
  std::int64_t period_ns = 0, deadline_ns = 0, wcet_ns = 0, response_bound_ns = 0; // 0: none
  std::uint64_t jobs = 0, missed = 0, overruns = 0, failed = 0;
  std::int64_t longest_execution_ns = 0, longest_response_ns = 0;
  std::int64_t executed_ns = 0;        // by all jobs that have ended
  std::uint64_t loaded = 0, saved = 0; // chunks
};

/// The daemon, after its clients.
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
  // Since it was started
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
/// Names stand in tables, traces and files: nothing that a terminal obeys.
template <std::size_t Size> constexpr bool printable(const Text<Size>& text) noexcept {
  for (const char each : text)
    if (each != '\0' && (each < ' ' || each > '~')) return false;
  return terminated(text);
}
constexpr bool flag(std::uint32_t value) noexcept { return value <= 1; }
constexpr bool time(std::int64_t ns) noexcept { return shortest_time <= ns && ns <= longest_time; }
constexpr bool power_of_two(std::uint64_t value) noexcept { return value != 0 && (value & (value - 1)) == 0; }
} // namespace detail

/// What a client may be called.
[[nodiscard]] constexpr bool is_name(std::string_view name) noexcept {
  const auto whole = text<sizeof Hello::name>(name);
  return !name.empty() && name == view(whole) && detail::printable(whole);
}

// Whether the fields are within limits; the header is read()'s.
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

/// The bytes of `message`, whose header is filled in; valid while it lives.
template <Message M> [[nodiscard]] std::span<const std::byte> bytes_of(M& message) noexcept {
  message.header = {static_cast<std::uint16_t>(M::kind), sizeof(M), version};
  return std::as_bytes(std::span(&message, 1));
}

/// The header of what came, whatever its version; none where it is too short or says another size than it has.
[[nodiscard]] inline std::optional<Header> header_of(std::span<const std::byte> bytes) noexcept {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.size == bytes.size() ? std::optional(header) : std::nullopt;
}

/// The message M that these bytes are, if they are one.
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
