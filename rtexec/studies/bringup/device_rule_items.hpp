// Checks that the board's device keeps the rules on which promises rest: the separation of memory, the results of its
// kernels, and that a process that faults does not disturb others.
#pragma once

#include "rtexec/studies/bringup/board_device.hpp"

namespace rtexec::bringup {

[[nodiscard]] Answer check_rules(const Subject& subject, const executive::OpenDevice& open);

} // namespace rtexec::bringup
