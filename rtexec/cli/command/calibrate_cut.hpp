// `rtexec calibrate cut`: what a cut into segments costs on a board.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

/// Adds itself to `calibrate`, whose own callback must do nothing where this one was asked for.
Command add_calibrate_cut(const Command& calibrate);

} // namespace rtexec::command
