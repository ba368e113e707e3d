// `rtexec calibrate cut`: measures the cost of a cut into segments on a board.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

/// Adds the subcommand to `calibrate`, whose own callback must do nothing if this subcommand is given.
Command add_calibrate_cut(const Command& calibrate);

} // namespace rtexec::command
