// Measures the cost of moving memory of the board's device: mapping chunks, and copies each way and both at once.
#pragma once

#include "rtexec/studies/bringup/board_device.hpp"

namespace rtexec::bringup {

[[nodiscard]] Answer measure_mapping(const Subject& subject, const executive::OpenDevice& open);
[[nodiscard]] Answer measure_copies(const Subject& subject, const executive::OpenDevice& open);

} // namespace rtexec::bringup
