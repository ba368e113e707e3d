// Reads and writes profiles as text, and applies them to a task set.
#pragma once

#include <rtexec/profile.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec {

/// Returns the WCET for a measured maximum: `observed` times `margin`, rounded up.
[[nodiscard]] Duration with_margin(Duration observed, double margin);

[[nodiscard]] Result<Profile> parse_profile(std::string_view toml, const std::filesystem::path& file);
/// Returns the text of `profile`, for the file `file`. parse_profile() reads it as the same profile.
[[nodiscard]] Result<std::string> profile_toml(const Profile& profile, const std::filesystem::path& file);

/// Returns the entry of `task` under memory policy `policy`; `automatic` means D. Returns null if there is none.
[[nodiscard]] const ProfileEntry* entry_of(const Profile& profile, const std::string& task, MemoryPolicy policy);
/// Sets the task's wcet to that of `entry`, and takes the other times of `entry` that the task does not give itself.
void fill(Task& task, const ProfileEntry& entry);
/// Returns the entry of `task` to which measurements can be added: the existing one if it was measured with the
/// fingerprint `workload`, otherwise a new one.
[[nodiscard]] ProfileEntry begun_entry(const Profile& profile, const std::string& task, MemoryPolicy policy,
                                       const std::string& workload);
/// Records in `entry` that some of it was measured in a degraded run. `lines` describe the degradation.
void add_degraded(ProfileEntry& entry, const std::vector<std::string>& lines);
/// Returns `profile`, followed by the entries of `before` for the tasks and memory policies that `profile` lacks.
[[nodiscard]] Profile with_others(Profile profile, const Profile& before);
/// Returns bad_input if measurements of `later` cannot be added to those of `before`, because they are from another
/// machine or device.
[[nodiscard]] Result<> check_same_place(const Profile& before, const Profile& later);

/// Sets the wcet of every task without one, from its entry under its memory policy. The error names each task whose
/// entry is absent or was measured with another fingerprint. `fingerprints` are parallel to `tasks.tasks`.
[[nodiscard]] Result<> apply_profile(TaskSet& tasks, const Profile& profile,
                                     const std::vector<std::string>& fingerprints);

} // namespace rtexec
