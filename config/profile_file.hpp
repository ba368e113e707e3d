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

/// Returns the WCET for a measured maximum: `observed` times `margin`, rounded up to whole nanoseconds.
[[nodiscard]] Duration with_margin(Duration observed, double margin);

[[nodiscard]] Result<Profile> parse_profile(std::string_view toml, const std::filesystem::path& file);
/// Returns the text of `profile`, for the file `file`. parse_profile() parses the text as an equal profile.
[[nodiscard]] Result<std::string> profile_toml(const Profile& profile, const std::filesystem::path& file);

/// Returns the entry of `task` under memory policy `policy`; `automatic` means D (device memory). Returns null if there
/// is no entry.
[[nodiscard]] const ProfileEntry* entry_of(const Profile& profile, const std::string& task, MemoryPolicy policy);
/// Sets the task's wcet to the wcet of `entry`. Also sets the task's other times from `entry`, except times that the
/// task set contains.
void fill(Task& task, const ProfileEntry& entry);
/// Returns the entry of `task` for new measurements: the existing entry if it was measured with the fingerprint
/// `workload`, otherwise a new entry.
[[nodiscard]] ProfileEntry begun_entry(const Profile& profile, const std::string& task, MemoryPolicy policy,
                                       const std::string& workload);
/// Records in `entry` that some of its values were measured in a degraded run. `lines` describe the degradation.
void add_degraded(ProfileEntry& entry, const std::vector<std::string>& lines);
/// Returns `profile`, followed by the entries of `before` for the tasks and memory policies that `profile` lacks.
[[nodiscard]] Profile with_others(Profile profile, const Profile& before);
/// Returns bad_input if measurements of `later` cannot be added to measurements of `before`, because the two profiles
/// were not measured on the same machine and the same device.
[[nodiscard]] Result<> check_same_place(const Profile& before, const Profile& later);

/// Sets the wcet of every task without a wcet, from the task's entry under its memory policy. `fingerprints` has one
/// element for each element of `tasks.tasks`: the fingerprint of the task's workload. Returns an error that names each
/// task whose entry is absent or has a different fingerprint (ProfileEntry::workload).
[[nodiscard]] Result<> apply_profile(TaskSet& tasks, const Profile& profile,
                                     const std::vector<std::string>& fingerprints);

} // namespace rtexec
