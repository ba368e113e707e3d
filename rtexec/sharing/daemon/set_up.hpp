// Converts the daemon's file to the options of its server, with the defaults for the board and the machine.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/machine.hpp>
#include <rtexec/result.hpp>
#include "config/daemon_settings.hpp"
#include "rtexec/sharing/daemon/server.hpp"

namespace rtexec::daemon {

/// Returns the options of the server. Pure. Returns bad_input if the capacity is unknown or more than the board has,
/// or if the limit of a client is less than one chunk.
[[nodiscard]] Result<ServerOptions> set_up(config::DaemonSettings settings, Board board, MachineFacts machine);

} // namespace rtexec::daemon
