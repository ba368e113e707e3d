// The origins of a plan's execution times.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/profile.hpp>
#include <rtexec/resolved_set.hpp>

#include <optional>
#include <vector>

namespace rtexec::executive {

struct Origins {
  std::optional<Profile> profile; // the set's profile, if it can be read
  /// The profile entry that a task's execution times were taken from, by task. Absent: they were given by hand
  std::vector<std::optional<ProfileEntry>> entries;
};

[[nodiscard]] Origins origins(const ResolvedSet& set, const Plan& plan);

} // namespace rtexec::executive
