// Where the execution times of a plan come from.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/profile.hpp>
#include <rtexec/resolved_set.hpp>

#include <optional>
#include <vector>

namespace rtexec::executive {

struct Origins {
  std::optional<Profile> profile; // the set's, where it can be read
  /// By task: the entry of the profile that its execution times were taken from. Absent: they were given by hand
  std::vector<std::optional<ProfileEntry>> entries;
};

[[nodiscard]] Origins origins(const ResolvedSet& set, const Plan& plan);

} // namespace rtexec::executive
