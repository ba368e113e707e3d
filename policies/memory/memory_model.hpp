// The overhead that a memory policy adds to a task's execution on the device, and the memory that a task needs under
// the policy. The policies are D (device memory), M (managed memory) and H (pinned host memory). The model is that of
// Bateni et al. (Co-Optimizing Performance and Memory Footprint Via Integrated CPU/GPU Memory Management, RTAS 2020),
// Eqs. (2) to (8). Additions to the paper are terms for a GPU behind a link, and a fit of the parameters to
// measurements. *Behind a link* means that the GPU has memory of its own, as opposed to *unified memory*. Letters and
// tables are those of the paper.
//
// The model only estimates, and no promise uses it: promises need WCETs measured under the policy itself. Pure;
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

using rtexec::MemoryCosts; // the parameters of Table III of Bateni et al.

/// A number of equal kernel launches. A *dirty* launch touches memory that the CPU wrote before the launch. `launches`
/// = 0 with `dirty` = 1 is a special case: the entry describes no kernel, but memory that the CPU wrote once, and that
/// several kernels then map one after the other. In this case, `touched` is the size of all this memory.
struct KernelTraffic {
  Bytes touched{0}; // S_i: the memory exchanged with the CPU that each launch touches
  Bytes written{0}; // the part of `touched` that each launch writes
  std::uint64_t launches = 1;
  std::uint64_t dirty = 0; // N_c: the number of dirty launches
  friend bool operator==(const KernelTraffic&, const KernelTraffic&) = default;
};

/// The memory traffic of one job of a task (Table III of Bateni et al.). The traffic does not depend on the policy.
struct MemoryTraffic {
  Bytes in{0};             // B_hd: the bytes copied from host to device under policy D
  Bytes out{0};            // B_dh: the bytes copied from device to host under policy D
  std::uint64_t copies{0}; // N_m: the number of these copies
  /// True if copies to the host write host memory that was never touched before. Then l_ini (Table III), the cost of
  /// the first access to host memory, counts
  bool fresh = false;
  bool prefetch = false; // true if, under policy M with a GPU behind a link, the task prefetches the memory that dirty
                         // launches touch
  std::vector<KernelTraffic> kernels;
  std::uint64_t cache_accesses = 0; // N_L2: the number of instructions that access the device's L2 cache
  double hit_rate = 0;              // tau: the share of cache hits in `cache_accesses` under policy D, 0 to 1
  bool hidden = false;              // true if parallelism hides the latency of memory (Eq. 7)
  Bytes exchanged{0};               // the memory that CPU and device exchange; each buffer counts once
  Bytes device_only{0};             // memory that only the device uses
  friend bool operator==(const MemoryTraffic&, const MemoryTraffic&) = default;
};

/// The overhead that a policy adds to execution. Each part is rounded up to a nanosecond, and is at most
/// `longest_time`.
struct MemoryOverhead {
  Duration copies{0};  // under policy D: all copies; under policy M behind a link: the migration of pages to the host
  Duration mapping{0}; // I: the time for which the device waits for pages; another kernel may execute during that time
  Duration host_flush{0};   // the time to flush the CPU's caches when kernels start
  Duration device_flush{0}; // the time to flush the device's cache when kernels end
  Duration uncached{0};     // Tc: under policy H, the additional time of memory accesses

  /// Returns the total: O_D, O_M or O_H.
  [[nodiscard]] Duration all() const { return copies + mapping + host_flush + device_flush + uncached; }
  /// Returns the part of the overhead during which no other job may execute.
  [[nodiscard]] Duration alone() const { return all() - mapping; }
  friend bool operator==(const MemoryOverhead&, const MemoryOverhead&) = default;
};

/// Returns the overhead under policy D, M or H. The equations are those of Bateni et al. (see the file header).
///
/// With unified memory: D by Eq. (2), M by Eqs. (3) to (5), H by Eqs. (6) to (8). Eq. (4) is applied to each launch:
/// the flush after a launch takes the time to write back the bytes that the launch wrote, but at most the time of one
/// whole flush.
///
/// For a GPU behind a link: D by Eq. (2). Under M, pages migrate to the device for dirty launches (launches that touch
/// memory that the CPU wrote before). The pages migrate by faults, or by one prefetch for each copy that D would make.
/// Then `out` bytes migrate back to the host, also by faults or by prefetches. Under H, all memory that launches touch
/// is read and written over the link. Accesses that the device's cache would serve under policy D also use the link.
[[nodiscard]] MemoryOverhead memory_overhead(MemoryPolicy policy, const MemoryCosts& costs,
                                             const MemoryTraffic& traffic);

/// The memory of a task by location. With unified memory, device and host are the same memory.
struct MemoryFootprint {
  Bytes device{0};
  Bytes host{0};
  [[nodiscard]] Bytes all() const { return device + host; }
};

/// Returns the footprint. The exchanged memory counts twice under policy D, and once under policies M and H (Bateni et
/// al., section II-B). Memory that only the device uses is added once.
[[nodiscard]] MemoryFootprint memory_footprint(MemoryPolicy policy, const MemoryTraffic& traffic);

// ---- the fit ----

struct MemoryMeasurement {
  MemoryPolicy policy = MemoryPolicy::device;
  MemoryTraffic traffic;
  /// The time of the execution without overhead. 0: `measured` contains only the overhead.
  Duration execution{0};
  /// The measured time of execution and overhead.
  Duration measured{0};
};

/// The relative errors of the model: |estimate - measured| / measured, in percent.
struct ModelError {
  double mean = 0;
  double worst = 0;
};

struct MemoryFit {
  MemoryCosts costs;
  ModelError error; // the error for the measurements from which the costs were fitted
  /// The error for measurements that were left out of the fit. A new task is expected to have this error
  ModelError held_out;
};

/// Returns the costs with the least sum of squared relative errors. Errors are weighted by Huber's rule, so that a
/// disturbed measurement does not distort the result. `costs` provides the values that are known in advance: whether
/// memory is unified, cache_access (times show only its difference from memory_access), and the costs on which no
/// measurement depends.
///
/// `held_out` comes from fits that each leave out one of five groups of measurements. If there are fewer than five
/// different traffics, each traffic is one group. Measurements of one traffic are always in one group.
///
/// Returns bad_input if a measurement has no time or no policy, or if there are fewer than two different traffics.
[[nodiscard]] Result<MemoryFit> fit(const MemoryCosts& costs, std::span<const MemoryMeasurement> measurements);
/// Computes the costs as fit() does, but does not estimate the errors. Use this function if other measurements are set
/// aside to validate the costs. `measurements` may be empty.
[[nodiscard]] Result<MemoryCosts> fit_costs(const MemoryCosts& costs, std::span<const MemoryMeasurement> measurements);

} // namespace rtexec::policies
