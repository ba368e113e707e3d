// Describes the clocks of a GPU as text for users. No interface reports whether the clocks are locked. The driver
// changes unlocked clocks with load, power and temperature.
#pragma once

#include "hal/clocks.hpp"

#include <string>

namespace rtexec::bringup {

/// Returns the clocks as text: "cores at 345 MHz now, 1.98 GHz at most; memory at 3.20 GHz, limited by power"
[[nodiscard]] std::string clocks_text(const hal::DeviceClocks& clocks);
/// Returns instructions to lock the clocks, in several lines.
[[nodiscard]] std::string how_to_lock(const hal::DeviceClocks& clocks);

} // namespace rtexec::bringup
