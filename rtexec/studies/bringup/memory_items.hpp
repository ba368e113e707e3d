// Measures how long it takes to map chunks of the board's device. Also measures how long it takes to copy the chunks in
// each direction and in both directions at once.
#pragma once

#include "rtexec/studies/bringup/board_device.hpp"

namespace rtexec::bringup {

[[nodiscard]] Answer measure_mapping(const Subject& subject, const executive::OpenDevice& open);
[[nodiscard]] Answer measure_copies(const Subject& subject, const executive::OpenDevice& open);

} // namespace rtexec::bringup
