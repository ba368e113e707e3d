// Collects an interval of a simulated run for a Gantt chart. The chart has one lane for each task, each core with CPU
// parts, the device (two if jobs co-run) and each direction of copies. traces/report/gantt_svg.hpp draws the chart.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/studies/simulator/simulator.hpp"
#include "traces/analysis/gantt.hpp"

#include <array>
#include <optional>
#include <vector>

namespace rtexec::command {

class GanttRecorder {
 public:
  /// The maximum number of bars, marks and steps. The chart ends at the instant when this number is reached.
  static constexpr std::size_t max_marks = 20'000;

  /// Collects the events between `from` and `to`. `tasks` and `plan` must outlive this object.
  GanttRecorder(const TaskSet& tasks, const Plan& plan, Instant from, Instant to);

  void see(const simulator::Step& step);
  void see(const simulator::TimeInterval& interval);
  /// Returns the chart, including activities that had not ended at the `end` of the run.
  [[nodiscard]] traces::Gantt gantt(Instant end) const;

 private:
  using Bar = traces::GanttBar;
  using Mark = traces::GanttMark;
  /// An activity that has begun and not ended.
  struct Open {
    policies::JobId job;
    Instant since{};
    std::uint32_t owner = 0; // the task of the job; for a copy, the task whose memory is copied
    bool device_done = false;
    bool co_running = false; // true: another execution runs at the same time
  };

  void name_lanes();
  [[nodiscard]] std::uint32_t lane_of_core(unsigned core) const;
  [[nodiscard]] bool room() const;
  void add(const Bar& bar);
  void mark(Mark::Kind kind, policies::JobId job, Instant at);
  void in_use(Instant at, bool more);
  void transfer(const simulator::Step& step);
  void end_job(const simulator::Step& step);
  [[nodiscard]] Bar bar_of(Bar::Kind kind, const Open& open, Instant end) const;

  const TaskSet& tasks_;
  const Plan& plan_;
  traces::Gantt seen_;
  std::uint32_t device_ = 0;                      // number of the device's lane
  std::uint64_t chunks_ = 0;                      // number of chunks that hold swapped memory or are being filled
  std::vector<std::optional<Open>> jobs_;         // by task
  std::vector<std::optional<Open>> left_;         // by task: the job that was preempted between two segments
  std::array<std::optional<Open>, 2> executions_; // executions in progress; the second co-runs with the first
  std::array<std::optional<Open>, 2> copies_;     // copies in progress: [0] from the device, [1] to the device
};

} // namespace rtexec::command
