// Writes a whole Analysis as JSON. Scripts and the HTML page rely on this form.
//
// Names end in their unit: `_ns` for lengths and `_bytes` for sizes; both are integers. Instants are in `_ns` after the
// first instant of the recording. `origin_ns` is that first instant (CLOCK_MONOTONIC, or the simulator's clock). Values
// of enumerations are names ("swap-in"). An absent value and an empty reason are null.
#pragma once

#include "traces/analysis/analysis.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace rtexec::traces {

[[nodiscard]] nlohmann::json to_json(const Analysis& analysis);
[[nodiscard]] nlohmann::json to_json(const Pwcet& pwcet);

/// Returns the JSON as text. Replaces bytes that are not UTF-8, because names in a recording may contain such bytes.
/// `indent` -1: on one line.
[[nodiscard]] std::string json_text(const nlohmann::json& json, int indent = -1);

} // namespace rtexec::traces
