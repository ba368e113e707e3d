// Checks the rules of the board's device that all promises of deadlines assume: each chunk keeps its own contents,
// kernels compute correct results, and a process that faults does not disturb other processes.
#pragma once

#include "rtexec/studies/bringup/board_device.hpp"

namespace rtexec::bringup {

[[nodiscard]] Answer check_rules(const Subject& subject, const executive::OpenDevice& open);

} // namespace rtexec::bringup
