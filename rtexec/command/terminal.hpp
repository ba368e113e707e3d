// The terminals behind standard output and standard error.
#pragma once

#include "rtexec/report/columns.hpp"

#include <iosfwd>
#include <optional>

namespace rtexec::command {

/// The terminal behind std::cout or std::cerr as large as it is now; nothing where there is none, or one that can only
/// go on writing (TERM=dumb).
[[nodiscard]] std::optional<report::Room> terminal_of(const std::ostream& out);

/// From now on both have colours, where a terminal is behind them and NO_COLOR is not set (https://no-color.org).
void colour_terminals();

} // namespace rtexec::command
