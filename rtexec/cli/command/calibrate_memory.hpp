// `rtexec calibrate memory`: what memory policies cost on a board.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

/// Adds itself to `calibrate`, whose own callback must do nothing where this one was asked for.
Command add_calibrate_memory(const Command& calibrate);

} // namespace rtexec::command
