#include "policies/admission/admission.hpp"

#include "config/base/text.hpp"
#include "policies/chains/chain_bounds.hpp"
#include "policies/bounds/charges.hpp"
#include "policies/bounds/core_windows.hpp"
#include "policies/bounds/core_assignment.hpp"
#include "policies/memory/plan_memory.hpp"
#include "policies/memory/planned_streams.hpp"
#include "policies/bounds/priorities.hpp"
#include "policies/bounds/reservations.hpp"
#include "policies/bounds/sentences.hpp"
#include "policies/device/swap_charges.hpp"
#include "policies/memory/swap_volumes.hpp"
#include "policies/bounds/verdicts.hpp"
#include "policies/device/volume_search.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace rtexec::policies {
namespace {

bool in_range(Duration value) { return value >= Duration::zero() && value.count() <= longest_time; }

/// True if the number of bytes is at most `longest_time`, the limit of the exact arithmetic (exact_arithmetic.hpp).
/// is_line() also requires a size above 0, since lines of 0 bytes cannot be counted.
bool in_range(Bytes value) { return value.count <= static_cast<std::uint64_t>(longest_time); }
bool is_line(Bytes value) { return value.count > 0 && in_range(value); }

void check_regulation(const ResolvedSet& set, const auto& complain) {
  const TaskSet& tasks = set.tasks;
  const Board& board = set.board;
  if (tasks.core_budgets.empty()) return;
  if (!in_range(tasks.bandwidth.period) || tasks.bandwidth.period == Duration::zero())
    complain("[bandwidth] period must be above 0 and at most " + readable(Duration(longest_time)));
  for (const CounterFacts& counter : board.counters)
    if (!is_line(counter.line))
      complain("board '" + board.name + "': a line of " + to_string(counter.line) + ", moved by each event " +
               counter.event + ", is out of range");
  for (const Task& task : tasks.tasks)
    for (const std::optional<Bytes>& traffic : {task.traffic_before, task.traffic_after})
      if (traffic && !in_range(*traffic))
        complain("task '" + task.name + "': traffic of " + to_string(*traffic) + " in one part is out of range");
}

/// Calls `complain(text)` for each chain that names a task that does not exist. Also complains if a task is released by
/// another task but does not directly follow that task in the chain.
void check_chains(const TaskSet& tasks, const auto& complain) {
  for (const Chain& chain : tasks.chains) {
    const std::string who = "chain '" + chain.name + "': ";
    if (chain.tasks.empty()) complain(who + "it has no task");
    const std::string* before = nullptr;
    for (const std::string& name : chain.tasks) {
      const auto task = std::ranges::find(tasks.tasks, name, &Task::name);
      if (task == tasks.tasks.end()) complain(who + "no task '" + name + "'");
      else if (task->trigger == Trigger::after && (before == nullptr || *before != task->after))
        complain(who + "task '" + name + "' must come directly after '" + task->after + "', which releases it");
      else if (task->trigger == Trigger::timer && !in_range(task->offset))
        complain(who + "the offset of task '" + name + "' must be between 0 and " + readable(Duration(longest_time)));
      before = &name;
    }
  }
}

void promise(PlannedTask& planned, const StageBounds& bounds) {
  planned.promised = true;
  planned.response_bound = Duration(bounds.done);
}

/// Sets the stage deadlines, which determine the order of jobs: `ready_by` for the first CPU part, `device_done_by` for
/// the device part. Under overload the bounds exceed the task's deadline. Then the stage deadlines are clamped to the
/// task's deadline, so that they stay in order.
void set_stages(PlannedTask& planned, const StageBounds& bounds) {
  const Nanos deadline = planned.done_by.count();
  planned.device_done_by = Duration(std::clamp(bounds.device_done, Nanos{0}, deadline));
  planned.ready_by = Duration(std::clamp(bounds.ready, Nanos{0}, planned.device_done_by.count()));
}

/// The findings of the tests, and the bounds of each task. `bounds` has the order of NamedSet::set (most urgent first).
struct Analysis {
  Findings found;
  std::vector<StageBounds> bounds;
  bool each_alone = false; // true if the bounds of a task hold even if less urgent tasks are late
};

Analysis analyse_edf(const NamedSet& named, const Refusal& refusal, Effort effort) {
  EdfBounds bounds = edf_bounds(named.set, effort);
  return {findings(named, refusal, bounds), std::move(bounds.tasks), false};
}

/// True if a late task cannot take time from more urgent tasks. For that, no task may share a core with the compute
/// engine or a service thread, whose work for a late task has no bound. Returns false if jobs may be preempted on the
/// device, since the bounds then assume that all deadlines are kept.
bool cores_are_free(const NamedSet& named) {
  return !named.obstacle && !named.set.preempts && std::ranges::none_of(named.set.tasks, [&](const StagedTask& task) {
    return task.core == named.compute_core || !service_on(named.set, task.core).empty();
  });
}

Analysis analyse_static_priority(const NamedSet& named, const Refusal& refusal) {
  std::vector<StageBounds> bounds = static_priority_bounds(named.set);
  return {findings(named, refusal, bounds), std::move(bounds), cores_are_free(named)};
}

void set_reservations(Plan& plan, const NamedSet& named, std::span<const std::size_t> urgency,
                      std::span<const CpuWindows> windows) {
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const StagedTask& task = named.set.tasks[i];
    plan.tasks[urgency[i]].before_reservation = {Duration(runtime_of(task.before)), Duration(windows[i].before)};
    plan.tasks[urgency[i]].after_reservation = {Duration(runtime_of(task.after)), Duration(windows[i].after)};
  }
}

