// Measured execution times as a profile, from which `check` promises deadlines.
#pragma once

#include "config/profile.hpp"
#include <rtexec/result.hpp>
#include "traces/analysis/analysis.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rtexec::traces {

struct Measured {
  Profile profile;
  std::vector<std::string> rules; // in words, by task: what each WCET is
};

/// bad_input: figures of a task are invalid, a task ran no job, or the recording does not say what was measured.
/// WCETs are those of wcet/part_wcet.hpp, and at least the longest executions times `margin`.
[[nodiscard]] Result<Measured> measured_profile(const Analysis& analysis, double margin);

} // namespace rtexec::traces
