#include "traces/reading/packets.hpp"

#include "config/base/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace rtexec::traces {
namespace {

using State = StreamFile::State;

/// A regular file. Other kinds of files are refused, because reading a pipe in the folder may never end.
class File {
 public:
  explicit File(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
    struct stat status {};
    if (descriptor_.get() < 0 || ::fstat(descriptor_.get(), &status) != 0) problem_ = std::strerror(errno);
    else if (!S_ISREG(status.st_mode)) problem_ = "it is not a regular file";
    else size_ = static_cast<std::uint64_t>(status.st_size);
  }
  /// Returns the reason why the file cannot be read; empty if the file can be read.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Fills `to` with the bytes from `offset` on. True if `to` was filled completely.
  [[nodiscard]] bool read(std::span<unsigned char> to, std::uint64_t offset) const {
    return problem_.empty() &&
           ::pread(descriptor_.get(), to.data(), to.size(), static_cast<off_t>(offset)) == std::ssize(to);
  }

 private:
  config::Descriptor descriptor_;
  std::string problem_;
  std::uint64_t size_ = 0;
};

template <class T> T load(const unsigned char* from, bool big_endian) {
  T value;
  std::memcpy(&value, from, sizeof value);
  if (big_endian == (std::endian::native == std::endian::big)) return value;
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  else return __builtin_bswap64(value);
}

/// The header of an LTTng packet: magic number, trace UUID, stream class and instance; begin and end times, sizes,
/// packet number.
struct Header {
  // The first `identity` bytes, except for the magic number, are equal in all packets of a stream
  static constexpr std::size_t identity = 32, bytes = 72;
  std::array<unsigned char, bytes> raw{};

  [[nodiscard]] std::optional<bool> big_endian() const {
    constexpr std::uint32_t magic = 0xC1FC1FC1;
    for (const bool big : {false, true})
      if (load<std::uint32_t>(raw.data(), big) == magic) return big;
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t word(std::size_t offset) const {
    return load<std::uint64_t>(raw.data() + offset, *big_endian());
  }
  [[nodiscard]] std::uint64_t begin() const { return word(32); }
  [[nodiscard]] std::uint64_t end() const { return word(40); }
  [[nodiscard]] std::uint64_t content_bits() const { return word(48); }
  [[nodiscard]] std::uint64_t packet_bits() const { return word(56); }
  [[nodiscard]] std::uint64_t number() const { return word(64); }

  [[nodiscard]] bool plausible(const Header& first) const {
    return big_endian() && big_endian() == first.big_endian() &&
           std::memcmp(raw.data(), first.raw.data(), identity) == 0 && packet_bits() % 8 == 0 &&
           packet_bits() >= bytes * 8 && content_bits() <= packet_bits() && content_bits() >= bytes * 8;
  }
};

/// LTTng's index file. It is big-endian and begins with four 32-bit words; the last of these words is the length of an
/// entry.
class Index {
 public:
  explicit Index(const std::filesystem::path& path) {
    std::error_code ignored;
    there_ = std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
    const File file(path);
    if (file.size() > most) return;
    bytes_.resize(file.size());
    if (!file.read(bytes_, 0)) bytes_.clear();
    if (bytes_.size() >= head) entry_ = load<std::uint32_t>(bytes_.data() + 12, true);
  }
  [[nodiscard]] bool there() const { return there_; }
  [[nodiscard]] bool readable() const {
    return there_ && entry_ >= 56 && entry_ <= 4096 && (bytes_.size() - head) % entry_ == 0;
  }
  [[nodiscard]] std::uint64_t packets() const { return readable() ? (bytes_.size() - head) / entry_ : 0; }
  [[nodiscard]] bool lists(std::uint64_t packet, std::uint64_t offset, const Header& header) const {
    if (packet >= packets()) return false;
    const unsigned char* entry = bytes_.data() + head + packet * entry_;
    const auto word = [&](std::size_t i) { return load<std::uint64_t>(entry + 8 * i, true); };
    const std::uint32_t stream_class = load<std::uint32_t>(header.raw.data() + 20, *header.big_endian());
    return word(0) == offset && word(1) == header.packet_bits() && word(2) == header.content_bits() &&
           word(3) == header.begin() && word(4) == header.end() && word(3) <= word(4) && word(6) == stream_class;
  }

