// Collects a stretch of a simulated run for a picture: one lane for each task, for each core with CPU parts, for the
// device (two where jobs execute beside each other) and for each direction of copies. traces/report/gantt_svg.hpp draws
// it.
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
  /// At most so many bars, marks and steps are kept; the picture ends where they are used up.
  static constexpr std::size_t max_marks = 20'000;

  /// Keeps what happens from `from` to `to`. `tasks` and `plan` outlive it.
  GanttRecorder(const TaskSet& tasks, const Plan& plan, Instant from, Instant to);

  void see(const simulator::Step& step);
  void see(const simulator::Stretch& stretch);
  /// With what had not ended at the `end` of the run.
  [[nodiscard]] traces::Gantt gantt(Instant end) const;

 private:
  using Bar = traces::GanttBar;
  using Mark = traces::GanttMark;
  /// What goes on, and since when.
  struct Open {
    policies::JobId job;
    Instant since{};
    std::uint32_t owner = 0; // whose memory moves; whose job it is
    bool device_done = false;
    bool beside = false; // another execution
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
  std::uint32_t device_ = 0;                      // its lane
  std::uint64_t chunks_ = 0;                      // that hold or get swapped memory
  std::vector<std::optional<Open>> jobs_;         // by task
  std::vector<std::optional<Open>> left_;         // by task: the device, between two segments
  std::array<std::optional<Open>, 2> executions_; // the second one beside the first
  std::array<std::optional<Open>, 2> copies_;     // out, in
};

} // namespace rtexec::command
