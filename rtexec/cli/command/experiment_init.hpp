// `rtexec experiment init`: repeats the measurements of Wang et al. on GPU-side initialization with prefetching.
#pragma once

#include "rtexec/cli/options/options.hpp"

namespace rtexec::command {

void add_experiment_init(const Command& experiment);

} // namespace rtexec::command
