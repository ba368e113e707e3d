#include "test/rtexec/studies/simulated_records.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace rtexec::test {
namespace {

using policies::Action;
using policies::JobId;
using simulator::Step;
using traces::Record;
using traces::RecordKind;
using Random = std::mt19937_64;

constexpr Bytes chunk{4096};

// ---- sets ----

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}
bool chance(Random& random, int percent) { return draw(random, 1, 100) <= percent; }

void add_task(Random& random, SimulatedRun& run, unsigned rank, std::int64_t longest) {
  Task& task = run.tasks.tasks.emplace_back();
  PlannedTask& planned = run.plan.tasks.emplace_back();
  planned.name = task.name = "t" + std::to_string(run.tasks.tasks.size() - 1);
  planned.period = task.period = Duration(draw(random, 20, 150));
  planned.done_by = task.deadline = Duration(draw(random, task.period.count() / 2, task.period.count() * 5 / 4));
  planned.device_done_by = Duration(draw(random, task.deadline.count() / 2, task.deadline.count()));
  planned.ready_by = planned.device_done_by / 2;
  task.offset = Duration(draw(random, 0, 1) * draw(random, 0, 50));
  task.on_overrun = static_cast<OnOverrun>(draw(random, 0, chance(random, 10) ? 4 : 3));
  task.on_wcet_exceeded = static_cast<OnWcetExceeded>(draw(random, 0, chance(random, 5) ? 2 : 1));
  if (chance(random, 20)) task.criticality = Criticality::best_effort;
  planned.wcet = {.before = Duration(draw(random, 0, longest)),
                  .device = Duration(chance(random, 15) ? 0 : draw(random, 1, longest)),
                  .after = Duration(draw(random, 0, longest))};
  planned.core = static_cast<unsigned>(draw(random, 0, 2));
  planned.core_rank = rank;
  const bool best_effort = task.criticality == Criticality::best_effort;
  planned.device_rank = run.plan.order == Order::edf ? best_effort : rank;
  if (run.plan.swap && planned.wcet.uses_device())
    for (auto left = static_cast<unsigned>(draw(random, 0, 5)), slot = 0U; slot < left; ++slot)
      planned.swap_slots.push_back({.slot = slot, .copied_out = chance(random, 50)});
}

/// Lets some tasks execute concurrently.
void let_co_run(Random& random, Plan& plan) {
  for (PlannedTask& task : plan.tasks) {
    if (!task.wcet.uses_device() || chance(random, 20)) continue;
    constexpr MemoryPolicy policies[] = {MemoryPolicy::device, MemoryPolicy::device, MemoryPolicy::managed,
                                         MemoryPolicy::switching};
    task.memory_policy = policies[static_cast<std::size_t>(draw(random, 0, 3))];
    task.co_run = CoRun{.wcet = task.wcet.device * draw(random, 100, 200) / 100, .idle = {}};
    if (task.memory_policy != MemoryPolicy::device) task.co_run->idle = task.co_run->wcet * draw(random, 0, 100) / 100;
  }
}

/// Divides jobs into segments and classes, and makes parts longer, so that some are preempted.
void divide(Random& random, Plan& plan) {
  plan.launch_ahead = static_cast<std::uint32_t>(draw(random, 0, 2));
  for (PlannedTask& task : plan.tasks) {
    task.wcet.device *= draw(random, 1, 4);
    task.segments = static_cast<std::uint32_t>(draw(random, 1, 6));
    task.device_class = static_cast<std::uint32_t>(draw(random, task.swap_slots.empty() ? 0 : 1, 2));
  }
}

bool is_divided(const Plan& plan) {
  return std::ranges::any_of(plan.tasks,
                             [](const PlannedTask& task) { return task.segments > 1 || task.device_class != 1; });
}

SwapPlan random_swap(Random& random, SwapPolicy policy) {
  SwapPlan swap{.policy = policy,
                .frames = 0,
                .copy_engines = static_cast<unsigned>(draw(random, 1, 2)),
                .cost = {},
                .store = {}};
  swap.cost.in_per_chunk = Duration(draw(random, 1, 5));
  swap.cost.out_per_chunk = Duration(draw(random, 1, 5));
  swap.cost.drop_per_chunk = Duration(draw(random, 0, 1));
  swap.cost.in_fixed = Duration(draw(random, 0, 3));
  swap.cost.out_fixed = Duration(draw(random, 0, 3));
  swap.cost.chunk = chunk;
  return swap;
}

