// The cpuset file systems that a partition can be made in.
#pragma once

#include <rtexec/result.hpp>
#include "hal/machine_files.hpp"

#include <filesystem>

namespace rtexec::hal {

struct CpusetMount {
  std::filesystem::path top;
  int version = 0; // of the cgroup interface
};

/// Where the controller "cpuset" is; unsupported where it is nowhere.
[[nodiscard]] Result<CpusetMount> find_cpusets(const Machine& machine);

} // namespace rtexec::hal
