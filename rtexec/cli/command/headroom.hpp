// `rtexec check --headroom`: how much longer execution times, for example, may be before the set is no longer proved.
// For people and as JSON.
#pragma once

#include "policies/admission/sensitivity.hpp"
#include <rtexec/planning.hpp>

#include <nlohmann/json.hpp>

#include <iosfwd>

namespace rtexec::command {

/// Finds the headroom. Shows a progress bar if that takes long.
[[nodiscard]] policies::Sensitivity find_headroom(const PlannedSet& planned);

void print_headroom(std::ostream& out, const policies::Sensitivity& room);

/// Returns the headroom. Each limit has `proved`, `not_proved` (both null if there is no limit) and the `reason`.
[[nodiscard]] nlohmann::json to_json(const policies::Sensitivity& room);

} // namespace rtexec::command
