// The packets of a CTF stream file as LTTng lays them out, without decoding their events: how far the file is whole.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace rtexec::traces {

/// New sizes for the packet at `offset`, which the file cuts off.
struct Mend {
  std::uint64_t offset = 0; // in bytes
  std::uint64_t bits = 0;   // content and packet
  bool big_endian = false;
};

struct StreamFile {
  enum class State : std::uint8_t { whole, damaged, useless }; // useless: nothing of it can be read
  State state = State::whole;
  std::string what;         // is wrong, unless whole: "ends in the middle of a packet"
  bool empty = false;       // and so useless
  bool has_index = false;   // a readable one
  std::uint64_t bytes = 0;  // to be read, from its begin
  std::optional<Mend> mend; // of its last packet, which these bytes end with
  bool index_fits = true;   // there is none, or it lists these very packets
  // On the trace's clock: begin of the first whole packet, end of the last; absent where there is none
  std::optional<Instant> first, last;
  std::uint64_t before = 0; // packets of its stream, before the first one
};

/// Reads the header of each packet of `file`; `index` is LTTng's list of them, which may be absent.
[[nodiscard]] StreamFile inspect(const std::filesystem::path& file, const std::filesystem::path& index);

/// Why the metadata in `file` are not whole; empty: their packets are, or they are plain text. (libbabeltrace2 never
/// returns from some that are not.)
[[nodiscard]] std::string damage_of_metadata(const std::filesystem::path& file);

} // namespace rtexec::traces
