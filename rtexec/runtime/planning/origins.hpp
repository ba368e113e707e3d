// Finds the origins of a plan's execution times: a profile, or the task set.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/profile.hpp>
#include <rtexec/resolved_set.hpp>

#include <optional>
#include <vector>

namespace rtexec::executive {

struct Origins {
  std::optional<Profile> profile; // the set's profile, if it can be read
  /// The profile entry from which each task's execution times were taken. Absent: they come from the task set
  std::vector<std::optional<ProfileEntry>> entries;
};

[[nodiscard]] Origins origins(const ResolvedSet& set, const Plan& plan);

} // namespace rtexec::executive
