// Makes a report of a simulated run, in the form of the executive's report of a real run.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/runtime/statistics/histogram.hpp"
#include "rtexec/studies/simulator/chain_recorder.hpp"
#include "rtexec/studies/simulator/simulator.hpp"

#include <memory>
#include <vector>

namespace rtexec::simulator {

class Recorder {
 public:
  /// `tasks` and `plan` must outlive this object.
  Recorder(const TaskSet& tasks, const Plan& plan);

  /// Adds observers to `options` that record how long parts take and when jobs begin. `options` must not be used after
  /// this object is destroyed.
  void watch(Options& options);
  void see(const Step& step);
  [[nodiscard]] Report report(const Outcome& outcome) const;

 private:
  struct Watched {
    DurationHistogram responses;
    Wcet longest;
    PartCounts above_wcet;
  };
  [[nodiscard]] TaskReport task_report(std::size_t task, const TaskStatistics& statistics) const;

  const TaskSet& tasks_;
  const Plan& plan_;
  std::vector<std::unique_ptr<Watched>> watched_; // by task; pointers, since the counters cannot be moved
  ChainRecorder chains_;
  Stop stop_{.cause = StopCause::duration, .task = {}};
};

} // namespace rtexec::simulator
