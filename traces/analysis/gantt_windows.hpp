// Selects the intervals of a recording that deserve a picture, and collects their bars, marks and steps.
#pragma once

#include "traces/analysis/analysis_observer.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::traces {

struct Window {
  std::string title; // "job 17 of front was 3.1 ms late"
  Instant from{}, to{};
  std::optional<policies::JobId> job; // the job for which the window was selected
};

/// Counts the bars, marks and steps that a picture of the whole recording would have.
class PieceCounter final : public AnalysisObserver {
 public:
  void bar(const GanttBar&) override { ++count_; }
  void mark(const GanttMark&) override { ++count_; }
  void memory(const GanttStep&) override { ++count_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
};

/// Returns one window with the whole recording if `pieces`, the number of its bars, marks and steps, is at most
/// `max_whole`. Otherwise returns several windows: one for each of the first missed jobs, for the longest job of each
/// task, for the longest reaction of each chain, and for the beginning.
[[nodiscard]] std::vector<Window> windows_of(const Analysis& analysis, std::uint64_t pieces);

/// Fills a Gantt for each window. A Gantt gets at most `most` bars, marks and steps, or `max_in_window` if there are
/// several windows. The Gantt is cut off at the first bar, mark or step beyond this number.
class GanttCollector final : public AnalysisObserver {
 public:
  static constexpr std::uint64_t max_whole = 60'000;
  static constexpr std::size_t max_in_window = 20'000;

  GanttCollector(const std::vector<Window>& windows, Instant origin, std::size_t most = max_whole);
  void setup(const RunSetup& setup) override;
  void bar(const GanttBar& bar) override;
  void mark(const GanttMark& mark) override;
  void memory(const GanttStep& step) override;
  /// Returns the charts in the order of the windows. Must be called only once.
  [[nodiscard]] std::vector<Gantt> take();

 private:
  [[nodiscard]] bool room(Gantt& gantt, Instant at) const;

  std::vector<Gantt> gantts_;
  std::size_t most_;
};

} // namespace rtexec::traces
