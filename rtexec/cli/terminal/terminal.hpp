// The terminals behind standard output and standard error.
#pragma once

#include "rtexec/cli/text/columns.hpp"

#include <iosfwd>
#include <optional>

namespace rtexec::command {

/// Returns the present size of the terminal behind std::cout or std::cerr; nullopt: there is none, or it cannot move
/// the cursor (TERM=dumb).
[[nodiscard]] std::optional<report::Room> terminal_of(const std::ostream& out);

/// Limits both streams to the columns of the terminals behind them, and enables colours there unless NO_COLOR is set
/// (https://no-color.org).
void know_terminals();

} // namespace rtexec::command
