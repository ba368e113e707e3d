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
/// Members of type double are nanoseconds.
[[nodiscard]] nlohmann::json to_json(const MemoryCosts& costs);
/// An `exceedance` (PartBasis) of 0 means that no exceedance probability is claimed.
[[nodiscard]] nlohmann::json to_json(const ProfileEntry& entry);
/// `comparison` holds further tests of the device, which become the list "comparison". Tests whose kind differs from
/// the kind of the plan's own device test are also added to the list "tests".
[[nodiscard]] nlohmann::json to_json(const Plan& plan, const std::vector<TestVerdict>& comparison = {});
/// Returns the plan in JSON like to_json(plan, comparison). Adds the conditions under which the verdict is valid, and
/// the known facts about each condition.
[[nodiscard]] nlohmann::json to_json(const ResolvedSet& set, const Plan& plan,
                                     const std::vector<TestVerdict>& comparison = {});
[[nodiscard]] nlohmann::json to_json(const Report& report);
/// Returns each task's memory policy with its reason, and its demand on device and host.
[[nodiscard]] nlohmann::json memory_json(const Plan& plan);

} // namespace rtexec
