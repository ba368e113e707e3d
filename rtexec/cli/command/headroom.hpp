// `rtexec check --headroom`: the distance of a set from the limits of its proof, for people and as JSON.
#pragma once

#include "policies/admission/sensitivity.hpp"
#include <rtexec/planning.hpp>

#include <nlohmann/json.hpp>

#include <iosfwd>

namespace rtexec::command {

/// Finds the headroom, and shows progress if that takes long.
[[nodiscard]] policies::Sensitivity find_headroom(const PlannedSet& planned);

void print_headroom(std::ostream& out, const policies::Sensitivity& room);

/// Each limit has `proved` and `not_proved`, null if there is none, and the `reason`.
[[nodiscard]] nlohmann::json to_json(const policies::Sensitivity& room);

} // namespace rtexec::command
