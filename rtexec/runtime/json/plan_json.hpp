// Plans and reports as JSON: the shapes that scripts rely on. Durations are integers in nanoseconds (names end in _ns),
// sizes in bytes (_bytes).
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/executive.hpp>
#include <rtexec/profile.hpp>

#include <nlohmann/json.hpp>

namespace rtexec {

[[nodiscard]] nlohmann::json to_json(const Wcet& wcet);
[[nodiscard]] nlohmann::json to_json(const PartCounts& counts);
/// Real numbers are nanoseconds, as the names say.
[[nodiscard]] nlohmann::json to_json(const MemoryCosts& costs);
/// An `exceedance` of 0: nothing is claimed.
[[nodiscard]] nlohmann::json to_json(const ProfileEntry& entry);
/// `comparison`: other tests, told beside the plan's own where those have other names.
[[nodiscard]] nlohmann::json to_json(const Plan& plan, const std::vector<TestVerdict>& comparison = {});
/// With what the verdict supposes, and what is known of it.
[[nodiscard]] nlohmann::json to_json(const ResolvedSet& set, const Plan& plan,
                                     const std::vector<TestVerdict>& comparison = {});
[[nodiscard]] nlohmann::json to_json(const Report& report);
/// Each task's memory policy, what it takes on device and host, and why it is that one.
[[nodiscard]] nlohmann::json memory_json(const Plan& plan);

} // namespace rtexec
