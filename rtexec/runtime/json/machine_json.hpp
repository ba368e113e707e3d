// Converts the facts of a machine to JSON: the element "machine" of the file that `rtexec probe --json` writes.
#pragma once

#include <rtexec/machine.hpp>

#include <nlohmann/json.hpp>

#include <vector>

namespace rtexec {

[[nodiscard]] nlohmann::json to_json(const MachineFacts& machine);
[[nodiscard]] nlohmann::json to_json(const std::vector<Condition>& conditions);

} // namespace rtexec
