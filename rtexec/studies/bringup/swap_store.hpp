// Compares the swap store in a file with plain reads and writes of the same sizes on the same disk, alternately.
#pragma once

#include "rtexec/studies/bringup/board_device.hpp"

#include <string>

namespace rtexec::bringup {

/// Rates of the swap store and of plain file access: medians of several rounds, in bytes per second.
struct StoreRates {
  double saved = 0, loaded = 0;       // rates of the swap store
  double written = 0, read = 0;       // rates of pwrite and pread
  double out_ratio = 0, in_ratio = 0; // the median over all rounds of the store's rate / the plain rate
  std::string store;                  // the store's description of itself
  std::string fallback;               // features that the store lacks, one per line
  bool direct = false;                // true if plain reads and writes bypassed the page cache
  Bytes chunk;
};

[[nodiscard]] Answer judge(const StoreRates& rates, const Subject& subject);
/// Measures the store on the device that `open` opens. Returns a skipped answer if the disk does not have enough free
/// space.
[[nodiscard]] Answer measure_store(const Subject& subject, const executive::OpenDevice& open);

} // namespace rtexec::bringup
