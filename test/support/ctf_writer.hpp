// Writes CTF 1.8 as LTTng-UST lays it out (packets with sequence numbers and counts of discarded events, large event
// headers, an index beside each stream), without LTTng: traces of any length, lossy or damaged ones, always the same.
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
  std::vector<std::pair<std::string, unsigned>> labels{}; // of an enumeration
};

struct CtfEvent {
  std::string name; // "rtexec:job_start"
  std::vector<CtfField> fields;
};

struct CtfChannel {
  std::string name; // its streams are the files NAME_0, NAME_1, ...
  std::vector<CtfEvent> events;
};

/// A field's value; an integer where the field is one.
struct CtfValue {
  CtfValue(std::int64_t value) : integer(value) {}    // NOLINT: implicit, for lists of values
  CtfValue(std::string_view value) : text(value) {}   // NOLINT
  CtfValue(const char* value) : text(value) {}        // NOLINT
  CtfValue(const std::string& value) : text(value) {} // NOLINT: it outlives the list
  std::int64_t integer = 0;
  std::string_view text;
};

struct CtfOptions {
  std::size_t packet_bytes = 65'536;                     // at most, a multiple of the page
  std::int64_t clock_offset = 1'700'000'000'000'000'000; // of the epoch, in ns
  bool index = true;
};

class CtfWriter {
 public:
  /// Writes into `folder`, which is made, with a stream per channel and core. Throws where files cannot be written.
  CtfWriter(const std::filesystem::path& folder, std::vector<CtfChannel> channels, unsigned cores,
            const CtfOptions& options = {});
  ~CtfWriter(); // writes what is left
  CtfWriter(const CtfWriter&) = delete;
  CtfWriter& operator=(const CtfWriter&) = delete;

  /// An event of the channel's list, at `time` (ns, not before the stream's last one), with a value for each of its
  /// fields.
  void write(std::size_t channel, unsigned core, std::size_t event, std::int64_t time,
             std::span<const CtfValue> values);
  void write(std::size_t channel, unsigned core, std::size_t event, std::int64_t time,
             std::initializer_list<CtfValue> values) {
    write(channel, core, event, time, std::span(values.begin(), values.size()));
  }
  /// Ends the stream's packet at `time`.
  void end_packet(std::size_t channel, unsigned core, std::int64_t time);
  /// That many events, or whole packets, were lost since the stream's last packet ended; told by its next one.
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
