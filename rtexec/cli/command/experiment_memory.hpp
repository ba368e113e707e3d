// `rtexec experiment memory`.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

void add_experiment_memory(const Command& experiment);

} // namespace rtexec::command