void add_tasks(Random& random, SimulatedRun& run, SwapPolicy policy) {
  run.plan.order = chance(random, 50) ? Order::edf : Order::static_priority;
  run.plan.chunk = chunk;
  if (policy != SwapPolicy::none) run.plan.swap = random_swap(random, policy);
  const std::int64_t longest = draw(random, 2, 20);
  std::vector<unsigned> ranks(static_cast<std::size_t>(draw(random, 2, 6)));
  std::iota(ranks.begin(), ranks.end(), 0U);
  std::ranges::shuffle(ranks, random);
  for (const unsigned rank : ranks) add_task(random, run, rank, longest);
  if ((policy == SwapPolicy::pipelined || policy == SwapPolicy::none) && chance(random, 50)) divide(random, run.plan);
  if (!run.plan.swap && !is_divided(run.plan) && chance(random, 60)) let_co_run(random, run.plan);
  if (!run.plan.swap) return;
  std::int64_t largest = 1, sum = 1;
  for (const PlannedTask& task : run.plan.tasks) {
    largest = std::max(largest, static_cast<std::int64_t>(task.swap_slots.size()));
    sum += static_cast<std::int64_t>(task.swap_slots.size());
  }
  run.plan.swap->frames = static_cast<std::uint32_t>(draw(random, largest, sum));
  if (!chance(random, 30)) return;
  std::int64_t left = run.plan.swap->frames;
  for (PlannedTask& task : run.plan.tasks) {
    task.resident_slots =
        static_cast<std::uint32_t>(draw(random, 0, std::min(left, static_cast<std::int64_t>(task.swap_slots.size()))));
    left -= *task.resident_slots;
  }
}

/// Draws lengths of parts, releases and transfers. Callbacks draw from `random`, which outlives the run.
simulator::Options random_options(Random& random, const SimulatedRun& run) {
  simulator::Options options;
  options.horizon = run.horizon;
  const Plan& plan = run.plan;
  if (chance(random, 70))
    options.execution = [&](JobId job, Part part) {
      const Wcet& wcet = plan.tasks[job.task].wcet;
      return (part == Part::before   ? wcet.before
              : part == Part::device ? wcet.device
                                     : wcet.after) *
             draw(random, 0, 130) / 100;
    };
  if (chance(random, 70))
    options.co_run_execution = [&](JobId job, JobId) {
      return plan.tasks[job.task].co_run->wcet * draw(random, 0, 130) / 100;
    };
  if (chance(random, 50))
    options.release = [&](std::uint32_t, Instant earliest) { return earliest + Duration(draw(random, 0, 20)); };
  if (chance(random, 50)) options.release_latency = [&](JobId) { return Duration(draw(random, 0, 4)); };
  if (chance(random, 50))
    options.transfer = [&](const Action&, Duration planned) { return planned * draw(random, 0, 200) / 100; };
  if (chance(random, 30)) options.transfer_fails = [&](const Action&) { return chance(random, 10); };
  return options;
}

traces::RunSetup setup_of(const SimulatedRun& run) {
  traces::RunSetup setup;
  setup.machine = setup.device = "simulation";
  setup.simulated = true;
  setup.order = run.plan.order;
  setup.launch_ahead = run.plan.launch_ahead;
  setup.chunk = run.plan.chunk;
  for (std::size_t i = 0; i < run.plan.tasks.size(); ++i) {
    const Task& asked = run.tasks.tasks[i];
    const PlannedTask& planned = run.plan.tasks[i];
    traces::TaskSetup& task = setup.tasks.emplace_back();
    task.name = planned.name;
    task.criticality = asked.criticality;
    task.period = asked.period;
    task.deadline = asked.deadline;
    task.offset = asked.offset;
    task.core = planned.core;
    task.core_rank = planned.core_rank;
    task.device_rank = planned.device_rank;
    task.device_class = planned.device_class;
    task.segments = planned.segments;
    task.wcet = planned.wcet;
    task.memory_policy = planned.memory_policy;
    task.co_run = planned.co_run;
    task.ready_by = planned.ready_by;
    task.device_done_by = planned.device_done_by;
    task.swap_slots = static_cast<std::uint32_t>(planned.swap_slots.size());
    task.resident_slots = planned.resident_slots;
  }
  if (const auto& swap = run.plan.swap)
    setup.swap = traces::SwapSetup{.policy = swap->policy,
                                   .frames = swap->frames,
                                   .copy_engines = swap->copy_engines,
                                   .chunk = swap->cost.chunk,
                                   .store = "simulation"};
  return setup;
}