Analysis analyse_reserved(Plan& plan, const NamedSet& named, const Refusal& refusal,
                          std::span<const std::size_t> urgency, Effort effort) {
  plan.services = named.services->reserved;
  if (plan.order == Order::edf) {
    Reserved<EdfBounds> found = reserved_edf_bounds(named.set, *named.services, effort);
    set_reservations(plan, named, urgency, found.windows);
    const EdfBounds device = found.fits ? found.bounds : edf_bounds(named.set, effort);
    return {findings(named, refusal, found, device), std::move(found.bounds.tasks), false};
  }
  Reserved<std::vector<StageBounds>> found = reserved_static_priority_bounds(named.set, *named.services, effort);
  set_reservations(plan, named, urgency, found.windows);
  const bool each_alone = found.fits && cores_are_free(named) && named.lateness == Lateness::any;
  return {findings(named, refusal, found), std::move(found.bounds), each_alone};
}

Analysis analyse(Plan& plan, const NamedSet& named, const Refusal& refusal, std::span<const std::size_t> urgency,
                 Effort effort) {
  if (named.services) return analyse_reserved(plan, named, refusal, urgency, effort);
  return plan.order == Order::edf ? analyse_edf(named, refusal, effort) : analyse_static_priority(named, refusal);
}

void conclude(Plan& plan, const Analysis& analysis, const NamedSet& named, std::span<const std::size_t> urgency) {
  plan.proved = analysis.found.end_to_end.proved;
  plan.device_test = told(analysis.found.device, named);
  for (const Finding& core : analysis.found.cores) plan.core_tests.push_back(told(core, named));
  plan.end_to_end = told(analysis.found.end_to_end, named);
  for (std::size_t i = 0; i < analysis.bounds.size(); ++i) {
    const StageBounds& bounds = analysis.bounds[i];
    set_stages(plan.tasks[urgency[i]], bounds);
    const bool alone = analysis.each_alone && bounds.settled && bounds.done <= named.set.tasks[i].deadline;
    if (plan.proved || alone) promise(plan.tasks[urgency[i]], bounds);
  }
}

void set_ranks(Plan& plan, const TaskSet& tasks, std::span<const std::size_t> urgency) {
  for (std::size_t rank = 0; rank < urgency.size(); ++rank) {
    const Task& task = tasks.tasks[urgency[rank]];
    PlannedTask& planned = plan.tasks[urgency[rank]];
    planned.name = task.name;
    planned.wcet = *task.wcet;
    planned.core_rank = static_cast<unsigned>(rank);
    planned.device_rank = plan.order == Order::static_priority ? planned.core_rank : task.real_time() ? 0 : 1;
    planned.ready_by = planned.device_done_by = planned.done_by = task.deadline;
  }
}

