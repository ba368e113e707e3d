// Reads a recording twice: first for its statistics, then to draw its important intervals.
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

/// Reads the recording from its beginning, and passes the set-up of the run and its records to the arguments.
using ReadRecords = std::function<Result<traces::ReadSummary>(traces::RunSetup&, traces::RecordHandler&)>;

[[nodiscard]] Result<traces::Analysis> analyze(const ReadRecords& read,
                                               std::vector<traces::AnalysisObserver*> observers,
                                               const traces::PwcetOptions& pwcet);

/// A time interval such as "2.5s..3s", relative to the beginning of the recording.
struct TimeInterval {
  Duration from{0}, to{0};
};
[[nodiscard]] Result<TimeInterval> parse_window(const std::string& text);

/// Draws the interval `window`. If `window` is empty, draws the intervals that traces::windows_of() finds. `pieces`:
/// the result of a PieceCounter for this recording.
[[nodiscard]] Result<std::vector<traces::Gantt>> draw(const ReadRecords& read, const traces::Analysis& analysis,
                                                      std::uint64_t pieces, const std::string& window);

} // namespace rtexec::study