// ---- records ----

/// Writes what is read back of the output of simulator::Tracer.
class Writer {
 public:
  explicit Writer(SimulatedRun& run) : run_(run), progress_(run.plan.tasks.size()) {}

  void watch(simulator::Options& options) {
    options.observe = [this](const Step& step) { see(step); };
    options.observe_core = [this](const simulator::TimeInterval& stretch) {
      run_.stretches.push_back(stretch);
      begin_parts(stretch.end);
      progress_[stretch.job.task].executed += stretch.end - stretch.begin;
    };
    options.observe_decision = [this](const simulator::Decision& decision) { see(decision); };
    options.observe_dispatch = [this](JobId job, unsigned core, Instant at) {
      begin_parts(at);
      std::erase_if(dispatched_, [core](const Dispatch& earlier) { return earlier.core == core; });
      dispatched_.push_back({core, job, at});
    };
  }

  void end(Instant at) {
    begin_parts(at);
    for (std::uint32_t task = 0; task < progress_.size(); ++task) end_abandoned(task, at);
    add(RecordKind::run_end, {}, at);
  }

 private:
  struct Progress {
    std::uint64_t job = 0;
    Instant deadline{};
    bool abandoned = false, started = false, ready = false, device_done = false, after_begun = false;
    Duration executed{0};
  };
  struct Dispatch {
    unsigned core = 0;
    JobId job;
    Instant at{};
  };

  Record& add(RecordKind kind, JobId job, Instant at) {
    Record& record = run_.records.emplace_back();
    record.kind = kind;
    record.job = job;
    record.at = record.time = at;
    return record;
  }

  void skip(const Step& step) {
    end_abandoned(step.job.task, step.now);
    Record& record = add(RecordKind::job_skip, {step.job.task, 0}, step.now);
    record.nominal = step.nominal;
    record.reason = step.reason;
  }

  void see(const Step& step) {
    run_.steps.push_back(step);
    begin_parts(step.now);
    Progress& progress = progress_[step.job.task];
    switch (step.kind) {
    case Step::Kind::release: return release(step);
    case Step::Kind::skip: return skip(step);
    case Step::Kind::request: return request(step);
    case Step::Kind::hand_on:
      end_first_part(step.job, step.now);
      progress.device_done = true;
      return;
    case Step::Kind::execution_start: add(RecordKind::device_begin, step.job, step.now); return;
    case Step::Kind::execution_end:
      progress.device_done = true;
      add(RecordKind::device_end, step.job, step.now);
      return;
    case Step::Kind::segment_end: add(RecordKind::segment_end, step.job, step.now).segment = step.segment; return;
    case Step::Kind::segment_begin: add(RecordKind::segment_begin, step.job, step.now).segment = step.segment; return;
    case Step::Kind::preemption:
    case Step::Kind::resumption: return;
    case Step::Kind::completion: return complete(step);
    case Step::Kind::abort: progress.abandoned = true; return;
    case Step::Kind::stop:
      if (step.reason == policies::ReleaseReason::overrun) add(RecordKind::job_overrun, step.job, step.now);
      return;
    case Step::Kind::transfer_begin: transfer(step, RecordKind::swap_in_begin, RecordKind::swap_out_begin); return;
    case Step::Kind::transfer_end: return end_transfer(step);
    case Step::Kind::fail: return miss(step.job, step.now);
    }
  }

