// Measured execution times as a profile, from which `check` promises deadlines.
#pragma once

#include <rtexec/profile.hpp>
#include <rtexec/result.hpp>
#include "traces/analysis/analysis.hpp"
#include "traces/wcet/part_wcet.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rtexec::traces {

struct Measured {
  Profile profile;
  std::vector<std::string> rules; // in words, by task: what each WCET is
};

/// WCETs are those of wcet/part_wcet.hpp. `before`: a profile to whose executions these are added, where they are of
/// the same workloads. bad_input: figures of a task are invalid, a task ran no job, the recording does not say what was
/// measured, or `before` is of another machine or device.
[[nodiscard]] Result<Measured> measured_profile(const Analysis& analysis, const WcetOptions& options,
                                                const std::optional<Profile>& before = {});

} // namespace rtexec::traces
