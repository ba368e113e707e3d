// Writes an Analysis as one HTML file that works without a network. The page shows the verdict, tasks, histograms with
// the tail beyond them, where the time went, every miss with its reason, and Gantt charts to zoom into.
//
// The page's own text is in report_page.html, .css and .js, which are embedded in the library (report_page.hpp).
// Figures are inserted as JSON: `analysis` as analysis_json.hpp writes it, and `windows`, the bars of each Gantt in
// columns. The same figures make the same file.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/gantt.hpp"

#include <ostream>
#include <span>

namespace rtexec::traces {

/// Offers `windows` in their order and shows the first one. Without windows the page has no Gantt chart. A browser
/// stays fluent with 100,000 bars in a window (4 MB of the file).
void write_html(const Analysis& analysis, std::span<const Gantt> windows, std::ostream& out);

} // namespace rtexec::traces