  void see(const simulator::Decision& decision) {
    Record& input = add(RecordKind::scheduler_input, {}, decision.event.now);
    input.sequence = run_.inputs;
    input.input = decision.event;
    if (input.input.kind != policies::Event::Kind::job_requested) input.input.deadline = {}; // not recorded
    for (const Action& action : decision.actions) {
      Record& record = add(RecordKind::scheduler_action, {}, decision.event.now);
      record.at = {};
      record.sequence = run_.inputs;
      record.action = action;
      run_.orders.push_back({action, decision.event.now});
    }
    ++run_.inputs;
    run_.actions += decision.actions.size();
  }

  void begin_parts(Instant now) {
    if (dispatched_.empty() || dispatched_.front().at == now) return;
    for (const Dispatch& each : dispatched_)
      if (progress_[each.job.task].job == each.job.number) begin_part(each.job, each.at);
    dispatched_.clear();
  }

  void begin_part(JobId job, Instant at) {
    Progress& progress = progress_[job.task];
    if (!progress.device_done) {
      if (!std::exchange(progress.started, true)) add(RecordKind::job_start, job, at);
    } else if (!std::exchange(progress.after_begun, true)) {
      add(RecordKind::after_begin, job, at);
    }
  }

  void release(const Step& step) {
    end_abandoned(step.job.task, step.now);
    Record& record = add(RecordKind::job_release, step.job, step.now);
    record.nominal = step.nominal;
    record.deadline = step.nominal + run_.tasks.tasks[step.job.task].deadline;
    progress_[step.job.task] = {.job = step.job.number, .deadline = record.deadline};
  }

  void end_first_part(JobId job, Instant at) {
    begin_part(job, at);
    progress_[job.task].ready = true;
    add(RecordKind::cpu_end, job, at).executed = std::exchange(progress_[job.task].executed, Duration{0});
  }

  void request(const Step& step) {
    end_first_part(step.job, step.now);
    add(RecordKind::device_request, step.job, step.now).deadline =
        step.nominal + run_.plan.tasks[step.job.task].device_done_by;
  }

  void complete(const Step& step) {
    begin_part(step.job, step.now);
    Record& record = add(RecordKind::job_end, step.job, step.now);
    record.response = step.now - step.nominal;
    record.executed = progress_[step.job.task].executed;
    if (step.now > progress_[step.job.task].deadline) miss(step.job, step.now);
  }

  /// Ends an abandoned job: when the next job is released or dropped, or with the run.
  void end_abandoned(std::uint32_t task, Instant at) {
    Progress& progress = progress_[task];
    if (!std::exchange(progress.abandoned, false)) return;
    const JobId job{task, progress.job};
    std::erase_if(dispatched_, [job](const Dispatch& each) { return each.job == job; });
    if (progress.started && !progress.ready) end_first_part(job, at);
    add(RecordKind::job_abort, job, at);
    miss(job, at);
  }

  void miss(JobId job, Instant at) { add(RecordKind::job_miss, job, at).deadline = progress_[job.task].deadline; }

  Record& transfer(const Step& step, RecordKind in, RecordKind out) {
    Record& record = add(step.action.kind == Action::Kind::copy_in ? in : out, step.job, step.now);
    record.transfer = step.action.transfer;
    return record;
  }

  void end_transfer(const Step& step) {
    const auto& moved = step.action.transfer;
    const bool copied = !step.failed && (step.action.kind == Action::Kind::copy_in ||
                                         run_.plan.tasks[moved.task].swap_slots[moved.slot].copied_out);
    Record& record = transfer(step, RecordKind::swap_in_end, RecordKind::swap_out_end);
    record.ok = !step.failed;
    record.bytes = copied ? chunk.count : 0;
  }

  SimulatedRun& run_;
  std::vector<Progress> progress_;
  std::vector<Dispatch> dispatched_;
};

} // namespace

SimulatedRun random_run(Random& random, SwapPolicy policy) {
  SimulatedRun run;
  add_tasks(random, run, policy);
  run.horizon = Duration(draw(random, 300, 2000));
  run.setup = setup_of(run);
  simulator::Options options = random_options(random, run);
  Writer writer(run);
  writer.watch(options);
  run.outcome = simulator::simulate(run.tasks, run.plan, options);
  writer.end(run.outcome.end);
  return run;
}

} // namespace rtexec::test
