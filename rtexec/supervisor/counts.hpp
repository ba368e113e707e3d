// The counts that the supervisor keeps across boots, in a small file on the data partition. The counts are written to a
// new file, which is synced and renamed. Therefore, a power failure leaves either the old or the new counts. If the
// partition is full, the existing file is overwritten in place. Overwriting needs no space, because the file has a
// fixed size of one disk sector.
#pragma once

#include "rtexec/supervisor/supervisor_calls.hpp"

#include <string>

namespace rtexec::supervisor {

struct Counts {
  unsigned boots = 0;
  unsigned failed_boots = 0; // consecutive boots without a successful run of the task set, including this boot
  unsigned starts = 0;       // starts of the executive
  unsigned safe_starts = 0;  // starts with the safe set (supervision.hpp), counted in `starts` too
  unsigned refusals = 0;     // times that the executive ended before its first release
  unsigned deaths = 0;       // times that the executive ended after its first release without a request to stop
  unsigned silences = 0;     // times that the executive was killed because its heartbeat stopped
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// Reads the counts. Returns zeros if there is no such file. Ignores lines that are not valid counts.
[[nodiscard]] Counts read_counts(const std::string& file, const Kernel& kernel = linux_kernel());
/// Writes the counts. Returns an empty text, or a text on the failure. In both cases the file has the old or the new
/// contents.
[[nodiscard]] std::string write_counts(const std::string& file, const Counts& counts,
                                       const Kernel& kernel = linux_kernel());

} // namespace rtexec::supervisor
