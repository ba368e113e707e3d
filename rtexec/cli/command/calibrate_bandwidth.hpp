// `rtexec calibrate bandwidth`: measures the memory bandwidth that the cores of a machine reach.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

/// Adds the subcommand to `calibrate`. The callback of `calibrate` itself must have no effect if this subcommand is
/// given.
Command add_calibrate_bandwidth(const Command& calibrate);

} // namespace rtexec::command
