// Converts plans and reports to JSON, in the format that scripts rely on. Durations are integers in nanoseconds (names
// end in _ns), sizes in bytes (_bytes).
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/executive.hpp>
#include <rtexec/profile.hpp>

#include <nlohmann/json.hpp>

namespace rtexec {

[[nodiscard]] nlohmann::json to_json(const Wcet& wcet);
[[nodiscard]] nlohmann::json to_json(const PartCounts& counts);
/// Real numbers in it are nanoseconds.
[[nodiscard]] nlohmann::json to_json(const MemoryCosts& costs);
/// An `exceedance` of 0 means that nothing is claimed.
[[nodiscard]] nlohmann::json to_json(const ProfileEntry& entry);
/// `comparison`: other tests, listed in addition to the plan's own tests unless they have the same name.
[[nodiscard]] nlohmann::json to_json(const Plan& plan, const std::vector<TestVerdict>& comparison = {});
/// Adds the conditions that the verdict rests on, and what is known about them.
[[nodiscard]] nlohmann::json to_json(const ResolvedSet& set, const Plan& plan,
                                     const std::vector<TestVerdict>& comparison = {});
[[nodiscard]] nlohmann::json to_json(const Report& report);
/// Returns each task's memory policy with its reason, and its demand on device and host.
[[nodiscard]] nlohmann::json memory_json(const Plan& plan);

} // namespace rtexec
