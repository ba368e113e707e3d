// From the daemon's file to what its server is given: the admission options, settled for board and machine.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/machine.hpp>
#include <rtexec/result.hpp>
#include "config/daemon_settings.hpp"
#include "rtexec/sharing/daemon/server.hpp"

namespace rtexec::daemon {

/// Pure. bad_input: the board has less than the capacity asked for, or does not say what it has.
[[nodiscard]] Result<ServerOptions> set_up(config::DaemonSettings settings, Board board, MachineFacts machine);

} // namespace rtexec::daemon
