#include "rtexec/studies/simulator/recorder.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::simulator {
namespace {

SwapReport swap_report(const Plan& plan, const Outcome& outcome) {
  SwapReport report;
  report.policy = plan.swap->policy;
  report.store = "simulation";
  for (const TaskStatistics& task : outcome.tasks) {
    report.in += plan.chunk * task.chunks_in;
    report.out += plan.chunk * task.chunks_out;
    report.dropped += plan.chunk * task.chunks_dropped;
    report.operations += task.chunks_in + task.chunks_out + task.chunks_dropped;
  }
  return report;
}

} // namespace

Recorder::Recorder(const TaskSet& tasks, const Plan& plan) : tasks_(tasks), plan_(plan), chains_(tasks, plan) {
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i) watched_.push_back(std::make_unique<Watched>());
}

void Recorder::watch(Options& options) {
  chains_.watch(options);
  options.execution = [this, execution = std::move(options.execution)](policies::JobId job, Part part) {
    Wcet wcet = plan_.tasks[job.task].wcet;
    const Duration took = execution ? execution(job, part) : of(wcet, part);
    Watched& watched = *watched_[job.task];
    Duration& longest = of(watched.longest, part);
    longest = std::max(longest, took);
    if (took > of(wcet, part)) ++of(watched.above_wcet, part);
    return took;
  };
  options.co_run_execution = [this, execution = std::move(options.co_run_execution)](policies::JobId job,
                                                                                     policies::JobId other) {
    const Duration wcet = plan_.tasks[job.task].co_run->wcet;
    const Duration took = execution ? execution(job, other) : wcet;
    Watched& watched = *watched_[job.task];
    watched.longest.device = std::max(watched.longest.device, took);
    if (took > wcet) ++watched.above_wcet.device;
    return took;
  };
}

void Recorder::see(const Step& step) {
  chains_.see(step);
  if (step.kind == Step::Kind::completion) watched_[step.job.task]->responses.add(step.now - step.nominal);
  if (step.kind == Step::Kind::stop)
    stop_ = {.cause = step.reason == policies::ReleaseReason::overrun ? StopCause::overrun : StopCause::wcet_exceeded,
             .task = tasks_.tasks[step.job.task].name};
}

TaskReport Recorder::task_report(std::size_t task, const TaskStatistics& statistics) const {
  const Task& asked = tasks_.tasks[task];
  TaskReport report;
  report.name = asked.name;
  report.criticality = asked.criticality;
  report.released = statistics.released;
  report.completed = statistics.completed;
  report.missed = statistics.missed;
  report.skipped = statistics.skipped;
  report.aborted = statistics.aborted;
  report.failed = statistics.failed;
  report.unfinished = statistics.unfinished > Duration{0} ? 1 : 0;
  if (plan_.tasks[task].co_run) report.paired = statistics.paired;
  if (plan_.tasks[task].segments > 1) report.preempted = statistics.preempted;
  report.response = watched_[task]->responses.statistics();
  report.observed = watched_[task]->longest;
  report.wcet = plan_.tasks[task].wcet;
  report.above_wcet = watched_[task]->above_wcet;
  report.deadline = asked.deadline;
  report.bound = plan_.tasks[task].response_bound;
  return report;
}

Report Recorder::report(const Outcome& outcome) const {
  Report report;
  report.elapsed = outcome.end - Instant{};
  for (std::size_t i = 0; i < tasks_.tasks.size(); ++i) report.tasks.push_back(task_report(i, outcome.tasks[i]));
  report.chains = chains_.report();
  if (plan_.swap) report.swap = swap_report(plan_, outcome);
  report.stopped_by = stop_;
  return report;
}

} // namespace rtexec::simulator
