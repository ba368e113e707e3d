// `rtexec calibrate bandwidth`: measures the bandwidth of a machine's memory for its cores.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

/// Adds the subcommand to `calibrate`, whose own callback must do nothing if this subcommand is given.
Command add_calibrate_bandwidth(const Command& calibrate);

} // namespace rtexec::command
