// `rtexec check --headroom`: the headroom, which is the margin by which, for example, execution times may grow before
// the proof fails. As text and as JSON.
#pragma once

#include "policies/admission/sensitivity.hpp"
#include <rtexec/planning.hpp>

#include <nlohmann/json.hpp>

#include <iosfwd>

namespace rtexec::command {

/// Finds the headroom. Shows a progress bar if the search takes long.
[[nodiscard]] policies::Sensitivity find_headroom(const PlannedSet& planned);

void print_headroom(std::ostream& out, const policies::Sensitivity& room);

/// Returns the headroom as JSON. Each limit has `proved`, `not_proved` (both null if there is no limit) and the
/// `reason`.
[[nodiscard]] nlohmann::json to_json(const policies::Sensitivity& room);

} // namespace rtexec::command
