// Writes the report of a bring-up as one HTML file without references to other files.
#pragma once

#include "rtexec/studies/bringup/report_comparison.hpp"
#include "rtexec/studies/bringup/bringup_report.hpp"

#include <ostream>

namespace rtexec::bringup {

/// Writes the report as one HTML file. `comparison`: the comparison with an earlier report; may be null.
void write_page(const Report& report, const Comparison* comparison, std::ostream& out);

} // namespace rtexec::bringup
