// `rtexec calibrate memory`: measures the costs of memory policies on a board.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

/// Adds the subcommand to `calibrate`. The callback of `calibrate` itself must have no effect if this subcommand is
/// given.
Command add_calibrate_memory(const Command& calibrate);

} // namespace rtexec::command
