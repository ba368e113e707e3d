// `rtexec check --headroom`: how far a set is from the edge of its proof, for people and as JSON.
#pragma once

#include "policies/admission/sensitivity.hpp"
#include <rtexec/planning.hpp>

#include <nlohmann/json.hpp>

#include <iosfwd>

namespace rtexec::command {

/// Shows how far it is, where that takes long.
[[nodiscard]] policies::Sensitivity find_headroom(const PlannedSet& planned);

void print_headroom(std::ostream& out, const policies::Sensitivity& room);

/// Each edge: `proved` and `not_proved`, null where there is none, and the `reason`.
[[nodiscard]] nlohmann::json to_json(const policies::Sensitivity& room);

} // namespace rtexec::command
