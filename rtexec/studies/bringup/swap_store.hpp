// The swap store in a file, held against plain reads and writes of the same sizes on the same disk, in turns.
#pragma once

#include "rtexec/studies/bringup/board_device.hpp"

#include <string>

namespace rtexec::bringup {

/// Medians of several rounds; in bytes a second.
struct StoreRates {
  double saved = 0, loaded = 0;       // by the store
  double written = 0, read = 0;       // by pwrite and pread
  double out_ratio = 0, in_ratio = 0; // of the store's rate and the plain one, in a round
  std::string store;                  // as it describes itself
  std::string fallback;               // what it does without, in lines
  bool direct = false;                // plain ones went past the page cache
  Bytes chunk;
};

[[nodiscard]] Answer judge(const StoreRates& rates, const Subject& subject);
/// Skipped where the disk has not the room.
[[nodiscard]] Answer measure_store(const Subject& subject, const executive::OpenDevice& open);

} // namespace rtexec::bringup
