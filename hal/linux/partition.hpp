// Finds the cpuset file system in which a partition can be made.
#pragma once

#include <rtexec/result.hpp>
#include "hal/machine_files.hpp"

#include <filesystem>

namespace rtexec::hal {

struct CpusetMount {
  std::filesystem::path top;
  int version = 0; // version of the cgroup interface
};

/// Finds the mount of the controller "cpuset". Returns unsupported if there is none.
[[nodiscard]] Result<CpusetMount> find_cpusets(const Machine& machine);

} // namespace rtexec::hal
