// `rtexec experiment memory`: repeats the measurements of Bateni et al. on memory policies.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

void add_experiment_memory(const Command& experiment);

} // namespace rtexec::command
