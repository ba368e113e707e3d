// Checks the rules of the board's device that all promises of deadlines assume. Memory must be separate, kernels must
// compute correct results, and a process that faults must not disturb others.
#pragma once

#include "rtexec/studies/bringup/board_device.hpp"

namespace rtexec::bringup {

[[nodiscard]] Answer check_rules(const Subject& subject, const executive::OpenDevice& open);

} // namespace rtexec::bringup
