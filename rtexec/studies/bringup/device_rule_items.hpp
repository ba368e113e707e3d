// Checks that the board's device keeps the rules on which promises rest. Memory must be separate, kernels must compute
// correct results, and a process that faults must not disturb others.
#pragma once

#include "rtexec/studies/bringup/board_device.hpp"

namespace rtexec::bringup {

[[nodiscard]] Answer check_rules(const Subject& subject, const executive::OpenDevice& open);

} // namespace rtexec::bringup
