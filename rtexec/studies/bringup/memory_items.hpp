// Measures how long it takes to map chunks of the board's device, and to copy them in each direction and in both at
// once.
#pragma once

#include "rtexec/studies/bringup/board_device.hpp"

namespace rtexec::bringup {

[[nodiscard]] Answer measure_mapping(const Subject& subject, const executive::OpenDevice& open);
[[nodiscard]] Answer measure_copies(const Subject& subject, const executive::OpenDevice& open);

} // namespace rtexec::bringup
