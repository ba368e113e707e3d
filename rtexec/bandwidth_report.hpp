// How cores were held to their memory bandwidth: part of a run's report.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtexec {

struct Percentiles {
  std::int64_t p50 = 0, p99 = 0, max = 0;
  std::uint64_t samples = 0;
};

/// A core, or a cluster of cores with one counter.
struct DomainReport {
  std::vector<unsigned> cores;
  std::string counter; // as it describes itself
  Bytes line{64};      // that an event stands for
  /// As planned; absent: none. Of best-effort cores in force only in the time that `while` says
  std::optional<Bandwidth> budget;
  /// Lines counted since the start; reads are all where writes are not counted apart
  std::uint64_t reads = 0, writes = 0;
  std::uint64_t periods = 0;
  std::uint64_t missed_periods = 0;    // in which the regulating thread did not run: others had taken the core
  std::uint64_t throttled_periods = 0; // in which it stood still
  Duration throttled{0};
  /// Lines beyond what was allowed, of the periods in which the budget was used up
  Percentiles overshoot;
  Percentiles late;                 // of the regulating thread at the begin of a period, in ns
  std::uint64_t lost_overflows = 0; // that the kernel did not tell of, found by reading
  bool lost = false;                // its counter ended: no longer regulated since
};

struct BandwidthReport {
  Duration period{0};
  std::optional<Bandwidth> limit;    // of best-effort cores; with [bandwidth] slowdown as the loop last set it
  std::vector<DomainReport> domains; // since the start, rehearsals included
  std::vector<std::string> reasons;  // how each is counted and held, and what limits the guarantee
};

} // namespace rtexec
