// The limits that control groups (versions 1 and 2) set to this process, in a container or a service: the tightest one
// of its own group and of the groups above it.
#pragma once

#include <rtexec/units.hpp>
#include "hal/machine_files.hpp"

#include <filesystem>
#include <optional>

namespace rtexec::hal {

struct MemoryLimit {
  Bytes limit;
  Bytes left; // pages of files that the kernel drops first count as free
  std::filesystem::path file;
};
/// The limit with the least memory left. Absent: no group limits memory.
[[nodiscard]] std::optional<MemoryLimit> memory_limit(const Machine& machine);

struct CpuQuota {
  double cores; // processor time per time
  std::filesystem::path file;
};
/// The smallest quota. Absent: no group limits processor time.
[[nodiscard]] std::optional<CpuQuota> cpu_quota(const Machine& machine);

} // namespace rtexec::hal