/// Adds the bounds of chains. If a chain exceeds its limits, the set is not proved, but the promises to the chain's
/// tasks remain valid.
Plan with_chains(Plan plan, const ResolvedSet& set) {
  plan.chains = planned_chains(plan, set);
  plan.proved = plan.proved && std::ranges::all_of(plan.chains, &PlannedChain::kept);
  return plan;
}

/// Returns the plan with the results of admission for its tasks. If `refusal` is set (a reason why the set cannot be
/// proved), the analysis does not search for better bounds (Effort::quick).
Plan examined(Plan plan, const NamedSet& named, const Refusal& refusal, std::span<const std::size_t> urgency,
              Effort effort) {
  const Analysis analysis = analyse(plan, named, refusal, urgency, refusal ? Effort::quick : effort);
  conclude(plan, analysis, named, urgency);
  return plan;
}

/// Returns the plan with the results of admission. First, the analysis assumes that all jobs keep their deadlines; the
/// work of service threads with reservations then has a bound. If the set is not proved with that assumption, the tests
/// under static priority run again without the assumption. These tests may still promise some tasks.
Plan examined(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency) {
  const auto with = [&](Lateness lateness) {
    const NamedSet named = charged_set(plan, set, urgency, lateness);
    return with_chains(examined(plan, named, refused(named), urgency, Effort::full), set);
  };
  Plan in_time = with(Lateness::none);
  const bool decided = in_time.end_to_end.proved || !reserved(set.tasks) || plan.order == Order::edf;
  return decided ? std::move(in_time) : with(Lateness::any);
}

/// Tries swap volumes (by task, the number of swapped chunks) until the set is proved.
class VolumeTrial {
 public:
  VolumeTrial(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency, std::uint32_t overflow)
      : plan_(plan),
        set_(set),
        urgency_(urgency),
        on_device_(on_device(set.tasks, {urgency.begin(), urgency.end()})),
        overflow_(overflow) {}

  /// Returns the plan with the first swap volumes for which the set is proved. If there are none, returns the plan with
  /// the swap volumes that have the largest end-to-end slack. The search continues even if the test of the device alone
  /// succeeds, because CPU parts need time, too: other swap volumes may leave more of the deadlines to CPU parts.
  Plan run() {
    const auto roomy = [this](std::span<const Nanos> charged) {
      return searched([&](int eighths) { return swap_volumes(plan_, set_, on_device_, overflow_, eighths, charged); });
    };
    if (auto proved = roomy({})) return std::move(*proved);
    // The swap volumes so far were chosen for execution times without charges (overheads that the analysis adds).
    // Charged executions are longer, and a long execution may delay a concurrent load that lacks frames (condition (M)
    // of swap_bounds.hpp). If (M) fails for the charged executions of the closest plan, the loop chooses swap volumes
    // for executions that are 1, 2 and 64 times as long as these.
    for (const Nanos times : {1, 2, 64}) {
      std::vector<Nanos> charged = charged_executions(*closest_, set_);
      if (!lacks_load_room(*closest_, charged)) break;
      for (Nanos& each : charged) each *= times;
      if (auto proved = roomy(charged)) return std::move(*proved);
    }
    const auto tight = [this](int eighths) { return tight_swap_volumes(plan_, set_, on_device_, overflow_, eighths); };
    if (auto proved = searched(tight)) return std::move(*proved);
    return examined(*closest_, set_, urgency_);
  }

