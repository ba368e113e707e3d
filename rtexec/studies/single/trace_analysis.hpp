// Reads a recording once for its figures, and once more to draw its important intervals.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "traces/analysis/analyzer.hpp"
#include "traces/analysis/gantt.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rtexec::study {

/// Reads the recording from its begin, and passes the set-up of the run and its records on.
using ReadRecords = std::function<Result<traces::ReadSummary>(traces::RunSetup&, traces::RecordHandler&)>;

[[nodiscard]] Result<traces::Analysis> analyze(const ReadRecords& read,
                                               std::vector<traces::AnalysisObserver*> observers,
                                               const traces::PwcetOptions& pwcet);

/// A time interval such as "2.5s..3s", relative to the begin of the recording.
struct TimeInterval {
  Duration from{0}, to{0};
};
[[nodiscard]] Result<TimeInterval> parse_window(const std::string& text);

/// Draws the interval `window`, or those that traces::windows_of() finds if it is empty. `pieces` is the result of a
/// PieceCounter for this recording.
[[nodiscard]] Result<std::vector<traces::Gantt>> draw(const ReadRecords& read, const traces::Analysis& analysis,
                                                      std::uint64_t pieces, const std::string& window);

} // namespace rtexec::study
