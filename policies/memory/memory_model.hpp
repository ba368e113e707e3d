// The costs of a memory policy for a task, besides its execution on the device, and the memory that it takes. This is
// the model of Bateni et al. (Co-Optimizing Performance and Memory Footprint Via Integrated CPU/GPU Memory Management,
// RTAS 2020), Eqs. (2) to (8), with terms of the same kind for a GPU behind a link, and the fit of its parameters to
// measurements.
//
// The model estimates; it does not bound: promises rest on WCETs that were measured under the policy itself. Pure;
// allocates; plain values without owners.
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

/// Kernel launches that are alike. An entry with no launches and one dirty launch describes memory that the CPU wrote
/// once, before launches that map it one after the other; then `touched` is all of that memory.
struct KernelTraffic {
  Bytes touched{0}; // S_i: memory that CPU and device exchange, touched by each launch
  Bytes written{0}; // the written part of it
  std::uint64_t launches = 1;
  std::uint64_t dirty = 0; // N_c: number of launches before which the CPU wrote what they touch
  friend bool operator==(const KernelTraffic&, const KernelTraffic&) = default;
};

/// The memory traffic of one job of a task (Table III), the same under each policy.
struct MemoryTraffic {
  Bytes in{0};             // B_hd: copied from host to device under D
  Bytes out{0};            // B_dh: copied back
  std::uint64_t copies{0}; // N_m: the number of these copies
  bool fresh = false;      // copies out go to host memory that was never touched; otherwise l_ini does not count
  bool prefetch = false;   // under M the task prefetches what its dirty launches touch (if there is a link)
  std::vector<KernelTraffic> kernels;
  std::uint64_t cache_accesses = 0; // N_L2: instructions that access the device's L2 cache
  double hit_rate = 0;              // tau: the share of hits among them under D, 0 to 1
  bool hidden = false;              // parallelism hides the latency of memory (Eq. 7)
  Bytes exchanged{0};               // memory that CPU and device exchange, each buffer once
  Bytes device_only{0};             // memory that only the device uses
  friend bool operator==(const MemoryTraffic&, const MemoryTraffic&) = default;
};

/// The overhead of a policy besides execution: each part rounded up to a nanosecond, and at most `longest_time`.
struct MemoryOverhead {
  Duration copies{0};       // D: all; M behind a link: the pages that return
  Duration mapping{0};      // I: the device waits for pages; another kernel may execute meanwhile
  Duration host_flush{0};   // of the CPU's caches, when kernels start
  Duration device_flush{0}; // of the device's cache, when kernels end
  Duration uncached{0};     // Tc: under H, the additional time of accesses

  /// Returns O_D, O_M or O_H.
  [[nodiscard]] Duration all() const { return copies + mapping + host_flush + device_flush + uncached; }
  /// Returns the part during which nothing else may execute.
  [[nodiscard]] Duration alone() const { return all() - mapping; }
  friend bool operator==(const MemoryOverhead&, const MemoryOverhead&) = default;
};

/// Returns the overhead under D, M or H.
/// With unified memory: D by Eq. (2), M by Eqs. (3) to (5), with the lesser of sum and bound in Eq. (4) for each
/// launch, H by Eqs. (6) to (8).
/// Behind a link: D by Eq. (2). Under M pages migrate for dirty launches, by faults or by a prefetch for each copy of
/// D. They return likewise as far as they are `out`. Under H all that launches touch goes over the link, and so does
/// again what a cache would answer.
[[nodiscard]] MemoryOverhead memory_overhead(MemoryPolicy policy, const MemoryCosts& costs,
                                             const MemoryTraffic& traffic);

/// The memory of a task by location. With unified memory both are the same memory.
struct MemoryFootprint {
  Bytes device{0};
  Bytes host{0};
  [[nodiscard]] Bytes all() const { return device + host; }
};

/// Returns the footprint. D holds the exchanged memory twice, M and H hold it once (section II-B). Memory that only the
/// device uses is added.
[[nodiscard]] MemoryFootprint memory_footprint(MemoryPolicy policy, const MemoryTraffic& traffic);

// ---- the fit ----

struct MemoryMeasurement {
  MemoryPolicy policy = MemoryPolicy::device;
  MemoryTraffic traffic;
  /// The time of execution alone. 0: `measured` is the overhead alone.
  Duration execution{0};
  /// Execution and overhead.
  Duration measured{0};
};

/// Errors as a share of `measured`: |estimate - measured| / measured, in percent.
struct ModelError {
  double mean = 0;
  double worst = 0;
};

struct MemoryFit {
  MemoryCosts costs;
  ModelError error;    // of the fitted measurements
  ModelError held_out; // of measurements by fits that did not see them: to be expected of a new task
};

/// Returns the costs for which the relative errors have the least sum of squares, weighted by Huber's rule, so that a
/// disturbed measurement does not bend the others. `costs` gives what is known before: whether memory is unified,
/// cache_access (times only show its difference to memory_access), and the costs on which no measurement depends.
/// Measurements of one traffic are held out together, in five turns, or in one for each traffic if there are fewer.
///
/// Returns bad_input if a measurement has no time or no policy, or if there are fewer than two traffics.
[[nodiscard]] Result<MemoryFit> fit(const MemoryCosts& costs, std::span<const MemoryMeasurement> measurements);
/// Returns only the costs, for callers that hold out measurements themselves. `measurements` may be empty.
[[nodiscard]] Result<MemoryCosts> fit_costs(const MemoryCosts& costs, std::span<const MemoryMeasurement> measurements);

} // namespace rtexec::policies
