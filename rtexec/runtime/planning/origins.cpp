#include "rtexec/runtime/planning/origins.hpp"

#include <filesystem>
#include <system_error>

namespace rtexec::executive {
namespace {

/// Returns the profile entry from which the task's execution times were taken, or nullopt if there is no such entry. If
/// a viewer shows the task, the WCET of its last part may be longer than in the entry.
std::optional<ProfileEntry> origin(const PlannedTask& task, const Profile& profile) {
  for (const ProfileEntry& entry : profile.entries)
    if (entry.task == task.name && entry.workload == task.workload && entry.wcet.before == task.wcet.before &&
        entry.wcet.device == task.wcet.device && entry.wcet.after <= task.wcet.after)
      return entry;
  return std::nullopt;
}

} // namespace

Origins origins(const ResolvedSet& set, const Plan& plan) {
  const auto& file = set.tasks.executive.profile;
  Origins found{.profile = {}, .entries = std::vector<std::optional<ProfileEntry>>(plan.tasks.size())};
  if (std::error_code error; !std::filesystem::exists(file, error)) return found;
  auto profile = read_profile(file);
  if (!profile) return found;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) found.entries[i] = origin(plan.tasks[i], *profile);
  found.profile = std::move(*profile);
  return found;
}

} // namespace rtexec::executive
