#include "policies/admission/sensitivity.hpp"

#include "policies/admission/admission.hpp"
#include "policies/exact_arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace rtexec::policies {
namespace {

using Step = std::int64_t;

constexpr std::int64_t one = 100'000;
constexpr std::int64_t limit = 100;
constexpr Step last_step = 4608; // 1.001^4608 is the first power above 100

Factor factor_at(Step step) {
  const auto power =
      static_cast<std::int64_t>(std::llround(static_cast<double>(one) * std::pow(1.001, static_cast<double>(step))));
  return {std::clamp(power, one / limit, one * limit)};
}

// Times are at most `longest_time`, so that the products fit into `Wide`.
Duration up(Duration time, Factor factor) {
  return Duration(static_cast<Nanos>((Wide{time.count()} * factor.units + one - 1) / one));
}
Duration down(Duration time, Factor factor) {
  return Duration(static_cast<Nanos>(Wide{time.count()} * factor.units / one));
}

// ---- the changes ----

/// Multiplies the length of the device part by `factor`, and also the time for which the device part waits for pages.
/// If all tasks are stretched by one factor, tasks that could co-run before can co-run afterwards.
void stretch_device_part(Task& task, Factor factor) {
  task.wcet->device = up(task.wcet->device, factor);
  for (std::optional<Duration>* part : {&task.co_run_wcet, &task.mapping_idle})
    if (*part) *part = up(**part, factor);
}

void stretch(Task& task, Factor factor) {
  for (Duration* part : {&task.wcet->before, &task.wcet->after}) *part = up(*part, factor);
  stretch_device_part(task, factor);
}

/// Stretches the device part, or both CPU parts if the task does not use the device.
void stretch_main_part(Task& task, Factor factor) {
  if (task.wcet->uses_device()) stretch_device_part(task, factor);
  else stretch(task, factor);
}

void shrink_period(Task& task, Factor factor) {
  const bool implicit = task.deadline == task.period;
  task.period = down(task.period, factor);
  task.deadline = implicit ? task.period : std::min(task.deadline, task.period);
}

void slow_copies(ResolvedSet& set, Factor bandwidth) {
  const auto slow = [&](Duration& cost) {
    cost = Duration(static_cast<Nanos>((Wide{cost.count()} * one + bandwidth.units - 1) / bandwidth.units));
  };
  for (SwapCost& cost : set.board.swap_costs)
    for (Duration* part :
         {&cost.in_per_chunk, &cost.out_per_chunk, &cost.drop_per_chunk, &cost.in_fixed, &cost.out_fixed})
      slow(*part);
  SwapCostOptions& given = set.tasks.device.swap_cost;
  for (std::optional<Duration>* part :
       {&given.in_per_chunk, &given.out_per_chunk, &given.drop_per_chunk, &given.in_fixed, &given.out_fixed})
    if (*part) slow(**part);
}

// ---- search ----

struct Verdict {
  bool proved = false;
  std::string reason; // the reason why the set is not proved
};

class Search {
 public:
  Search(const ResolvedSet& set, const Plan& plan, const SensitivityProgress& progress)
      : set_(set), plan_(plan), progress_(progress) {
    for (const PlannedTask& task : plan.tasks) memory_.push_back(task.memory);
    set_.tasks.device.launch_ahead = plan.launch_ahead;
    // `resident` sets how much of a task's swap volume is on the device at the start. The proof does not depend on
    // `resident`, but a task's swap volume must be at least as large. So `resident` is removed, and any swap volume may
    // be chosen
    for (Task& task : set_.tasks.tasks) task.resident.reset();
    for (std::size_t i = 0; i < plan.tasks.size(); ++i)
      if (plan.tasks[i].stream) set_.tasks.tasks[i].stream_chunks = plan.tasks[i].stream->ring;
    all_ = plan.proved ? 2 * plan.tasks.size() + 3 + (plan.swap ? 1 : 0) : 2;
  }

  Sensitivity find() {
    Sensitivity found;
    if (plan_.proved) find_room(found);
    else found.wcet_to_prove = factor(-last_step, 0, stretch_all);
    found.capacity = capacity();
    if (progress_) progress_(done_, all_);
    return found;
  }

 private:
  static void stretch_all(ResolvedSet& set, Factor factor) {
    for (Task& task : set.tasks.tasks) stretch(task, factor);
  }
  static void shrink_all(ResolvedSet& set, Factor factor) {
    for (Task& task : set.tasks.tasks) shrink_period(task, factor);
  }

  void find_room(Sensitivity& found) {
    for (std::size_t i = 0; i < plan_.tasks.size(); ++i)
      found.tasks.push_back(
          {.name = plan_.tasks[i].name,
           .wcet = factor(0, last_step,
                          [i](ResolvedSet& set, Factor each) { stretch_main_part(set.tasks.tasks[i], each); }),
           .period =
               factor(0, -last_step, [i](ResolvedSet& set, Factor each) { shrink_period(set.tasks.tasks[i], each); })});
    found.wcet = factor(0, last_step, stretch_all);
    found.period = factor(0, -last_step, shrink_all);
    if (plan_.swap) found.bandwidth = factor(0, -last_step, slow_copies);
  }

