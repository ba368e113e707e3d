#include "test/support/ctf_writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace rtexec::test {
namespace {

namespace fs = std::filesystem;

constexpr std::array<unsigned char, 16> uuid{0x2a, 0x64, 0x22, 0xd0, 0x6c, 0xee, 0x41, 0xe0,
                                             0x8c, 0x08, 0xcb, 0x07, 0xd3, 0x05, 0xb8, 0x46};
constexpr std::size_t page = 4096;
constexpr std::size_t head = 84;      // bytes of a packet's header
constexpr std::size_t max_event = 14; // maximum bytes of an event's header

constexpr const char* preamble = R"(/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = false; } := unsigned long;
trace {
	major = 1;
	minor = 8;
	uuid = "2a6422d0-6cee-41e0-8c08-cb07d305b846";
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint8_t  uuid[16];
		uint32_t stream_id;
		uint64_t stream_instance_id;
	};
};
env {
	domain = "ust";
	tracer_name = "lttng-ust";
	tracer_major = 2;
	tracer_minor = 13;
	tracer_buffering_scheme = "uid";
	architecture_bit_width = 64;
	hostname = "a host";
};
)";

constexpr const char* layouts =
    R"(typealias integer { size = 32; align = 8; map = clock.monotonic.value; } := uint32_clock_monotonic_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_monotonic_t;
struct packet_context {
	uint64_clock_monotonic_t timestamp_begin;
	uint64_clock_monotonic_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
	uint64_t packet_seq_num;
	unsigned long events_discarded;
	uint32_t cpu_id;
};
struct event_header_large {
	enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
	variant <id> {
		struct {
			uint32_clock_monotonic_t timestamp;
		} compact;
		struct {
			uint32_t id;
			uint64_clock_monotonic_t timestamp;
		} extended;
	} v;
} align(8);
)";

std::string declaration(const CtfField& field) {
  const auto integer = [](int size, int sign) {
    return "integer { size = " + std::to_string(size) + "; align = 8; signed = " + std::to_string(sign) +
           "; encoding = none; base = 10; }";
  };
  std::string type;
  switch (field.type) {
  case CtfField::Type::u8: type = integer(8, 0); break;
  case CtfField::Type::u32: type = integer(32, 0); break;
  case CtfField::Type::u64: type = integer(64, 0); break;
  case CtfField::Type::i64: type = integer(64, 1); break;
  case CtfField::Type::text: type = "string"; break;
  case CtfField::Type::enumeration:
    type = "enum : " + integer(8, 0) + " {";
    for (const auto& [label, value] : field.labels) type += " \"" + label + "\" = " + std::to_string(value) + ",";
    type += " }";
    break;
  }
  return "\t\t" + type + " _" + field.name + ";\n";
}

std::string metadata(const std::vector<CtfChannel>& channels, std::int64_t clock_offset) {
  std::string text = std::string(preamble) + "clock {\n\tname = \"monotonic\";\n\tfreq = 1000000000;\n\toffset = " +
                     std::to_string(clock_offset) + ";\n};\n" + layouts;
  for (std::size_t channel = 0; channel < channels.size(); ++channel) {
    text += "stream {\n\tid = " + std::to_string(channel) +
            ";\n\tevent.header := struct event_header_large;\n\tpacket.context := struct packet_context;\n};\n";
    for (std::size_t id = 0; id < channels[channel].events.size(); ++id) {
      const CtfEvent& event = channels[channel].events[id];
      text += "event {\n\tname = \"" + event.name + "\";\n\tid = " + std::to_string(id) +
              ";\n\tstream_id = " + std::to_string(channel) + ";\n\tloglevel = 13;\n\tfields := struct {\n";
      for (const CtfField& field : event.fields) text += declaration(field);
      text += "\t};\n};\n";
    }
  }
  return text;
}

/// Writes the metadata in packets, as LTTng does.
void write_metadata(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  const auto word = [&](std::uint32_t value) {
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  }; // NOLINT
  constexpr std::size_t own_head = 37;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t part = std::min(text.size() - at, page - own_head);
    word(0x75D11D57);
    out.write(reinterpret_cast<const char*>(uuid.data()), uuid.size()); // NOLINT
    word(0);                                                            // checksum: none
    word(static_cast<std::uint32_t>((part + own_head) * 8));
    word(static_cast<std::uint32_t>(page * 8));
    out.write("\0\0\0\1\10", 5); // compression, encryption, checksum: none; CTF 1.8
    out.write(text.data() + at, static_cast<std::streamsize>(part));
    out << std::string(page - own_head - part, '\0');
    at += part;
  }
}

std::FILE* open(const fs::path& file) {
  std::FILE* stream = std::fopen(file.c_str(), "wb");
  if (!stream) throw std::system_error(errno, std::generic_category(), file.string());
  return stream;
}

void write_bytes(std::FILE* file, const void* bytes, std::size_t count) {
  if (std::fwrite(bytes, 1, count, file) != count)
    throw std::system_error(errno, std::generic_category(), "writing a trace");
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using Output = std::unique_ptr<std::FILE, Close>;

static_assert(std::endian::native == std::endian::little, "the metadata says so");

} // namespace

class CtfWriter::Stream {
 public:
  Stream(const fs::path& folder, const std::string& name, std::uint32_t id, std::uint32_t core,
         const CtfOptions& options)
      : id_(id), core_(core), packet_(options.packet_bytes), file_(open(folder / name)) {
    if (!options.index) return;
    index_.reset(open(folder / "index" / (name + ".idx")));
    for (const std::uint32_t word : {0xC1F1DCC1U, 1U, 1U, 72U}) put_index(word);
  }

