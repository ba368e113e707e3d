#include "hal/open/available_memory.hpp"

#include "config/text.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace rtexec::hal {
namespace {

namespace fs = std::filesystem;

struct Available {
  Bytes bytes;
  fs::path where; // the file that says so
};

/// Where one version of control groups keeps the memory's.
struct GroupFiles {
  std::string_view controllers; // the second field in /proc/self/cgroup
  std::string_view root, limit, used, reclaimable;
};
constexpr GroupFiles versions[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "}};

std::optional<std::uint64_t> number_in(const Machine& machine, const fs::path& file) {
  const auto text = machine.read(file);
  return text ? config::number<std::uint64_t>(*text) : std::nullopt;
}

/// Absent where the group has no limit ("max").
std::optional<Bytes> left_in(const Machine& machine, const fs::path& group, const GroupFiles& files) {
  const auto limit = number_in(machine, group / files.limit), used = number_in(machine, group / files.used);
  if (!limit || !used) return {};
  // Pages of files that the kernel drops first
  const auto stat = machine.read(group / "memory.stat");
  const auto reclaimable = stat ? field(*stat, files.reclaimable) : std::nullopt;
  const std::uint64_t dropped = reclaimable ? config::number<std::uint64_t>(*reclaimable).value_or(0) : 0;
  return Bytes{*limit - std::min(*limit, *used - std::min(*used, dropped))};
}

/// The least of the process's group and those above it.
void take_limits(const Machine& machine, const GroupFiles& files, std::string_view group, Available& least) {
  for (fs::path path = fs::path(group).relative_path();; path = path.parent_path()) {
    const fs::path folder = fs::path(files.root) / path;
    if (const auto left = left_in(machine, folder, files); left && *left < least.bytes)
      least = {*left, folder / files.limit};
    if (path.empty()) return;
  }
}

/// The least of the machine and of the control groups of this process.
Result<Available> least_available(const Machine& machine) {
  const auto of_machine = available_memory(machine);
  if (!of_machine) return Unexpected(of_machine.error());
  Available least{*of_machine, "MemAvailable in /proc/meminfo"};
  const auto groups = machine.read("/proc/self/cgroup"); // lines of ID:CONTROLLERS:PATH
  if (!groups) return least;
  for (const std::string_view line : config::parts(*groups, '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    for (const GroupFiles& files : versions)
      if (controllers == files.controllers) take_limits(machine, files, line.substr(second + 1), least);
  }
  return least;
}

} // namespace

Result<Bytes> available_memory(const Machine& machine) {
  const auto text = machine.read("/proc/meminfo");
  if (!text) return Unexpected(text.error());
  const std::string found = field(*text, "MemAvailable:").value_or("");
  const auto kib = config::number<std::uint64_t>(std::string_view(found).substr(0, found.find(' ')));
  if (!kib) return fail(Errc::unsupported, "/proc/meminfo has no MemAvailable: the kernel is older than 3.14.");
  return Bytes{*kib * 1024};
}

Result<> check_available_memory(Bytes needed, const std::string& what, const Machine& machine) {
  const auto available = least_available(machine);
  if (!available) return Unexpected(available.error());
  if (needed <= available->bytes) return {};
  return fail(Errc::refused, what + ": " + readable(needed) + " are needed, " + readable(available->bytes) +
                                 " are available to this process (" + available->where.string() +
                                 ").\nUse fewer or smaller tasks, end other programs, or raise the limit.");
}

} // namespace rtexec::hal
