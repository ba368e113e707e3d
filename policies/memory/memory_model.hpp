// What a memory policy costs a task beside its execution on the device, and how much memory it takes: the model of
// Bateni et al. (Co-Optimizing Performance and Memory Footprint Via Integrated CPU/GPU Memory Management, RTAS 2020),
// Eqs. (2) to (8), with terms of the same kind for a GPU behind a link, and the fit of its parameters to measurements.
//
// It estimates and bounds nothing: promises rest on WCETs that were measured under the policy itself. Pure; allocates;
// plain values without owners.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace rtexec::policies {

using rtexec::MemoryCosts; // Table III

/// Launches that are alike. With none of them and one that is dirty: what one launch after the other maps, of what the
/// CPU wrote once before them; then `touched` is all of that.
struct KernelTraffic {
  Bytes touched{0}; // S_i: of memory that CPU and device exchange, by each launch
  Bytes written{0}; // of these
  std::uint64_t launches = 1;
  std::uint64_t dirty = 0; // of the launches, before which the CPU wrote what they touch (N_c)
  friend bool operator==(const KernelTraffic&, const KernelTraffic&) = default;
};

/// What one job of a task does to memory (Table III), the same under each policy.
struct MemoryTraffic {
  Bytes in{0};             // B_hd: copied from host to device under D,
  Bytes out{0};            // B_dh: and back,
  std::uint64_t copies{0}; // N_m: by so many copies
  bool fresh = false;      // copies out go to host memory that nobody has touched: otherwise l_ini does not count
  bool prefetch = false;   // under M the task prefetches what its dirty launches touch (where there is a link)
  std::vector<KernelTraffic> kernels;
  std::uint64_t cache_accesses = 0; // N_L2: instructions that access the device's L2 cache
  double hit_rate = 0;              // tau, of them, under D: 0 to 1
  bool hidden = false;              // there is parallelism enough to hide the latency of memory (Eq. 7)
  Bytes exchanged{0};               // the memory that CPU and device exchange, each buffer once,
  Bytes device_only{0};             // and what only the device knows
  friend bool operator==(const MemoryTraffic&, const MemoryTraffic&) = default;
};

/// What a policy takes beside execution: each part rounded up to a nanosecond, and `longest_time` at most.
struct MemoryOverhead {
  Duration copies{0};       // D: all; M behind a link: the pages that return
  Duration mapping{0};      // I, in which the device waits for pages: another kernel may execute meanwhile
  Duration host_flush{0};   // of the CPU's caches, at the starts of kernels
  Duration device_flush{0}; // of the device's cache, at their ends
  Duration uncached{0};     // Tc: H, what accesses take longer

  /// O_D, O_M or O_H.
  [[nodiscard]] Duration all() const { return copies + mapping + host_flush + device_flush + uncached; }
  /// What nothing may execute beside.
  [[nodiscard]] Duration alone() const { return all() - mapping; }
  friend bool operator==(const MemoryOverhead&, const MemoryOverhead&) = default;
};

/// Under D, M or H. Where there is one memory: D by Eq. (2), M by Eqs. (3) to (5), of Eq. (4) the lesser of sum and
/// bound for each launch, H by Eqs. (6) to (8). Behind a link: D by Eq. (2), M with pages that migrate for dirty
/// launches, by faults or by a prefetch for each copy of D, and return likewise as far as they are `out`, H with all
/// that launches touch over the link, and again what a cache would answer.
[[nodiscard]] MemoryOverhead memory_overhead(MemoryPolicy policy, const MemoryCosts& costs,
                                             const MemoryTraffic& traffic);

/// Where a task's memory is. One memory holds both.
struct MemoryFootprint {
  Bytes device{0};
  Bytes host{0};
  [[nodiscard]] Bytes all() const { return device + host; }
};

/// D holds twice what is exchanged, M and H hold it once (section II-B); what only the device knows is there.
[[nodiscard]] MemoryFootprint memory_footprint(MemoryPolicy policy, const MemoryTraffic& traffic);

// ---- the fit ----

struct MemoryMeasurement {
  MemoryPolicy policy = MemoryPolicy::device;
  MemoryTraffic traffic;
  /// What execution alone takes. 0: `measured` is the overhead alone.
  Duration execution{0};
  /// Execution and overhead.
  Duration measured{0};
};

/// Of `measured`: |estimate - measured| / measured, in percent.
struct ModelError {
  double mean = 0;
  double worst = 0;
};

struct MemoryFit {
  MemoryCosts costs;
  ModelError error;    // of the measurements that were fitted
  ModelError held_out; // of measurements by fits that did not see them: what to expect of a task that is new
};

/// The costs under which the relative errors have the least sum of squares, weighted by Huber's rule, so that a
/// measurement that a stranger disturbed does not bend the others. `costs` says what is known before: whether there is
/// one memory, cache_access (its difference to memory_access is all that times tell), and what no measurement depends
/// on. Measurements of one traffic are held out together, in turns of five or of fewer groups.
///
/// bad_input: a measurement of no time or of no policy; fewer than two traffics.
[[nodiscard]] Result<MemoryFit> fit(const MemoryCosts& costs, std::span<const MemoryMeasurement> measurements);
/// The costs alone, for who holds out others: of any measurements, none included.
[[nodiscard]] Result<MemoryCosts> fit_costs(const MemoryCosts& costs, std::span<const MemoryMeasurement> measurements);

} // namespace rtexec::policies
