// Measured execution times as a profile, from which `check` promises deadlines.
#pragma once

#include "config/profile.hpp"
#include <rtexec/result.hpp>
#include "traces/analysis/analysis.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rtexec::traces {

struct MeasuredOptions {
  double margin = 1.2; // WCET is the longest execution observed times this,
  /// Or, where a model of the tail holds, the upper limit of its confidence interval at this probability, if that was
  /// asked for
  std::optional<double> exceedance;
};

struct Measured {
  Profile profile;
  std::vector<std::string> rules; // in words, by task: what each WCET is
};

/// bad_input: figures of a task are invalid, a task ran no job, or the recording does not say what was measured.
[[nodiscard]] Result<Measured> measured_profile(const Analysis& analysis, const MeasuredOptions& options);

} // namespace rtexec::traces