  void write(const CtfEvent& event, std::uint32_t id, std::uint64_t time, std::span<const CtfValue> values) {
    std::size_t texts = 0;
    for (const CtfValue& value : values) texts += value.text.size() + 9;
    if (used_ > 0 && used_ + max_event + texts > packet_.size()) end(last_);
    if (used_ == 0) begin(time);
    if (time >> 32 == last_ >> 32) {
      put(static_cast<std::uint16_t>(id));
      put(static_cast<std::uint32_t>(time));
    } else {
      put(std::uint16_t{65'535});
      put(id);
      put(time);
    }
    last_ = time;
    for (std::size_t i = 0; i < event.fields.size(); ++i) put_field(event.fields[i].type, values[i]);
  }

  void end(std::uint64_t time) {
    if (used_ == 0) begin(time);
    const std::size_t content = used_, size = (used_ + page - 1) / page * page;
    std::memset(packet_.data() + used_, 0, size - used_);
    used_ = 0;
    put_head(begin_, time, content, size);
    write_bytes(file_.get(), packet_.data(), size);
    if (index_) put_entry(time, content, size);
    offset_ += size;
    ++sequence_;
    used_ = 0;
    last_ = time;
  }

  [[nodiscard]] std::uint64_t last() const { return last_; }
  [[nodiscard]] bool pending() const { return used_ > 0 || offset_ == 0; }
  void lose_events(std::uint64_t count) { discarded_ += count; }
  void lose_packets(std::uint64_t count) { sequence_ += count; }

 private:
  void begin(std::uint64_t time) {
    begin_ = last_ = time;
    used_ = head;
  }

  template <class T> void put(T value) {
    std::memcpy(packet_.data() + used_, &value, sizeof value);
    used_ += sizeof value;
  }

  void put_field(CtfField::Type type, const CtfValue& value) {
    switch (type) {
    case CtfField::Type::u8:
    case CtfField::Type::enumeration: return put(static_cast<std::uint8_t>(value.integer));
    case CtfField::Type::u32: return put(static_cast<std::uint32_t>(value.integer));
    case CtfField::Type::u64:
    case CtfField::Type::i64: return put(value.integer);
    case CtfField::Type::text:
      std::memcpy(packet_.data() + used_, value.text.data(), value.text.size());
      used_ += value.text.size();
      return put(char{0});
    }
  }

  void put_head(std::uint64_t begin, std::uint64_t end, std::uint64_t content, std::uint64_t size) {
    put(std::uint32_t{0xC1FC1FC1});
    put(uuid);
    put(id_);
    put(std::uint64_t{core_});
    for (const std::uint64_t word : {begin, end, content * 8, size * 8, sequence_, discarded_}) put(word);
    put(core_);
  }

  template <class T> void put_index(T value) {
    std::array<unsigned char, sizeof(T)> bytes{};
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes[i] = static_cast<unsigned char>(value >> (8 * (sizeof(T) - 1 - i)));
    write_bytes(index_.get(), bytes.data(), bytes.size());
  }

  void put_entry(std::uint64_t time, std::uint64_t content, std::uint64_t size) {
    for (const std::uint64_t word : {offset_, size * 8, content * 8, begin_, time, discarded_, std::uint64_t{id_},
                                     std::uint64_t{core_}, sequence_})
      put_index(word);
  }

  std::uint32_t id_, core_;
  std::vector<char> packet_;
  Output file_, index_;
  std::size_t used_ = 0; // bytes used in the packet; 0: no packet is open
  std::uint64_t begin_ = 0, last_ = 0, sequence_ = 0, discarded_ = 0, offset_ = 0;
};

CtfWriter::CtfWriter(const fs::path& folder, std::vector<CtfChannel> channels, unsigned cores,
                     const CtfOptions& options)
    : channels_(std::move(channels)), cores_(cores) {
  fs::create_directories(options.index ? folder / "index" : folder);
  write_metadata(folder / "metadata", metadata(channels_, options.clock_offset));
  for (std::size_t channel = 0; channel < channels_.size(); ++channel)
    for (unsigned core = 0; core < cores; ++core)
      streams_.push_back(std::make_unique<Stream>(folder, channels_[channel].name + "_" + std::to_string(core),
                                                  static_cast<std::uint32_t>(channel), core, options));
}

CtfWriter::~CtfWriter() {
  for (const auto& stream : streams_)
    if (stream->pending()) stream->end(stream->last());
}

void CtfWriter::write(std::size_t channel, unsigned core, std::size_t event, std::int64_t time,
                      std::span<const CtfValue> values) {
  stream(channel, core)
      .write(channels_[channel].events[event], static_cast<std::uint32_t>(event), static_cast<std::uint64_t>(time),
             values);
}

void CtfWriter::end_packet(std::size_t channel, unsigned core, std::int64_t time) {
  stream(channel, core).end(static_cast<std::uint64_t>(time));
}
void CtfWriter::lose_events(std::size_t channel, unsigned core, std::uint64_t count) {
  stream(channel, core).lose_events(count);
}
void CtfWriter::lose_packets(std::size_t channel, unsigned core, std::uint64_t count) {
  stream(channel, core).lose_packets(count);
}

} // namespace rtexec::test