 private:
  static constexpr std::size_t head = 16, most = std::size_t{1} << 30;
  std::vector<unsigned char> bytes_;
  std::uint64_t entry_ = 0;
  bool there_ = false;
};

/// Describes a damaged file: `whole` bytes at its begin consist of complete packets, and the bytes behind them do not.
StreamFile cut(std::uint64_t whole, std::string what, std::optional<Mend> mend = {}, std::uint64_t rest = 0) {
  StreamFile file;
  file.state = whole + rest > 0 ? State::damaged : State::useless;
  file.what = std::move(what);
  file.bytes = whole + rest;
  file.mend = mend;
  file.index_fits = false;
  return file;
}

/// Describes a file that ends with an incomplete packet. `left` is the number of bytes of that packet in the file.
StreamFile cut_packet(std::uint64_t offset, const Header& header, std::uint64_t left) {
  constexpr std::uint64_t context = 84; // end of the longest packet context that LTTng writes
  const std::uint64_t content = std::min(header.content_bits(), left * 8) / 8;
  if (left < context) return cut(offset, "ends in the header of a packet");
  const char* what =
      content * 8 < header.content_bits() ? "ends in the middle of a packet" : "ends in the padding of a packet";
  return cut(offset, what, Mend{offset, content * 8, *header.big_endian()}, content);
}

Instant instant(std::uint64_t ticks) { return Instant(Duration(static_cast<std::int64_t>(ticks))); }

StreamFile useless(std::string what) { return cut(0, std::move(what)); }

} // namespace

StreamFile inspect(const std::filesystem::path& path, const std::filesystem::path& index_path) {
  const File file(path);
  if (!file.problem().empty()) return useless("cannot be read: " + file.problem());
  const std::uint64_t size = file.size();
  if (size == 0) {
    StreamFile nothing = useless("is empty");
    nothing.empty = true;
    return nothing;
  }
  const Index index(index_path);
  Header first, header;
  std::uint64_t packets = 0, offset = 0;
  std::optional<Instant> begin, end;
  const auto timed = [&](StreamFile found) {
    found.first = begin;
    found.last = end;
    found.before = begin ? first.number() : 0;
    found.has_index = index.packets() > 0;
    return found;
  };
  bool listed = index.readable();
  for (; offset < size; ++packets) {
    if (!file.read(header.raw, offset)) return timed(cut(offset, "ends in the header of a packet"));
    if (packets == 0) first = header;
    if (!header.plausible(first))
      return packets == 0 ? useless("does not begin with a packet")
                          : timed(cut(offset, "holds garbage in place of a packet"));
    if (header.packet_bits() / 8 > size - offset) return timed(cut_packet(offset, header, size - offset));
    listed = listed && index.lists(packets, offset, header);
    offset += header.packet_bits() / 8;
    if (!begin) begin = instant(header.begin());
    end = instant(header.end());
  }
  if (index.packets() > packets)
    return timed(cut(size, "ends " + std::to_string(index.packets() - packets) + " packets earlier than its index"));
  StreamFile whole;
  whole.bytes = size;
  whole.index_fits = !index.there() || listed;
  return timed(std::move(whole));
}

std::string damage_of_metadata(const std::filesystem::path& path) {
  constexpr std::uint32_t magic = 0x75D11D57;
  constexpr std::size_t head = 37; // magic number, trace UUID, checksum, sizes of content and packet, five bytes
  const File file(path);
  if (!file.problem().empty()) return file.problem();
  const std::uint64_t size = file.size();
  std::array<unsigned char, head> raw{};
  for (std::uint64_t offset = 0; offset < size;) {
    const bool whole_head = file.read(raw, offset);
    const bool big = load<std::uint32_t>(raw.data(), true) == magic;
    if (!big && load<std::uint32_t>(raw.data(), false) != magic)
      return offset == 0 ? "" : "garbage in place of a packet";
    const std::uint64_t content = load<std::uint32_t>(raw.data() + 24, big),
                        packet = load<std::uint32_t>(raw.data() + 28, big);
    if (!whole_head || packet / 8 > size - offset) return "it ends in the middle of a packet";
    if (packet % 8 != 0 || content % 8 != 0 || content < head * 8 || content > packet)
      return "a packet of an impossible size";
    offset += packet / 8;
  }
  return size == 0 ? "it is empty" : "";
}

} // namespace rtexec::traces
