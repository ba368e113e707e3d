// Facts of a machine as JSON: the element "machine" of what `rtexec probe --json` writes.
#pragma once

#include <rtexec/machine.hpp>

#include <nlohmann/json.hpp>

namespace rtexec {

[[nodiscard]] nlohmann::json to_json(const MachineFacts& machine);

} // namespace rtexec
