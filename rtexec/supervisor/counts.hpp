// What the supervisor remembers from boot to boot: a small file on the data partition. It is written whole, synced and
// renamed into its place, so that a power cut leaves the old one or the new one. On a partition that is full it is
// written over, for which it needs no room: it has one size, a disk's sector.
#pragma once

#include "rtexec/supervisor/supervisor_calls.hpp"

#include <string>

namespace rtexec::supervisor {

struct Counts {
  unsigned boots = 0;
  unsigned failed_boots = 0; // in a row, up to this one: those in which the task set did not prove itself
  unsigned starts = 0;       // of the executive
  unsigned safe_starts = 0;  // of them, with the safe set
  unsigned refusals = 0;     // it ended before its first release
  unsigned deaths = 0;       // it ended afterwards, unasked
  unsigned silences = 0;     // its beat stopped, and it was killed
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// Zeros where there is no such file; what is no count in it is passed over.
[[nodiscard]] Counts read_counts(const std::string& file, const Kernel& kernel = linux_kernel());
/// Empty, or what failed; the file is then as it was, or as it was to be.
[[nodiscard]] std::string write_counts(const std::string& file, const Counts& counts,
                                       const Kernel& kernel = linux_kernel());

} // namespace rtexec::supervisor
