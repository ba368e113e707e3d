#include "traces/analysis/measured_profile.hpp"

#include "config/profile_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

namespace rtexec::traces {
namespace {

constexpr std::array parts{Part::before, Part::device, Part::after}; // in the order of TaskAnalysis::stages

std::string rule_of(const ProfileEntry& entry, Part part) {
  const PartBasis& basis = entry.basis(part);
  const Duration longest = entry.observed.of(part), wcet = entry.wcet.of(part);
  std::ostringstream rule;
  if (basis.method == WcetMethod::tail_model) rule << "upper limit of models of the distribution's tail";
  else if (basis.method == WcetMethod::layers)
    rule << "sum of the longest of " << entry.layers.pieces << " groups of its layers";
  else if (wcet <= with_margin(longest, entry.margin))
    rule << "longest of " << entry.samples << " times " << entry.margin;
  else rule << "longest of " << entry.samples << ", increased for its growth, its spread and interruptions";
  if (basis.exceedance > 0) rule << " (at most 1 job in " << std::floor(1 / basis.exceedance) << " is longer)";
  return rule.str();
}

std::string why_not(const TaskAnalysis& task) {
  const std::string who = "task '" + task.setup.name + "': ";
  if (!task.invalid.empty()) return who + "its figures are invalid: " + task.invalid;
  if (task.completed == 0) return who + "no job of it completed in the recording";
  if (task.setup.workload.empty()) return who + "the recording does not contain its workload";
  return {};
}

ProfileEntry with_executions(ProfileEntry entry, const TaskAnalysis& task, const WcetOptions& options) {
  entry.samples += task.completed;
  entry.margin = options.margin;
  entry.tuning = task.setup.tuning;
  for (std::size_t i = 0; i < parts.size(); ++i)
    add_executions(entry, parts[i], task.stages[i].samples, task.stages[i].times.max, options);
  const Duration least(task.setup.wcet.uses_device() ? 1 : 0);
  entry.wcet.device = std::max(entry.wcet.device, least);
  entry.observed.device = std::max(entry.observed.device, least);
  return entry;
}

} // namespace

Result<Measured> measured_profile(const Analysis& analysis, const WcetOptions& options,
                                  const std::optional<Profile>& before) {
  Measured measured;
  measured.profile.machine = analysis.setup.machine;
  measured.profile.device = analysis.setup.device;
  if (before)
    if (const auto same = check_same_place(*before, measured.profile); !same) return Unexpected(same.error());
  for (const TaskAnalysis& task : analysis.tasks) {
    if (const std::string why = why_not(task); !why.empty())
      return fail(Errc::bad_input, analysis.folder + ": no execution times can be written: " + why);
    ProfileEntry& entry = measured.profile.entries.emplace_back(
        with_executions(begun_entry(before.value_or(Profile{}), task.setup.name,
                                    task.setup.memory_policy.value_or(MemoryPolicy::device), task.setup.workload),
                        task, options));
    add_degraded(entry, analysis.setup.degraded);
  }
  allow_interruptions(measured.profile.entries);
  for (const ProfileEntry& entry : measured.profile.entries)
    measured.rules.push_back(entry.task + ": before: " + rule_of(entry, Part::before) +
                             "; device: " + rule_of(entry, Part::device) + "; after: " + rule_of(entry, Part::after));
  return measured;
}

} // namespace rtexec::traces
