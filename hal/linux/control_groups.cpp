#include "hal/control_groups.hpp"

#include "config/base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace rtexec::hal {
namespace {

namespace fs = std::filesystem;

constexpr const char* version_2 = "/sys/fs/cgroup";
constexpr const char* memory_1 = "/sys/fs/cgroup/memory";
constexpr const char* cpu_1 = "/sys/fs/cgroup/cpu";

std::optional<std::uint64_t> number_in(const Machine& machine, const fs::path& file) {
  const auto text = machine.read(file);
  return text ? config::number<std::uint64_t>(*text) : std::nullopt;
}

/// Returns this process's group for `controller` in version 1. If `controller` is empty, returns the group in version
/// 2. Returns nullopt if the process is in no group.
std::optional<fs::path> group_of(const Machine& machine, std::string_view controller) {
  const auto groups = machine.read("/proc/self/cgroup"); // lines of ID:CONTROLLERS:PATH
  if (!groups) return {};
  for (const std::string_view line : config::parts(*groups, '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const auto each = config::parts(controllers, ',');
    const bool found = controller.empty() ? controllers.empty() : std::ranges::find(each, controller) != each.end();
    if (found) return fs::path(line.substr(second + 1)).relative_path();
  }
  return {};
}

/// Calls `look` with the folder of this process's group, then with the folder of each ancestor group.
void for_each_group(const Machine& machine, const fs::path& root, std::string_view controller,
                    const std::function<void(const fs::path&)>& look) {
  auto group = group_of(machine, controller);
  if (!group) return;
  for (;; group = group->parent_path()) {
    look(root / *group);
    if (group->empty()) return;
  }
}

struct MemoryFiles {
  std::string_view limit, used, reclaimable;
};

/// Returns the memory limit of a group, or nullopt if the group has no limit ("max").
std::optional<MemoryLimit> limit_in(const Machine& machine, const fs::path& group, const MemoryFiles& files) {
  const auto limit = number_in(machine, group / files.limit), used = number_in(machine, group / files.used);
  constexpr std::uint64_t unlimited = std::uint64_t{1} << 62; // version 1 writes the largest number of pages
  if (!limit || !used || *limit >= unlimited) return {};
  const auto stat = machine.read(group / "memory.stat");
  const auto reclaimable = stat ? field(*stat, files.reclaimable) : std::nullopt;
  const std::uint64_t dropped = reclaimable ? config::number<std::uint64_t>(*reclaimable).value_or(0) : 0;
  return MemoryLimit{.limit = Bytes{*limit},
                     .left = Bytes{*limit - std::min(*limit, *used - std::min(*used, dropped))},
                     .file = group / files.limit};
}

/// Returns the quota in a file of version 2. "50000 100000" means 50000 us of processor time in each period of 100000
/// us. Returns nullopt for "max", or if there is no such file.
std::optional<CpuQuota> quota_in(const Machine& machine, const fs::path& file) {
  const auto text = machine.read(file);
  const auto fields = text ? config::parts(*text, ' ') : std::vector<std::string_view>();
  if (fields.size() != 2) return {};
  const auto quota = config::number<double>(fields[0]), period = config::number<double>(fields[1]);
  if (!quota || !period || *period <= 0) return {};
  return CpuQuota{.cores = *quota / *period, .file = file};
}

/// Returns the quota in the files of version 1, where -1 means no limit.
std::optional<CpuQuota> quota_of_files(const Machine& machine, const fs::path& group) {
  const auto quota = number_in(machine, group / "cpu.cfs_quota_us"),
             period = number_in(machine, group / "cpu.cfs_period_us");
  if (!quota || !period || *period == 0) return {};
  return CpuQuota{.cores = static_cast<double>(*quota) / static_cast<double>(*period),
                  .file = group / "cpu.cfs_quota_us"};
}

} // namespace

std::optional<MemoryLimit> memory_limit(const Machine& machine) {
  std::optional<MemoryLimit> least;
  const auto look = [&](const MemoryFiles& files) {
    return [&machine, &least, files](const fs::path& group) {
      auto limit = limit_in(machine, group, files);
      if (limit && (!least || limit->left < least->left)) least = std::move(limit);
    };
  };
  for_each_group(machine, version_2, "",
                 look({.limit = "memory.max", .used = "memory.current", .reclaimable = "inactive_file "}));
  for_each_group(
      machine, memory_1, "memory",
      look({.limit = "memory.limit_in_bytes", .used = "memory.usage_in_bytes", .reclaimable = "total_inactive_file "}));
  return least;
}

std::optional<CpuQuota> cpu_quota(const Machine& machine) {
  std::optional<CpuQuota> least;
  const auto take = [&](std::optional<CpuQuota> quota) {
    if (quota && (!least || quota->cores < least->cores)) least = std::move(quota);
  };
  for_each_group(machine, version_2, "", [&](const fs::path& group) { take(quota_in(machine, group / "cpu.max")); });
  for_each_group(machine, cpu_1, "cpu", [&](const fs::path& group) { take(quota_of_files(machine, group)); });
  return least;
}

} // namespace rtexec::hal
