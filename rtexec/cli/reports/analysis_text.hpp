// What `rtexec analyze` prints for people.
#pragma once

#include "traces/analysis/analysis.hpp"

#include <cstddef>
#include <iosfwd>

namespace rtexec::command {

/// `max_misses` are named.
void print_analysis(std::ostream& out, const traces::Analysis& analysis, std::size_t max_misses);
/// What surrounded executions that took long; `max_excesses` above their WCETs are named.
void print_factors(std::ostream& out, const traces::Analysis& analysis, std::size_t max_excesses);
/// Whether a model of the tail holds.
[[nodiscard]] bool estimated(const traces::Pwcet& pwcet);
/// Of samples without a trace.
void print_pwcet(std::ostream& out, const traces::Pwcet& pwcet);

} // namespace rtexec::command