 private:
  /// Tries swap volumes until one makes the set proved. `proposed(eighths)` returns swap volumes for a device that may
  /// use `eighths` / 8 of each deadline less the CPU parts.
  std::optional<Plan> searched(const auto& proposed) {
    for (const int eighths : {8, 7, 6, 4}) {
      device_has_time_ = false;
      for (const Volumes& volumes : proposed(eighths))
        if (auto proved = tried(volumes)) return proved;
      if (!device_has_time_) break;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool lacks_load_room(const Plan& plan, std::span<const Nanos> charged) const {
    if (rule_of(plan.swap->policy) != SwapRule::pipelined) return false;
    DeviceSet device = device_set(plan, set_, on_device_, overflow_);
    Volumes volumes;
    for (std::size_t i = 0; i < on_device_.size(); ++i) {
      device.tasks[i].charged = charged[on_device_[i]];
      volumes.push_back(static_cast<std::uint32_t>(plan.tasks[on_device_[i]].swap_slots.size()));
    }
    return without_load_room(device, volumes).has_value();
  }

  std::optional<Plan> tried(const Volumes& volumes) {
    if (std::ranges::find(seen_, volumes) != seen_.end()) return std::nullopt;
    seen_.push_back(volumes);
    Plan assigned = plan_;
    assign_volumes(assigned, set_.tasks, volumes, overflow_);
    const NamedSet named = charged_set(assigned, set_, urgency_, Lateness::none);
    const Refusal refusal = refused(named);
    if (closest_ && refusal) return std::nullopt;
    Plan plan = with_chains(examined(assigned, named, refusal, urgency_, Effort::quick), set_);
    if (plan.proved) return plan;
    device_has_time_ = device_has_time_ || plan.device_test.proved;
    const Duration slack = refusal ? Duration::min() : plan.end_to_end.slack;
    if (closest_ && slack <= most_) return std::nullopt;
    most_ = slack;
    closest_ = std::move(assigned);
    return std::nullopt;
  }

  const Plan& plan_;
  const ResolvedSet& set_;
  std::span<const std::size_t> urgency_;
  const std::vector<std::size_t> on_device_; // the tasks of `urgency_` that use the device, in that order
  std::uint32_t overflow_;
  std::vector<Volumes> seen_;
  bool device_has_time_ = false;
  std::optional<Plan> closest_;
  Duration most_ = Duration::min();
};

/// Tries device classes (preemption classes), cuts of jobs into segments, and swap volumes until the set is proved. The
/// carry (the tensors that a task keeps between its segments) takes memory, so that other tasks must swap more chunks.
class PreemptionTrial {
 public:
  /// The goal of the search. `proof`: a proved plan is needed, so the search may stop early if there is none.
  /// `closest`: if no plan is proved, the search finds the plan with the largest slack.
  enum class Goal { proof, closest };

  /// Requires that the cores of `plan` are set. `layered`: the layers at which device parts can be cut.
  PreemptionTrial(const Plan& plan, const ResolvedSet& set, std::span<const MemoryDemand> memory,
                  std::span<const LayeredTask> layered, Goal goal)
      : plan_(plan),
        set_(set),
        goal_(goal),
        memory_(memory),
        layered_(layered),
        urgency_(by_urgency(set.tasks)),
        on_device_(on_device(set.tasks, {urgency_.begin(), urgency_.end()})) {}

  /// Returns the first plan that is proved, or else the plan with the largest end-to-end slack. Returns nullopt if no
  /// plan is possible. The first attempt estimates the time that CPU parts leave to the device. Each later attempt
  /// takes this time from the previous plan.
  std::optional<Plan> run() {
    for (int attempt = 0; attempt < max_attempts; ++attempt) {
      auto plan = tried();
      if (!plan || plan->end_to_end.proved) return plan ? std::move(plan) : std::move(closest_);
      // The device part has too little time even in the test of the device alone. In further attempts the device would
      // have less time.
      if (goal_ == Goal::proof && !device_has_time_) return plan;
      learn_windows(*plan);
      if (!closest_ || plan->end_to_end.slack > closest_->end_to_end.slack) closest_ = std::move(plan);
    }
    return std::move(closest_);
  }

 private:
  static constexpr int max_attempts = 5;
  // The carry depends on the cuts, and the cuts are chosen for an assumed carry. The search looks for a carry and cuts
  // that agree. It gives up after this number of rounds
  static constexpr int max_rounds = 4;

  void learn_windows(const Plan& plan) {
    std::vector<Nanos> learnt;
    for (std::size_t k = 0; k < on_device_.size(); ++k) {
      const PlannedTask& task = plan.tasks[on_device_[k]];
      const Nanos window = (task.device_done_by - task.ready_by).count();
      learnt.push_back(std::clamp<Nanos>(window, 1, windows_[k]));
    }
    if (learnt == windows_)
      for (Nanos& window : learnt) window = std::max(window * 7 / 8, Nanos{1});
    windows_ = std::move(learnt);
  }

  std::optional<Plan> tried() {
    std::optional<Preemption> preemption;
    for (int round = 0; round < max_rounds; ++round) {
      Plan plan = plan_;
      const auto overflow = plan_memory(plan, set_, with_carry(plan, preemption));
      if (!overflow) return std::nullopt;
      if (preemption && *overflow <= overflow_ && (*overflow > 0) == (overflow_ > 0))
        return divided(std::move(plan), *preemption, *overflow);
      overflow_ = *overflow;
      auto found = search_preemption(device(plan), plan.order);
      if (!found) return std::nullopt;
      device_has_time_ = found->proved;
      preemption = std::move(found->preemption);
    }
    return std::nullopt;
  }

  [[nodiscard]] LayeredSet device(const Plan& plan) {
    LayeredSet result{
        .device = device_set(plan, set_, on_device_, overflow_), .tasks = {}, .launch_ahead = plan.launch_ahead};
    result.device.rule = SwapRule::pipelined;
    if (windows_.empty())
      for (const DeviceTask& task : result.device.tasks) windows_.push_back(task.deadline);
    const Nanos charge = between_segments(set_.board, false);
    for (std::size_t k = 0; k < on_device_.size(); ++k) {
      result.device.tasks[k].deadline = windows_[k];
      LayeredTask& task = result.tasks.emplace_back(layered_[on_device_[k]]);
      const bool ahead = plan.launch_ahead > 0 && !task.streams;
      task.layers.times.back() += plan.launch_ahead > 0 ? 2 * charge : charge;
      task.layers.least = ahead ? charge : 0;
      for (Nanos& each : task.layers.overheads)
        if (each < unbounded) each += between_segments(set_.board, ahead);
    }
    return result;
  }

  /// Returns the memory demand of the tasks including the carry of the cuts. Also sets the device classes in `plan`,
  /// since the tasks of one class share the memory for their carry.
  std::vector<MemoryDemand> with_carry(Plan& plan, const std::optional<Preemption>& preemption) const {
    std::vector<MemoryDemand> memory(memory_.begin(), memory_.end());
    if (!preemption) return memory;
    for (std::size_t k = 0; k < on_device_.size(); ++k) {
      const std::size_t task = on_device_[k];
      plan.tasks[task].device_class = preemption->classes[k];
      memory[task].carry = std::max(memory[task].carry, preemption->cuts[k].carry);
    }
    return memory;
  }

  [[nodiscard]] Plan divided(Plan plan, const Preemption& preemption, std::uint32_t overflow) const {
    set_ranks(plan, set_.tasks, urgency_);
    for (std::size_t k = 0; k < on_device_.size(); ++k) {
      PlannedTask& task = plan.tasks[on_device_[k]];
      const std::vector<std::uint32_t>& cuts = preemption.cuts[k].cuts;
      if (cuts.empty()) continue;
      Layers layers = layered_[on_device_[k]].layers;
      layers.overheads.assign(layers.overheads.size(), 0);
      task.cuts = cuts;
      task.segments = static_cast<std::uint32_t>(cuts.size() + 1);
      for (const Nanos each : segments_of(layers, cuts)) task.segment_wcets.emplace_back(each);
    }
    if (plan.swap)
      assign_volumes(plan, set_.tasks, by_task<std::uint32_t>(preemption.volumes, on_device_, plan.tasks.size()),
                     overflow);
    return examined(plan, set_, urgency_);
  }

  const Plan& plan_;
  const ResolvedSet& set_;
  const Goal goal_;
  std::span<const MemoryDemand> memory_;
  std::span<const LayeredTask> layered_;
  const std::vector<std::size_t> urgency_;
  const std::vector<std::size_t> on_device_; // the tasks of `urgency_` that use the device, in that order
  /// The overflow (missing chunks) for which classes and cuts were last chosen
  std::uint32_t overflow_ = 0;
  /// True if the test of the device alone succeeded for the last classes and cuts
  bool device_has_time_ = false;
  std::vector<Nanos> windows_; // the time in which the device part of each task of `on_device_` must end
  std::optional<Plan> closest_;
};

/// In a set with more tasks than this, the planner does not search for classes, cuts and streams that the set does not
/// specify.
constexpr std::size_t max_searched = 64;

/// True if jobs may be preempted on the device.
bool may_preempt(const ResolvedSet& set, const Plan& plan) {
  const SwapPolicy policy = set.tasks.swap.policy;
  return (policy == SwapPolicy::pipelined || policy == SwapPolicy::none) && !plan.co_runs();
}

Plan planned(Plan plan, const ResolvedSet& set, std::span<const std::size_t> urgency, std::uint32_t overflow) {
  set_ranks(plan, set.tasks, urgency);
  if (overflow > 0) return VolumeTrial(plan, set, urgency, overflow).run();
  return examined(plan, set, urgency);
}

/// Searches for priorities if the set requests a search and is not proved with the initial priorities.
Plan with_priorities(const Plan& plan, const ResolvedSet& set, std::uint32_t overflow) {
  const std::vector<std::size_t> urgency = by_urgency(set.tasks);
  Plan first = planned(plan, set, urgency, overflow);
  if (first.proved || plan.order == Order::edf || set.tasks.executive.priorities != PriorityAssignment::audsley)
    return first;
  const auto charged = [&](std::span<const std::size_t> tried) {
    return charged_set(first, set, tried, Lateness::none).set;
  };
  Plan searched = planned(plan, set, audsley(set.tasks, urgency, charged), overflow);
  return searched.proved ? std::move(searched) : std::move(first);
}

Plan with_cores(const CoreAssignment& cores, const TaskSet& tasks) {
  Plan plan;
  plan.order = tasks.executive.order;
  plan.launch_ahead = tasks.device.launch_ahead.value_or(0);
  plan.tasks.resize(cores.size());
  for (std::size_t i = 0; i < cores.size(); ++i) {
    plan.tasks[i].core = cores[i];
    plan.tasks[i].core_chosen = !tasks.tasks[i].core;
  }
  return plan;
}

/// If the set does not specify `launch_ahead`, launching one segment ahead must save at least this fraction of the
/// device's time. Otherwise a proved plan without launching ahead is kept.
constexpr double worth_being_ahead = 0.01;

/// Plans the set with jobs cut into segments. Returns a plan that is proved, or else the plan with the largest
/// end-to-end slack. Returns nullopt if no plan is possible.
std::optional<Plan> in_segments(Plan cores, const ResolvedSet& set, std::span<const MemoryDemand> memory,
                                std::span<const LayeredTask> layered, PreemptionTrial::Goal goal) {
  auto plan = PreemptionTrial(cores, set, memory, layered, goal).run();
  const bool proved = plan && plan->end_to_end.proved;
  const double taken = plan ? share_of_cuts(*plan, set) : 1;
  if (set.tasks.device.launch_ahead || (proved && taken <= worth_being_ahead)) return plan;
  cores.launch_ahead = 1;
  auto ahead = PreemptionTrial(cores, set, memory, layered, PreemptionTrial::Goal::proof).run();
  if (!ahead || !ahead->end_to_end.proved) return plan;
  return !proved || share_of_cuts(*ahead, set) + worth_being_ahead <= taken ? std::move(ahead) : std::move(plan);
}

/// Plans the set with one segment for each job. If that plan is not proved, or the set specifies classes or cuts, plans
/// it with jobs cut into segments.
Result<Plan> with_segments(Plan cores, const ResolvedSet& set, std::span<const MemoryDemand> memory,
                           std::span<const LayeredTask> given_layers, PreemptionTrial::Goal goal) {
  const auto streamed = with_streams(set, given_layers);
  if (!streamed) return Unexpected(streamed.error());
  const std::span<const LayeredTask> layered = *streamed;
  give_streams(cores, layered);
  Plan plan = cores;
  const auto overflow = plan_memory(plan, set, memory);
  if (!overflow) return Unexpected(overflow.error());
  const bool possible = !layered.empty() && may_preempt(set, plan);
  const bool given = std::ranges::any_of(layered, &LayeredTask::fixed);
  if (!possible && std::ranges::any_of(layered, &LayeredTask::streams))
    return fail(Errc::bad_input, "memory = \"stream\" cannot be combined with [device] co_run; leave one of them out");
  if (!given || !possible) {
    Plan whole = with_priorities(plan, set, *overflow);
    if (whole.end_to_end.proved || !possible || set.tasks.tasks.size() > max_searched) return whole;
    auto divided = in_segments(cores, set, memory, layered, PreemptionTrial::Goal::proof);
    return divided && divided->end_to_end.proved ? std::move(*divided) : std::move(whole);
  }
  if (auto divided = in_segments(cores, set, memory, layered, goal)) return std::move(*divided);
  return fail(Errc::not_proved,
              "no swap volumes fit with the given classes and segments, or the memory that stays between segments does "
              "not fit: give fewer segments or levels, or a larger [device] capacity");
}

/// Plans the set. Streaming means that a task's constants are loaded while jobs execute. As long as the plan is not
/// proved, switches on streaming for one more task, in descending order of the size of constants.
Result<Plan> with_more_streams(const Plan& cores, const ResolvedSet& set, std::span<const MemoryDemand> memory,
                               std::span<const LayeredTask> layered) {
  auto plan = with_segments(cores, set, memory, layered, PreemptionTrial::Goal::closest);
  if (layered.size() > max_searched) return plan;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < layered.size() && set.tasks.swap.policy == SwapPolicy::pipelined; ++i)
    if (!layered[i].streams && !layered[i].reads.empty() && layered[i].reads.back().end > 1) others.push_back(i);
  std::ranges::stable_sort(others, std::greater(), [&](std::size_t i) { return layered[i].reads.back().end; });
  std::vector<LayeredTask> tasks(layered.begin(), layered.end());
  for (const std::size_t i : others) {
    if (plan && plan->end_to_end.proved) break;
    tasks[i].streams = true;
    const auto goal = plan ? PreemptionTrial::Goal::proof : PreemptionTrial::Goal::closest;
    auto streamed = with_segments(cores, set, memory, tasks, goal);
    if (streamed && (!plan || streamed->end_to_end.proved)) plan = std::move(streamed);
  }
  return plan;
}

Result<Plan> plan_on(const CoreAssignment& cores, const ResolvedSet& set, std::span<const MemoryDemand> memory,
                     std::span<const LayeredTask> layered) {
  auto planned = with_more_streams(with_cores(cores, set.tasks), set, memory, layered);
  if (!planned) return planned;
  Plan made = std::move(*planned);
  if (const auto assigned = assign_residents(made, set.tasks); !assigned) return Unexpected(assigned.error());
  return made;
}

/// Plans the set with the first assignment of cores that proves the set or, if there is none, with the assignment that
/// has the largest end-to-end slack.
Result<Plan> on_cores(const ResolvedSet& set, std::span<const MemoryDemand> memory,
                      std::span<const LayeredTask> layered) {
  std::optional<Result<Plan>> closest;
  core_assignments(set, [&](const CoreAssignment& cores) {
    Result<Plan> tried = plan_on(cores, set, memory, layered);
    const bool proved = tried && tried->proved;
    if (proved || !closest || (tried && (!*closest || tried->end_to_end.slack > (*closest)->end_to_end.slack)))
      closest = std::move(tried);
    return proved;
  });
  return std::move(*closest);
}

/// Plans the set with the classes, cuts and streams of `plan`, and with the memory that tasks need with these cuts.
/// `whole`: the memory demand of jobs that are not cut.
Result<Plan> cut_so(const Plan& plan, const ResolvedSet& set, std::span<const MemoryDemand> whole,
                    std::span<const LayeredTask> layered) {
  std::vector<MemoryDemand> memory(whole.begin(), whole.end());
  std::vector<LayeredTask> cut(layered.begin(), layered.end());
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const PlannedTask& task = plan.tasks[i];
    cut[i].device_class = task.device_class;
    cut[i].streams = task.stream.has_value();
    if (!task.stream) cut[i].reads.clear();
    cut[i].given = Segmentation{.cuts = task.cuts, .overhead = 0, .carry = {}};
    if (!cut[i].memory_if_cut) continue;
    auto asked = cut[i].memory_if_cut(task.cuts);
    if (!asked) return fail(asked.error().code, "task '" + task.name + "' cannot be cut: " + asked.error().what);
    memory[i] = std::move(*asked);
  }
  ResolvedSet with_launches = set;
  with_launches.tasks.device.launch_ahead = plan.launch_ahead;
  return on_cores(with_launches, memory, cut);
}

} // namespace

