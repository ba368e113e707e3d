#include "rtexec/studies/single/trace_analysis.hpp"

#include "traces/analysis/gantt_windows.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::study {

using traces::Analysis;

namespace {

Result<traces::Window> window_of(const std::string& text, const Analysis& analysis) {
  const auto interval = parse_window(text);
  if (!interval) return Unexpected(interval.error());
  const Duration recorded = analysis.to - analysis.from;
  if (interval->from >= recorded)
    return fail(Errc::bad_input, "--window " + text + ": the recording lasts " + readable(recorded));
  return traces::Window{.title = text,
                        .from = analysis.from + interval->from,
                        .to = analysis.from + std::min(interval->to, recorded),
                        .job = {}};
}

} // namespace

Result<Analysis> analyze(const ReadRecords& read, std::vector<traces::AnalysisObserver*> observers,
                         const traces::PwcetOptions& pwcet) {
  traces::RunSetup setup;
  traces::Analyzer analyzer(setup, std::move(observers), pwcet);
  const auto summary = read(setup, analyzer);
  if (!summary) return Unexpected(summary.error());
  return analyzer.finish(*summary);
}

Result<TimeInterval> parse_window(const std::string& text) {
  const auto dots = text.find("..");
  const std::string what = "--window " + text + ": ";
  if (dots == std::string::npos)
    return fail(Errc::bad_input, what + "write FROM..TO, counted from the beginning of the recording: 2.5s..3s");
  const auto from = parse_duration(text.substr(0, dots)), to = parse_duration(text.substr(dots + 2));
  if (!from) return fail(Errc::bad_input, what + from.error().what);
  if (!to) return fail(Errc::bad_input, what + to.error().what);
  if (*from >= *to) return fail(Errc::bad_input, what + "its end must be after its begin");
  return TimeInterval{*from, *to};
}

Result<std::vector<traces::Gantt>> draw(const ReadRecords& read, const Analysis& analysis, std::uint64_t pieces,
                                        const std::string& window) {
  std::vector<traces::Window> windows = traces::windows_of(analysis, pieces);
  if (!window.empty()) {
    const auto asked = window_of(window, analysis);
    if (!asked) return Unexpected(asked.error());
    windows = {*asked};
  }
  traces::GanttCollector collector(windows, analysis.from);
  traces::RunSetup setup;
  traces::Analyzer again(setup, {&collector});
  if (const auto summary = read(setup, again); !summary) return Unexpected(summary.error());
  return collector.take();
}

} // namespace rtexec::study
