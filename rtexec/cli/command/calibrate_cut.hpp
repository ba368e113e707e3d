// `rtexec calibrate cut`: measures on a board the cost of cutting a network into segments.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

/// Adds the subcommand to `calibrate`. The callback of `calibrate` itself must have no effect if this subcommand is
/// given.
Command add_calibrate_cut(const Command& calibrate);

} // namespace rtexec::command
