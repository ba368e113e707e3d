// The terminals behind standard output and standard error.
#pragma once

#include "rtexec/cli/text/columns.hpp"

#include <iosfwd>
#include <optional>

namespace rtexec::command {

/// Returns the present size of the terminal that shows `out`, std::cout or std::cerr. Returns nullopt if `out` is no
/// terminal, or a terminal that cannot move the cursor (TERM=dumb).
[[nodiscard]] std::optional<report::Room> terminal_of(const std::ostream& out);

/// Limits standard output and standard error to the columns of their terminals. Enables colours on terminals unless
/// NO_COLOR is set (https://no-color.org).
void know_terminals();

} // namespace rtexec::command
