#include "rtexec/studies/experiments/joint_release.hpp"

#include <algorithm>

namespace rtexec::study {
namespace {

using policies::Action;
using policies::Event;
using Start = JointRelease::Start;

/// Returns a plan of the tasks in `set` and one additional task. The additional task occupies the device until all
/// other tasks have requested it. Without the additional task, the idle device would start the first task alone.
Plan plan_of(std::span<const MemoryCase> set) {
  Plan plan;
  for (const MemoryCase& each : set) {
    PlannedTask& task = plan.tasks.emplace_back();
    task.memory_policy = each.policy;
    task.co_run = each.co_run;
  }
  plan.tasks.emplace_back();
  return plan;
}

} // namespace

JointRelease::JointRelease(std::span<const MemoryCase> set) : scheduler_(plan_of(set)), tasks_(set.size()) {}

std::span<const Start> JointRelease::release() {
  const auto request = [&](std::size_t task) {
    return Event{.kind = Event::Kind::job_requested, .job = {.task = static_cast<std::uint32_t>(task)}};
  };
  (void)on(request(tasks_));
  for (std::size_t task = 0; task < tasks_; ++task) (void)on(request(task));
  return ended(tasks_);
}

std::span<const Start> JointRelease::ended(std::size_t task) {
  return on({.kind = Event::Kind::execution_done, .job = {.task = static_cast<std::uint32_t>(task)}});
}

std::span<const Start> JointRelease::on(const Event& event) {
  starts_.clear();
  for (const Action& action : scheduler_.on(event))
    if (action.kind == Action::Kind::start_execution)
      starts_.push_back({.task = action.job.task, .co_running = action.co_running});
  for (Start& each : starts_) each.paired = starts_.size() > 1;
  return starts_;
}

MemoryRound played(std::span<const MemoryCase> set, std::span<const Duration> times, const Overlap& overlap) {
  MemoryRound round{.times = {times.begin(), times.end()}, .ends = std::vector<Duration>(set.size())};
  JointRelease release(set);
  Duration now{0};
  for (auto starts = release.release(); !starts.empty();) {
    const std::vector<Start> begun(starts.begin(), starts.end());
    round.ends[begun.front().task] = now + times[begun.front().task];
    if (begun.size() > 1) {
      const std::size_t first = begun[0].task, second = begun[1].task;
      round.ends[second] = round.ends[first] + times[second] - overlap(first, second);
      ++round.pairs;
    }
    for (const Start& each : begun) {
      now = std::max(now, round.ends[each.task]);
      starts = release.ended(each.task);
    }
  }
  return round;
}

} // namespace rtexec::study
