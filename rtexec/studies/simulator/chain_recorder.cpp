#include "rtexec/studies/simulator/chain_recorder.hpp"

#include "policies/chains/chain_bounds.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::simulator {

bool on_grids(const TaskSet& tasks, const Chain& chain) {
  return std::ranges::none_of(tasks.tasks, [&](const Task& task) {
    return task.trigger == Trigger::timer && task.releases && std::ranges::count(chain.tasks, task.name) > 0;
  });
}

ChainRecorder::ChainRecorder(const TaskSet& tasks, const Plan& plan) {
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i)
    tasks_.push_back({.places = {},
                      .let = policies::communication_of(tasks, tasks.tasks[i].name) == Communication::let,
                      .deadline = tasks.tasks[i].deadline,
                      .input_delay = tasks.tasks[i].input_delay,
                      .nominal = {},
                      .job = {}});
  for (const Chain& chain : tasks.chains) {
    bool triggered = false, from_sampling = false;
    for (std::size_t place = 0; place < chain.tasks.size(); ++place) {
      const auto task = std::ranges::find(tasks.tasks, chain.tasks[place], &Task::name);
      tasks_[static_cast<std::size_t>(task - tasks.tasks.begin())].places.push_back({chains_.size(), place});
      if (place > 0) continue;
      triggered = task->trigger != Trigger::timer;
      from_sampling = task->input_delay.has_value();
    }
    const PlannedChain& planned = plan.chains[chains_.size()];
    auto& followed = chains_.emplace_back(std::make_unique<Followed>(chain, triggered, from_sampling));
    if (on_grids(tasks, chain)) followed->statistics.promise(planned);
  }
}

void ChainRecorder::watch(Options& options) {
  options.observe_dispatch = [this, observe = std::move(options.observe_dispatch)](policies::JobId job, unsigned core,
                                                                                   Instant now) {
    if (observe) observe(job, core, now);
    begin_before(now);
    std::erase_if(dispatched_, [core](const Dispatch& earlier) { return earlier.core == core; });
    dispatched_.push_back({job, core, now});
  };
}

void ChainRecorder::see(const Step& step) {
  begin_before(step.now);
  Followee& task = tasks_[step.job.task];
  switch (step.kind) {
  case Step::Kind::release:
    task.nominal = step.nominal;
    if (task.let) reads(step.job, step.now);
    return;
  case Step::Kind::request:
  case Step::Kind::hand_on: return begin(step.job, step.now);
  case Step::Kind::completion:
    return writes(step.job.task, task.let ? std::max(step.now, step.nominal + task.deadline) : step.now);
  default: return;
  }
}

/// Records the beginnings of jobs that got their cores before `now`. At one instant, all ends of jobs are recorded
/// before all beginnings.
void ChainRecorder::begin_before(Instant now) {
  if (dispatched_.empty() || dispatched_.front().at == now) return;
  for (const Dispatch& each : dispatched_) begin(each.job, each.at);
  dispatched_.clear();
}

void ChainRecorder::begin(policies::JobId job, Instant now) {
  Followee& task = tasks_[job.task];
  if (std::exchange(task.job, job.number) != job.number && !task.let) reads(job, now);
}

void ChainRecorder::reads(policies::JobId job, Instant now) {
  const Followee& task = tasks_[job.task];
  for (const ChainPosition& each : task.places) {
    policies::ChainTimes& times = chains_[each.chain]->times;
    if (each.place > 0 || !task.input_delay) times.reads(each.place, now, task.nominal);
    else times.reads_sample(sampled_ ? sampled_(job, task.nominal) : task.nominal - *task.input_delay);
  }
}

void ChainRecorder::writes(std::uint32_t task, Instant appears) {
  for (const ChainPosition& each : tasks_[task].places) {
    Followed& chain = *chains_[each.chain];
    chain.statistics.add(chain.times.writes(each.place, appears));
  }
}

std::vector<ChainReport> ChainRecorder::report() const {
  std::vector<ChainReport> reports;
  for (const auto& chain : chains_) reports.push_back(chain->statistics.report());
  return reports;
}

} // namespace rtexec::simulator
