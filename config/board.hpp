// What a board is: the facts of boards/NAME.toml. What it can do is probed by hal/, never believed from here.
#pragma once

#include "config/task_set.hpp"
#include "config/units.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rtexec {

enum class DeviceKind { host, cuda };

struct Board {
  std::filesystem::path file;
  std::string name;
  std::string description;
  DeviceKind device = DeviceKind::host;
  Bytes capacity{0};                           // device memory; 0: what the device has, known only where it is
  Bytes chunk{0};                              // default unit of physical device memory
  unsigned ordinal = 0;                        // which of the machine's GPUs
  unsigned copy_engines = 1;
  std::vector<MemoryPolicy> memory_policies;   // that a task may ask for
  std::optional<unsigned> compute_core;        // of the compute engine's thread; absent: the last online core
  std::optional<unsigned> service_core;        // scheduler and copy engines; absent: the last but one of four or more, else the first
  /// Charged by admission (ANALYSIS: inflation of the parts).
  Duration context_switch{0};                  // one switch on a core
  Duration dispatch{0};                        // job requested to device start, and device done to thread ready, each
  Duration release_latency{0};                 // timer to thread running
};

} // namespace rtexec
