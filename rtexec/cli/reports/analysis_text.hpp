// The output of `rtexec analyze` for people.
#pragma once

#include "traces/analysis/analysis.hpp"

#include <cstddef>
#include <iosfwd>

namespace rtexec::command {

/// Prints the analysis, and lists at most `max_misses` misses.
void print_analysis(std::ostream& out, const traces::Analysis& analysis, std::size_t max_misses);
/// Prints the circumstances of long executions, and lists at most `max_excesses` of them above their WCETs.
void print_factors(std::ostream& out, const traces::Analysis& analysis, std::size_t max_excesses);
/// True if a model of the tail fits.
[[nodiscard]] bool estimated(const traces::Pwcet& pwcet);
/// Prints the estimate for samples without a trace.
void print_pwcet(std::ostream& out, const traces::Pwcet& pwcet);

} // namespace rtexec::command
