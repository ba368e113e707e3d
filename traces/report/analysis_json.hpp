// Writes a whole Analysis as JSON, in the form on which scripts and the page rely.
//
// Names end in their unit: lengths `_ns`, sizes `_bytes`; both are integers. Instants are `_ns` after the first instant
// of the recording, which `origin_ns` contains (CLOCK_MONOTONIC, or the simulator's clock). Values of enumerations are
// named ("swap-in"). An absent value, or an empty reason, is null.
#pragma once

#include "traces/analysis/analysis.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace rtexec::traces {

[[nodiscard]] nlohmann::json to_json(const Analysis& analysis);
[[nodiscard]] nlohmann::json to_json(const Pwcet& pwcet);

/// Returns the JSON as text. Replaces bytes that are not UTF-8, which names in a recording may contain. `indent` -1: on
/// one line.
[[nodiscard]] std::string json_text(const nlohmann::json& json, int indent = -1);

} // namespace rtexec::traces
