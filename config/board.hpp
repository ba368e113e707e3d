// What a board is: the facts of boards/NAME.toml. What it can do is probed by hal/, never believed from here.
#pragma once

#include "config/task_set.hpp"
#include "config/units.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rtexec {

enum class DeviceKind { host, cuda };

/// What moving chunks of one size costs at most, while the other direction is as busy: one operation on x chunks takes
/// fixed + x per_chunk, mapping included. Measured by `rtexec calibrate`.
struct SwapCost {
  StoreKind store = StoreKind::pinned;
  Bytes chunk{0};
  Duration in_per_chunk{0};
  Duration out_per_chunk{0};
  Duration drop_per_chunk{0}; // of constants: unmapped, and not copied
  Duration in_fixed{0};       // of each job's load
  Duration out_fixed{0};      // of each victim
  Duration residual{0};       // the most by which a measured operation exceeded the fit, before the margin
};

struct Board {
  std::filesystem::path file;
  std::string name;
  std::string description;
  DeviceKind device = DeviceKind::host;
  Bytes capacity{0};                           // device memory; 0: what the device has, known only where it is
  Bytes chunk{0};                              // default unit of physical device memory
  unsigned ordinal = 0;                        // which of the machine's GPUs
  unsigned copy_engines = 1;                   // 2: copies in and out overlap
  bool unified_memory = false;                 // CPU and GPU share one memory: swapping to host memory would win nothing
  std::vector<SwapCost> swap_costs;            // by store and chunk size
  std::vector<MemoryPolicy> memory_policies;   // that a task may ask for
  std::optional<unsigned> compute_core;        // of the compute engine's thread; absent: the last online core
  std::optional<unsigned> service_core;        // scheduler and copy engines; absent: the last but one of four or more, else the first
  std::vector<unsigned> cores;                 // of the machine, for tasks that name none; not in the file: who plans settles them; empty: core 0
  /// Charged by admission (ANALYSIS: inflation of the parts).
  Duration context_switch{0};                  // one switch on a core
  Duration dispatch{0};                        // job requested to device start, and device done to thread ready, each
  Duration release_latency{0};                 // timer to thread running
};

} // namespace rtexec
