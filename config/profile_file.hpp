// Profiles as text, and what they mean for a task set.
#pragma once

#include <rtexec/profile.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec {

/// The WCET that an observed maximum stands for: `margin` times as long, rounded up.
[[nodiscard]] Duration with_margin(Duration observed, double margin);

[[nodiscard]] Result<Profile> parse_profile(std::string_view toml, const std::filesystem::path& file);
/// What `file` is to hold: it reads as the same profile.
[[nodiscard]] Result<std::string> profile_toml(const Profile& profile, const std::filesystem::path& file);

/// Of `task` under `policy`; automatic means D. Null: there is none.
[[nodiscard]] const ProfileEntry* entry_of(const Profile& profile, const std::string& task, MemoryPolicy policy);
/// Gives the task the times of `entry` that it does not say itself.
void fill(Task& task, const ProfileEntry& entry);
/// What was measured of `task` while its fingerprint was `workload`, for more to be added: nothing where it was not.
[[nodiscard]] ProfileEntry begun_entry(const Profile& profile, const std::string& task, MemoryPolicy policy,
                                       const std::string& workload);
/// `entry` was measured (also) in a run that was degraded by these.
void add_degraded(ProfileEntry& entry, const std::vector<std::string>& lines);
/// `profile`, and behind its own entries those of `before` for tasks and memory policies of which it has none.
[[nodiscard]] Profile with_others(Profile profile, const Profile& before);
/// bad_input: measurements of `later` cannot be added to those of `before`, which are of another machine or device.
[[nodiscard]] Result<> check_same_place(const Profile& before, const Profile& later);

/// Fills in the wcet of every task that has none from its entry under its memory policy; an error names each task whose
/// entry is absent or stale. `fingerprints` are parallel to `tasks.tasks`.
[[nodiscard]] Result<> apply_profile(TaskSet& tasks, const Profile& profile,
                                     const std::vector<std::string>& fingerprints);

} // namespace rtexec
