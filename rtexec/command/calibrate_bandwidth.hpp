// `rtexec calibrate bandwidth`: what a machine's memory gives its cores.
#pragma once

#include <CLI/App.hpp>

namespace rtexec::command {

/// Adds itself to `calibrate`, whose own callback must do nothing where this one was asked for.
CLI::App* add_calibrate_bandwidth(CLI::App& calibrate);

} // namespace rtexec::command
