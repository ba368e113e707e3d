// Facts of a machine as JSON: the element "machine" of what `rtexec probe --json` writes.
#pragma once

#include <rtexec/machine.hpp>

#include <nlohmann/json.hpp>

#include <vector>

namespace rtexec {

[[nodiscard]] nlohmann::json to_json(const MachineFacts& machine);
[[nodiscard]] nlohmann::json to_json(const std::vector<Condition>& conditions);

} // namespace rtexec
