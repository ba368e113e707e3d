// Profiles as text, and their use for a task set.
#pragma once

#include <rtexec/profile.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec {

/// Returns the WCET for an observed maximum: `margin` times as long, rounded up.
[[nodiscard]] Duration with_margin(Duration observed, double margin);

[[nodiscard]] Result<Profile> parse_profile(std::string_view toml, const std::filesystem::path& file);
/// Returns the text for `file`. It reads as the same profile.
[[nodiscard]] Result<std::string> profile_toml(const Profile& profile, const std::filesystem::path& file);

/// Returns the entry of `task` under `policy`; automatic means D. Returns null if there is none.
[[nodiscard]] const ProfileEntry* entry_of(const Profile& profile, const std::string& task, MemoryPolicy policy);
/// Gives the task the wcet of `entry`, and the other times of `entry` that the task does not give itself.
void fill(Task& task, const ProfileEntry& entry);
/// Returns the entry of `task` if it was measured with the fingerprint `workload`, so that more can be added to it.
/// Otherwise returns a new entry.
[[nodiscard]] ProfileEntry begun_entry(const Profile& profile, const std::string& task, MemoryPolicy policy,
                                       const std::string& workload);
/// Records that `entry` was measured (also) in a run that was degraded as `lines` say.
void add_degraded(ProfileEntry& entry, const std::vector<std::string>& lines);
/// Returns `profile` and, behind its own entries, those of `before` for tasks and memory policies that it lacks.
[[nodiscard]] Profile with_others(Profile profile, const Profile& before);
/// Returns bad_input if measurements of `later` cannot be added to those of `before`: another machine or device.
[[nodiscard]] Result<> check_same_place(const Profile& before, const Profile& later);

/// Fills in the wcet of every task without one, from its entry under its memory policy. The error names each task whose
/// entry is absent or stale. `fingerprints` are parallel to `tasks.tasks`.
[[nodiscard]] Result<> apply_profile(TaskSet& tasks, const Profile& profile,
                                     const std::vector<std::string>& fingerprints);

} // namespace rtexec
