// `rtexec check --headroom`: how far a set is from the edge of its proof, for people and as JSON.
#pragma once

#include "policies/headroom.hpp"
#include <rtexec/executive.hpp>

#include <nlohmann/json.hpp>

#include <iosfwd>

namespace rtexec::command {

/// Tells `out` how far it is, where that takes long.
[[nodiscard]] policies::Headroom find_headroom(const Executive& executive, std::ostream& out);

void print_headroom(std::ostream& out, const policies::Headroom& room);

/// Each edge: `proved` and `not_proved`, null where there is none, and the `reason`.
[[nodiscard]] nlohmann::json to_json(const policies::Headroom& room);

} // namespace rtexec::command
