// The output of `rtexec analyze` as text.
#pragma once

#include "traces/analysis/analysis.hpp"

#include <cstddef>
#include <iosfwd>

namespace rtexec::command {

/// Prints the analysis, and lists at most `max_misses` misses.
void print_analysis(std::ostream& out, const traces::Analysis& analysis, std::size_t max_misses);
/// Prints the circumstances of long executions. Lists at most `max_excesses` executions that exceeded their WCETs.
void print_factors(std::ostream& out, const traces::Analysis& analysis, std::size_t max_excesses);
/// True if a model of the tail of the distribution fits the samples.
[[nodiscard]] bool estimated(const traces::Pwcet& pwcet);
/// Prints the estimate of a pWCET (probabilistic WCET) for samples without a trace.
void print_pwcet(std::ostream& out, const traces::Pwcet& pwcet);

} // namespace rtexec::command
