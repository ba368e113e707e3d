// Makes a profile from measured execution times. The command `check` computes its bounds from a profile.
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
  std::vector<std::string> rules; // by task; says how each WCET was derived
};

/// Derives WCETs by the rules of wcet/part_wcet.hpp. `before` is an earlier profile; the new executions are added to
/// its executions of the same workloads. Returns bad_input if figures of a task are invalid, a task ran no job, or the
/// recording does not name the measured workloads. Also returns bad_input if `before` was not measured on the machine
/// and the device of the recording.
[[nodiscard]] Result<Measured> measured_profile(const Analysis& analysis, const WcetOptions& options,
                                                const std::optional<Profile>& before = {});

} // namespace rtexec::traces
