// Turns measured execution times into a profile, from which the command `check` computes its bounds.
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
  std::vector<std::string> rules; // by task, a text that says how each WCET was derived
};

/// Derives WCETs as wcet/part_wcet.hpp defines. `before` is an earlier profile: the new executions are added to those
/// of the same workloads in it. Returns bad_input if figures of a task are invalid, a task ran no job, the recording
/// does not say what was measured, or `before` is of another machine or device.
[[nodiscard]] Result<Measured> measured_profile(const Analysis& analysis, const WcetOptions& options,
                                                const std::optional<Profile>& before = {});

} // namespace rtexec::traces
