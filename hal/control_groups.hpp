// The limits of control groups (versions 1 and 2) on this process, in a container or a service. The limit in force is
// the tightest limit among the process's own group and all its ancestors.
#pragma once

#include <rtexec/units.hpp>
#include "hal/machine_files.hpp"

#include <filesystem>
#include <optional>

namespace rtexec::hal {

struct MemoryLimit {
  Bytes limit;
  /// Memory still available in the group. The page cache that the kernel reclaims first (inactive files) counts as free
  Bytes left;
  std::filesystem::path file;
};
/// Returns the limit with the least memory left, or nullopt if no group limits memory.
[[nodiscard]] std::optional<MemoryLimit> memory_limit(const Machine& machine);

struct CpuQuota {
  double cores; // processor time / wall-clock time
  std::filesystem::path file;
};
/// Returns the smallest quota, or nullopt if no group limits processor time.
[[nodiscard]] std::optional<CpuQuota> cpu_quota(const Machine& machine);

} // namespace rtexec::hal