Result<> can_be_planned(const ResolvedSet& set, std::span<const MemoryDemand> memory) {
  const TaskSet& tasks = set.tasks;
  const Board& board = set.board;
  std::string errors;
  const auto complain = [&](const std::string& what) { config::add_line(errors, what); };
  if (memory.size() != tasks.tasks.size())
    complain("the memory of " + std::to_string(memory.size()) + " tasks was given for a set of " +
             std::to_string(tasks.tasks.size()));
  if (tasks.tasks.size() > max_tasks)
    complain(std::to_string(tasks.tasks.size()) + " tasks; at most " + std::to_string(max_tasks) + " can be planned");
  for (const Duration charge : {board.context_switch, board.dispatch, board.release_latency, board.platform_stall})
    if (!in_range(charge))
      complain("board '" + board.name + "': a charge of " + std::to_string(charge.count()) + " ns is out of range");
  if (reserved(tasks) && set.compute_core == set.service_core)
    complain("board '" + board.name + "': core " + std::to_string(set.compute_core) +
             " runs the scheduler and the compute engine, whose reservation takes all of the core; give the scheduler "
             "another service_core");
  for (const Task& task : tasks.tasks) {
    const std::string who = "task '" + task.name + "': ";
    if (!task.wcet) complain(who + "it has no wcet; give one, or measure it with 'rtexec profile'");
    else if (!in_range(task.wcet->before) || !in_range(task.wcet->device) || !in_range(task.wcet->after))
      complain(who + "its wcet must be between 0 and " + readable(Duration(longest_time)));
    if (task.deadline <= Duration::zero() || task.deadline > task.period || !in_range(task.period))
      complain(who + "0 < deadline <= period <= " + readable(Duration(longest_time)) + " must hold");
    if (task.constants == Constants::streamed && tasks.swap.policy != SwapPolicy::pipelined)
      complain(who + "memory = \"stream\" loads chunks during executions; set [swap] policy = \"pipelined\"");
    if (tasks.executive.priorities == PriorityAssignment::explicit_priorities && task.real_time() && !task.priority)
      complain(who + "it has no priority, and [executive] priorities is \"explicit\"");
  }
  check_regulation(set, complain);
  check_chains(tasks, complain);
  return errors.empty() ? Result<>{} : fail(Errc::bad_input, errors);
}

Result<Plan> make_plan(const ResolvedSet& set, std::span<const MemoryDemand> memory,
                       std::span<const LayeredTask> layered) {
  if (const auto valid = can_be_planned(set, memory); !valid) return Unexpected(valid.error());
  for (const Task& task : set.tasks.tasks)
    if (task.constants == Constants::streamed && layered.empty())
      return fail(Errc::bad_input,
                  "task '" + task.name + "': memory = \"stream\" cannot be planned: the task's layers are not known");
  auto plan = on_cores(set, memory, layered);
  const bool estimated =
      std::ranges::any_of(layered, [](const LayeredTask& task) { return static_cast<bool>(task.memory_if_cut); });
  if (!plan || !plan->preempts() || !estimated) return plan;
  auto cut = cut_so(*plan, set, memory, layered);
  const bool given = std::ranges::any_of(layered, &LayeredTask::fixed);
  if (given || (cut && cut->proved)) return cut;
  return on_cores(set, memory, {});
}

} // namespace rtexec::policies
