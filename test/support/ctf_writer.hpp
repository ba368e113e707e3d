// Writes CTF 1.8 traces as LTTng-UST lays them out: packets with sequence numbers and counts of discarded events, large
// event headers, an index beside each stream. It works without LTTng, for deterministic traces of any length, lossy or
// damaged ones too.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rtexec::test {

struct CtfField {
  enum class Type : std::uint8_t { u8, u32, u64, i64, text, enumeration }; // an enumeration is a u8
  std::string name;
  Type type = Type::u64;
  std::vector<std::pair<std::string, unsigned>> labels{}; // for an enumeration
};

struct CtfEvent {
  std::string name; // such as "rtexec:job_start"
  std::vector<CtfField> fields;
};

struct CtfChannel {
  std::string name; // its streams are the files NAME_0, NAME_1, ...
  std::vector<CtfEvent> events;
};

/// A field's value: `integer` if the field is an integer or an enumeration, `text` otherwise.
struct CtfValue {
  CtfValue(std::int64_t value) : integer(value) {}    // NOLINT: implicit, for lists of values
  CtfValue(std::string_view value) : text(value) {}   // NOLINT
  CtfValue(const char* value) : text(value) {}        // NOLINT
  CtfValue(const std::string& value) : text(value) {} // NOLINT: the string must outlive the list
  std::int64_t integer = 0;
  std::string_view text;
};

struct CtfOptions {
  std::size_t packet_bytes = 65'536;                     // maximum size of a packet, a multiple of the page size
  std::int64_t clock_offset = 1'700'000'000'000'000'000; // of the trace clock from the epoch, in ns
  bool index = true;
};

class CtfWriter {
 public:
  /// Creates `folder` and writes one stream per channel and core into it. Throws if files cannot be written.
  CtfWriter(const std::filesystem::path& folder, std::vector<CtfChannel> channels, unsigned cores,
            const CtfOptions& options = {});
  ~CtfWriter(); // writes the packets that remain
  CtfWriter(const CtfWriter&) = delete;
  CtfWriter& operator=(const CtfWriter&) = delete;

  /// Writes event number `event` of the channel's list at `time`, with a value for each of its fields. `time` is in ns
  /// and must not be earlier than the stream's last event.
  void write(std::size_t channel, unsigned core, std::size_t event, std::int64_t time,
             std::span<const CtfValue> values);
  void write(std::size_t channel, unsigned core, std::size_t event, std::int64_t time,
             std::initializer_list<CtfValue> values) {
    write(channel, core, event, time, std::span(values.begin(), values.size()));
  }
  /// Ends the stream's packet at `time`.
  void end_packet(std::size_t channel, unsigned core, std::int64_t time);
  /// Adds to the events, or whole packets, lost since the stream's last packet ended. The stream's next packet reports
  /// the count.
  void lose_events(std::size_t channel, unsigned core, std::uint64_t count);
  void lose_packets(std::size_t channel, unsigned core, std::uint64_t count);

 private:
  class Stream;
  [[nodiscard]] Stream& stream(std::size_t channel, unsigned core) { return *streams_[channel * cores_ + core]; }

  std::vector<CtfChannel> channels_;
  unsigned cores_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

} // namespace rtexec::test
