#include "rtexec/runtime/measuring/pair_profiler.hpp"

#include "config/memory_policy.hpp"
#include "policies/scheduler/co_run.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace rtexec::executive {
namespace {

using namespace std::chrono_literals;

bool waits(const Task& task) { return config::waits_for_pages(task.memory_policy); }

bool waits_on_device(const Task& task) { return waits(task) && task.wcet->uses_device(); }

std::vector<MeasuredPair> pairs_of(const TaskSet& tasks, const Board& board) {
  const auto may = [&](const Task& task) { return policies::can_use_both_engines(task, board); };
  std::vector<MeasuredPair> pairs;
  for (std::size_t computing = 0; computing < tasks.tasks.size(); ++computing)
    for (std::size_t waiting = 0; waiting < tasks.tasks.size(); ++waiting)
      if (const Task& a = tasks.tasks[computing], &b = tasks.tasks[waiting];
          !waits(a) && a.wcet->uses_device() && waits_on_device(b) && may(a) && may(b))
        pairs.push_back({computing, waiting});
  return pairs;
}

/// Returns the holder: a task that occupies the device until both tasks of the pair have requested it, so that they
/// start together.
Task holder(const TaskSet& tasks, Duration holds, Duration period) {
  Task task;
  task.name = "holder";
  while (std::ranges::find(tasks.tasks, task.name, &Task::name) != tasks.tasks.end()) task.name += '_';
  task.workload = WorkloadKind::synthetic;
  task.period = period;
  task.deadline = period / 2;
  task.wcet = Wcet{.before = {}, .device = holds, .after = {}};
  task.footprint = Bytes{4096};
  task.on_overrun = OnOverrun::skip;
  return task;
}

/// Returns the set with the holder added and all tasks released together. The two jobs of the pair start at the same
/// time, whatever their lengths, if both request the device while the holder occupies it.
TaskSet paired(TaskSet tasks, const MeasuredPair& pair, std::span<const Wcet> observed, Duration holds) {
  constexpr Duration behind_the_holder = 500us;
  const auto [computing, waiting] = pair;
  Duration all{0};
  for (const Wcet& each : observed) all += each.before + each.device + each.after;
  Duration period = 2 * (all + holds) + 10ms;
  for (const Task& task : tasks.tasks) period = std::max(period, task.period);
  for (Task& task : tasks.tasks) {
    task.period = task.deadline = period;
    task.offset = behind_the_holder;
    task.co_run_wcet.reset();
    task.mapping_idle.reset();
  }
  Task &d = tasks.tasks[computing], &w = tasks.tasks[waiting];
  // With equal times, the two jobs form a pair whichever job requests the device first
  d.co_run_wcet = w.co_run_wcet = w.mapping_idle = std::max(d.wcet->device, w.wcet->device);
  tasks.tasks.push_back(holder(tasks, holds, period));
  tasks.device.co_run = true;
  return tasks;
}

/// Returns the sum of the first CPU parts of all tasks. If all tasks share one core, all first CPU parts have ended
/// after this time.
Duration first_parts(std::span<const Wcet> observed) {
  Duration all{0};
  for (const Wcet& each : observed) all += each.before;
  return all;
}

bool mostly_concurrent(std::span<const JobRecord> jobs) {
  return 2 * static_cast<std::size_t>(std::ranges::count_if(jobs, &JobRecord::concurrent)) >= jobs.size();
}

void add(MeasuredCoRun& to, std::span<const JobRecord> jobs) {
  for (const JobRecord& job : jobs) {
    if (!job.concurrent || job.failure) continue;
    to.executions.add(job.executed.device);
    to.longest = std::max(to.longest, job.executed.device);
  }
}

/// Returns the set for measuring waits without co-running, because a job alone waits as long as it does in a pair. A
/// task under memory policy D/H is measured under policy H.
TaskSet alone(TaskSet tasks) {
  for (Task& task : tasks.tasks)
    if (task.memory_policy == MemoryPolicy::switching) task.memory_policy = MemoryPolicy::host;
  return tasks;
}

std::optional<Duration> shortest_part(std::span<const JobRecord> jobs) {
  std::optional<Duration> shortest;
  for (const JobRecord& job : jobs)
    if (!job.failure) shortest = std::min(job.executed.device, shortest.value_or(Duration::max()));
  return shortest;
}

/// The shortest time for which a device part waited for pages, by task.
using Waits = std::vector<std::optional<Duration>>;

/// Measures waits on the host device. There, a wait is the time in which the thread of a device part has no core.
Waits waits_without_core(const TaskSet& tasks, Setup setup, const Enough& enough, const Watch& watch) {
  std::vector<Duration> shortest(tasks.tasks.size(), Duration::max());
  setup.shortest_waits = &shortest;
  static_cast<void>(measured_run(alone(tasks), std::move(setup), enough, watch));
  Waits waited(shortest.size());
  for (std::size_t i = 0; i < shortest.size(); ++i)
    if (shortest[i] != Duration::max()) waited[i] = shortest[i];
  return waited;
}

/// Measures waits by comparison with `resident`, the times of the same device parts with all their data in the device's
/// own memory. A wait is the measured time minus the time in `resident`.
Waits waits_beyond(const ResidentTimes& resident, const TaskSet& tasks, Setup setup, const Enough& enough,
                   const Watch& watch) {
  const MeasuredRun run = measured_run(alone(tasks), std::move(setup), enough, watch);
  Waits waited(tasks.tasks.size());
  for (std::size_t i = 0; i < waited.size(); ++i)
    if (const auto shortest = shortest_part(run.of_task(i)); shortest && resident[i])
      waited[i] = *shortest - *resident[i];
  return waited;
}

} // namespace

