// `rtexec calibrate bandwidth`: what a machine's memory gives its cores.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

/// Adds itself to `calibrate`, whose own callback must do nothing where this one was asked for.
Command add_calibrate_bandwidth(const Command& calibrate);

} // namespace rtexec::command
