// Checks the packets of a CTF stream file in LTTng's layout, without decoding their events, to find how much of the
// file is intact.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace rtexec::traces {

/// The sizes to write into the header of the packet at `offset`, in whose middle the file ends.
struct Mend {
  std::uint64_t offset = 0; // in bytes
  std::uint64_t bits = 0;   // new size of both content and packet
  bool big_endian = false;
};

struct StreamFile {
  enum class State : std::uint8_t { whole, damaged, useless }; // useless: no part of the file can be read
  State state = State::whole;
  std::string what;         // the damage, unless the state is whole: "ends in the middle of a packet"
  bool empty = false;       // the file is empty, and so useless
  bool has_index = false;   // the file has a readable index
  std::uint64_t bytes = 0;  // number of bytes to read, from the file's begin
  std::optional<Mend> mend; // new sizes for the last packet in `bytes`
  bool index_fits = true;   // the file has no index, or its index lists exactly these packets
  // On the trace's clock: begin of the first whole packet and end of the last; absent if no packet is whole
  std::optional<Instant> first, last;
  std::uint64_t before = 0; // number of packets of the stream before the first one of this file
};

/// Reads the header of each packet of `file`. `index` is LTTng's list of these packets and may be missing.
[[nodiscard]] StreamFile inspect(const std::filesystem::path& file, const std::filesystem::path& index);

/// Returns why the metadata in `file` are damaged; empty if their packets are whole or they are plain text.
/// (libbabeltrace2 never returns from some damaged metadata.)
[[nodiscard]] std::string damage_of_metadata(const std::filesystem::path& file);

} // namespace rtexec::traces
