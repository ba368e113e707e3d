// Whether the board's device keeps the rules that promises rest on: whose memory is whose, what its kernels compute,
// and that a process that faults spoils it for no other.
#pragma once

#include "rtexec/studies/bringup/board_device.hpp"

namespace rtexec::bringup {

[[nodiscard]] Answer check_rules(const Subject& subject, const executive::OpenDevice& open);

} // namespace rtexec::bringup
