// Writes an Analysis as one HTML file that works without a network. The page shows the verdict, the tasks, histograms
// with the modelled tail, the causes of response times, every miss with its reason, and zoomable Gantt charts.
//
// The page's own text is in report_page.html, .css and .js, which are embedded in the library (report_page.hpp).
// Figures are inserted as JSON: `analysis` in the form of analysis_json.hpp, and `windows`, the bars of each Gantt in
// columns. Equal figures give equal files.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/gantt.hpp"

#include <ostream>
#include <span>

namespace rtexec::traces {

/// Offers `windows` in their order and shows the first window. Without windows the page has no Gantt chart. A browser
/// stays responsive with 100,000 bars in a window (4 MB of the file).
void write_html(const Analysis& analysis, std::span<const Gantt> windows, std::ostream& out);

} // namespace rtexec::traces
