// The terminals behind standard output and standard error.
#pragma once

#include "rtexec/cli/text/columns.hpp"

#include <iosfwd>
#include <optional>

namespace rtexec::command {

/// The terminal behind std::cout or std::cerr as large as it is now; nothing where there is none, or one that can only
/// go on writing (TERM=dumb).
[[nodiscard]] std::optional<report::Room> terminal_of(const std::ostream& out);

/// From now on both have no more columns than a terminal behind them, and colours unless NO_COLOR is set
/// (https://no-color.org).
void know_terminals();

} // namespace rtexec::command