  template <class Change> Edge<Factor> factor(Step from, Step to, const Change& change) {
    return edge<Factor>(from, to, factor_at, change);
  }

  /// Returns the limit of the proof for the capacity of the device: the smallest capacity that is proved, and the next
  /// smaller capacity. Capacities above the memory demand of all tasks are not tried, since the tasks would not use
  /// more memory.
  Edge<Bytes> capacity() {
    const auto chunks = [&](Bytes bytes) { return static_cast<Step>(bytes.count / plan_.chunk.count); };
    const Step asked = std::max(Step{1}, chunks(plan_.demand));
    const Step given = chunks(plan_.capacity);
    const auto bytes = [&](Step count) { return plan_.chunk * static_cast<std::uint64_t>(count); };
    return edge<Bytes>(plan_.proved ? std::min(asked, given) : std::max(asked, given), plan_.proved ? 1 : given, bytes,
                       [](ResolvedSet& set, Bytes capacity) {
                         set.tasks.device.capacity = capacity;
                         set.board.capacity = std::max(set.board.capacity, capacity);
                       });
  }

  /// Returns the limit of the proof (see Edge) between two steps of a grid of values, by bisection. `in`: the step with
  /// the lowest load. `out`: the step with the highest load. `at(step)`: the value at a step. `change(set, value)`:
  /// sets the value in a set.
  template <class Value, class Grid, class Change>
  Edge<Value> edge(Step in, Step out, const Grid& at, const Change& change) {
    const auto attempt = [&](Step step) { return verdict([&](ResolvedSet& set) { change(set, at(step)); }); };
    if (progress_) progress_(done_++, all_);
    const Verdict least = attempt(in);
    Verdict most = least.proved ? attempt(out) : Verdict{};
    if (!least.proved) return {.proved = {}, .not_proved = at(in), .reason = least.reason};
    if (most.proved) return {.proved = at(out), .not_proved = {}, .reason = {}};
    while (std::abs(out - in) > 1) {
      const Step middle = in + (out - in) / 2;
      Verdict found = attempt(middle);
      (found.proved ? in : out) = middle;
      if (!found.proved) most = std::move(found);
    }
    return {.proved = at(in), .not_proved = at(out), .reason = std::move(most.reason)};
  }

  /// Returns the verdict on the set with one change.
  template <class Change> Verdict verdict(const Change& change) const {
    ResolvedSet set = set_;
    change(set);
    const auto plan = make_plan(set, memory_, divided(set.tasks));
    if (!plan) return {false, plan.error().what};
    const TestVerdict& decisive = plan->end_to_end;
    const auto chain = std::ranges::find(plan->chains, false, &PlannedChain::kept);
    if (decisive.proved && chain != plan->chains.end()) return {plan->proved, "chain '" + chain->name + "'"};
    return {plan->proved,
            decisive.limiting_task.empty() ? decisive.explanation : "task '" + decisive.limiting_task + "'"};
  }

  /// Returns the device classes, cuts and streams of the plan in the form in which a set specifies them. The execution
  /// times in `tasks` may differ from the execution times of the plan.
  [[nodiscard]] std::vector<LayeredTask> divided(const TaskSet& tasks) const {
    std::vector<LayeredTask> result;
    for (std::size_t i = 0; plan_.preempts() && i < plan_.tasks.size(); ++i)
      result.push_back(divided(plan_.tasks[i], tasks.tasks[i].wcet->device));
    return result;
  }

  /// Returns the planned task as a LayeredTask with one layer for each segment of the plan. `device`: its new WCET.
  static LayeredTask divided(const PlannedTask& planned, Duration device) {
    LayeredTask task{.layers = {.times = {device.count()}, .overheads = {}, .tensors = {}},
                     .device_class = planned.device_class,
                     .given = {}};
    if (planned.segments == 1) return task;
    const auto share = [&](Duration segment) {
      return static_cast<Nanos>((Wide{segment.count()} * device.count() + planned.wcet.device.count() - 1) /
                                planned.wcet.device.count());
    };
    Segmentation given{.cuts = Cuts(planned.segments - 1), .overhead = 0, .carry = planned.memory.carry};
    std::iota(given.cuts.begin(), given.cuts.end(), 0U);
    task.layers.times.clear();
    for (const Duration each : planned.segment_wcets) task.layers.times.push_back(share(each));
    task.layers.overheads.assign(given.cuts.size(), 0);
    task.given = std::move(given);
    task.streams = planned.stream.has_value();
    if (task.streams) task.reads = planned.stream->reads;
    return task;
  }

  ResolvedSet set_;
  const Plan& plan_;
  const SensitivityProgress& progress_;
  std::vector<MemoryDemand> memory_;
  std::size_t done_ = 0, all_ = 0;
};

} // namespace

Sensitivity sensitivity(const ResolvedSet& set, const Plan& plan, const SensitivityProgress& progress) {
  return Search(set, plan, progress).find();
}

} // namespace rtexec::policies
