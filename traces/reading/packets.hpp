// Finds the intact part of a CTF stream file in LTTng's layout. Checks the packets without decoding their events.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace rtexec::traces {

/// New sizes for the header of an incomplete packet: the file ends in the middle of the packet at `offset`.
struct Mend {
  std::uint64_t offset = 0; // in bytes
  std::uint64_t bits = 0;   // new size of both content and packet
  bool big_endian = false;
};

struct StreamFile {
  enum class State : std::uint8_t { whole, damaged, useless }; // useless: no part of the file can be read
  State state = State::whole;
  std::string what;         // the damage, if the state is not `whole`: "ends in the middle of a packet"
  bool empty = false;       // true if the file is empty; the state is then `useless`
  bool has_index = false;   // true if the file has a readable index
  std::uint64_t bytes = 0;  // number of bytes to read, from the beginning of the file
  std::optional<Mend> mend; // new sizes for the last packet in `bytes`
  bool index_fits = true;   // true if the file has no index, or if its index lists exactly these packets
  // Begin of the first complete packet and end of the last complete packet, on the trace's clock; absent if no packet
  // is complete
  std::optional<Instant> first, last;
  std::uint64_t before = 0; // number of packets of the stream before the first packet of this file
};

/// Reads the header of each packet of `file`. `index` is LTTng's list of these packets and may be missing.
[[nodiscard]] StreamFile inspect(const std::filesystem::path& file, const std::filesystem::path& index);

/// Returns a description of the damage to the metadata in `file`; empty if the packets are complete or the metadata are
/// plain text. Needed because libbabeltrace2 never returns from some damaged metadata.
[[nodiscard]] std::string damage_of_metadata(const std::filesystem::path& file);

} // namespace rtexec::traces