void measure_pair(std::vector<MeasuredCoRun>& measured, const TaskSet& tasks, const MeasuredPair& pair,
                  std::span<const Wcet> observed, const std::function<Setup()>& make_setup, const Enough& enough,
                  const Watch& watch) {
  constexpr int max_runs = 4, longer = 4;
  Duration holds = 1ms + 2 * first_parts(observed);
  for (int runs = 0; runs < max_runs; ++runs, holds *= longer) {
    const MeasuredRun run = measured_run(paired(tasks, pair, observed, holds), make_setup(), enough, watch);
    for (const std::size_t task : {pair.computing, pair.waiting}) add(measured[task], run.of_task(task));
    if (mostly_concurrent(run.of_task(pair.computing)) && mostly_concurrent(run.of_task(pair.waiting))) return;
  }
}

std::size_t runs_of_pairs(const TaskSet& tasks, const Board& board, bool across) {
  const std::size_t pairs = pairs_of(tasks, board).size();
  return pairs + (pairs > 0 || (across && std::ranges::any_of(tasks.tasks, waits_on_device)) ? 1 : 0);
}

std::vector<MeasuredCoRun> measure_pairs(const TaskSet& tasks, const Board& board, std::span<const Wcet> observed,
                                         const std::optional<ResidentTimes>& resident,
                                         const std::function<Setup()>& make_setup, const Enough& enough,
                                         const Watch& watch, bool across) {
  std::vector<MeasuredCoRun> measured(tasks.tasks.size());
  if (runs_of_pairs(tasks, board, across) == 0) return measured;
  for (const MeasuredPair& pair : pairs_of(tasks, board))
    measure_pair(measured, tasks, pair, observed, make_setup, enough, watch);
  const Waits waited = resident ? waits_beyond(*resident, tasks, make_setup(), enough, watch)
                                : waits_without_core(tasks, make_setup(), enough, watch);
  for (std::size_t i = 0; i < measured.size(); ++i)
    if (waits(tasks.tasks[i]) && waited[i]) measured[i].idle = std::max(*waited[i], Duration(0));
  return measured;
}

} // namespace rtexec::executive
