#include "policies/chains/chain_bounds.hpp"

#include "policies/bounds/charges.hpp"
#include "policies/bounds/sentences.hpp"

#include <algorithm>
#include <numeric>

namespace rtexec::policies {
namespace {

using Release = ChainTask::Release;

/// Consecutive tasks of a chain. A timer, an input or a call releases the first task, the root. Each other task is
/// released by the output of the task before it.
struct Segment {
  const ChainTask* root = nullptr;
  Wide takes = 0; // from the root's release to the output of the segment's last task, or to its ChainTask::shuts_out
};

/// Returns a lower bound on the time that offsets save when `to` samples the output of `from`. Without offsets, a task
/// waits at most one period until it samples an output. If timers release both `to` and the root of `from`, their
/// offsets shorten this wait. In other cases the result is 0.
Wide saved(const Segment& from, const ChainTask& to) {
  if (from.root->release != Release::timer || to.release != Release::timer) return 0;
  const Nanos grain = std::gcd(from.root->period, to.period);
  const Wide phase = (Wide{to.offset} - from.root->offset - from.takes) % grain;
  return grain - (phase < 0 ? phase + grain : phase);
}

Nanos takes(std::span<const ChainTask> chain, std::size_t i) {
  const ChainTask& task = chain[i];
  const bool sampled = i + 1 < chain.size() && chain[i + 1].release != Release::after;
  return sampled && task.shuts_out ? std::min(task.output, *task.shuts_out) : task.output;
}

std::optional<Nanos> finite(bool known, Wide time) {
  return known && time < unbounded ? std::optional(static_cast<Nanos>(time)) : std::nullopt;
}

} // namespace

ChainBounds chain_bounds(std::span<const ChainTask> chain) {
  ChainBounds bounds;
  Segment segment;
  Wide reaction = 0, reduced_age = 0;
  /// `answers`: true if every task after the first is certain to be released. `renews`: true if every task whose output
  /// another task samples is certain to be released
  bool answers = true, renews = true;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const ChainTask& task = chain[i];
    ChainBounds::Term& term = bounds.terms.emplace_back(ChainBounds::Term{.takes = takes(chain, i)});
    if (task.release != Release::after) {
      const Wide less = i > 0 ? saved(segment, task) : Wide{0};
      term.waits = static_cast<Nanos>(task.period - less);
      if (i == 0 && task.input_delay) {
        // Times count from the sampling of the input. If no timer releases the task, each sample triggers a job, so the
        // job does not wait for a period to begin. Its release comes at most `input_delay` after the sampling, even if
        // the gate (SporadicGate) delays the release.
        if (task.release != Release::timer) term.waits = 0;
        term.waits += *task.input_delay;
        reduced_age += *task.input_delay;
      }
      if (i > 0) {
        reduced_age += segment.root->period - less;
        answers = answers && task.release == Release::timer;
        renews = renews && segment.root->release == Release::timer;
      }
      if (task.release == Release::sporadic && !bounds.sporadic) bounds.sporadic = i;
      segment = {.root = &task};
    }
    segment.takes += term.takes;
    reaction += Wide{term.waits} + term.takes;
    reduced_age += term.takes;
  }
  bounds.reaction = finite(answers, reaction);
  bounds.reduced_age = finite(renews, reduced_age);
  bounds.age = finite(renews && segment.root->release == Release::timer, reduced_age + segment.root->period);
  return bounds;
}

std::optional<Nanos> davare_bound(std::span<const ChainTask> chain) {
  Wide sum = chain.empty() ? 0 : chain.front().input_delay.value_or(0);
  for (const ChainTask& task : chain) sum += Wide{task.period} + task.output;
  return finite(true, sum);
}

// ---- the chains of a set ----

namespace {

/// True if no job of `next` can begin between the release and the output of a job of `task`. That is so if both tasks
/// are on one core, `task` is more urgent, and `task` never leaves the core between its release and its output.
bool shuts_out(const Plan& plan, const ResolvedSet& set, std::size_t task, std::size_t next) {
  const PlannedTask& planned = plan.tasks[task];
  return planned.core == plan.tasks[next].core && planned.core_rank < plan.tasks[next].core_rank &&
         !planned.wcet.uses_device() && !reserved(set.tasks) &&
         std::ranges::find(set.tasks.core_budgets, planned.core, &CoreBudget::core) == set.tasks.core_budgets.end();
}

/// True if jobs of `task` may be dropped because an input has no new data. An input that releases the task always has
/// new data. `before`: the previous task of the chain, or null. Jobs that are dropped because the output of `before` is
/// not new do not count, since an earlier job has already read that output.
bool drops_jobs(const Task& task, const Task* before) {
  const auto from_before = [&](const TaskInput& input) {
    return before != nullptr && input.source == SourceKind::task &&
           input.from.substr(0, input.from.find('/')) == before->name;
  };
  const TaskInput* const releases = releasing_input(task);
  return std::ranges::any_of(task.inputs, [&](const TaskInput& input) {
    return input.on_stale != OnStale::reuse && &input != releases && !from_before(input);
  });
}

class PlannedChainMaker {
 public:
  PlannedChainMaker(const Plan& plan, const ResolvedSet& set, const Chain& chain)
      : plan_(plan), set_(set), chain_(chain) {
    for (const std::string& name : chain.tasks)
      tasks_.push_back(
          static_cast<std::size_t>(std::ranges::find(set.tasks.tasks, name, &Task::name) - set.tasks.tasks.begin()));
  }

  PlannedChain make() {
    PlannedChain planned;
    planned.name = chain_.name;
    planned.communicate = chain_.communicate;
    planned.max_reaction = chain_.max_reaction;
    planned.max_age = chain_.max_age;
    planned.input_delay = task(0).input_delay;
    std::optional<ChainObstacle> obstacle = find_obstacle();
    if (!obstacle) obstacle = bound(planned);
    const auto within = [](const std::optional<Duration>& value, const std::optional<Duration>& limit) {
      return !limit || (value && *value <= *limit);
    };
    planned.kept = within(planned.reaction, planned.max_reaction) && within(planned.age, planned.max_age);
    planned.finding = told(planned, obstacle);
    return planned;
  }

 private:
  [[nodiscard]] const Task& task(std::size_t place) const { return set_.tasks.tasks[tasks_[place]]; }

  [[nodiscard]] std::optional<ChainObstacle> find_obstacle() const {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (!plan_.tasks[tasks_[i]].response_bound)
        return ChainObstacle{ChainObstacle::Why::no_response, task(i).name, task(i).trigger};
      if (task(i).trigger == Trigger::after && task(i).period > task(i - 1).period)
        return ChainObstacle{ChainObstacle::Why::slow_follower, task(i).name, task(i).trigger};
      if (drops_jobs(task(i), i > 0 ? &task(i - 1) : nullptr))
        return ChainObstacle{ChainObstacle::Why::drops_jobs, task(i).name, task(i).trigger};
    }
    return std::nullopt;
  }

  [[nodiscard]] ChainTask seen(std::size_t place) const {
    const Task& asked = task(place);
    ChainTask seen{.release = asked.trigger == Trigger::timer   ? Release::timer
                              : asked.trigger == Trigger::after ? Release::after
                                                                : Release::sporadic,
                   .period = asked.period.count(),
                   .offset = asked.offset.count()};
    if (place == 0 && asked.input_delay) seen.input_delay = asked.input_delay->count();
    const bool let = chain_.communicate == Communication::let;
    seen.output = (let ? asked.deadline : *plan_.tasks[tasks_[place]].response_bound).count();
    if (!let && place + 1 < tasks_.size() && shuts_out(plan_, set_, tasks_[place], tasks_[place + 1]))
      // `+ 1`: at the end of the release jitter a job of the next task may still begin
      seen.shuts_out = release_jitter(set_.board).count() + 1;
    return seen;
  }

  std::optional<ChainObstacle> bound(PlannedChain& planned) const {
    std::vector<ChainTask> chain;
    for (std::size_t i = 0; i < tasks_.size(); ++i) chain.push_back(seen(i));
    const ChainBounds bounds = chain_bounds(chain);
    const auto duration = [](std::optional<Nanos> value) {
      return value ? std::optional(Duration(*value)) : std::nullopt;
    };
    planned.reaction = duration(bounds.reaction);
    planned.age = duration(bounds.age);
    planned.reduced_age = duration(bounds.reduced_age);
    planned.davare = duration(davare_bound(chain));
    for (std::size_t i = 0; i < chain.size(); ++i)
      planned.terms.push_back({task(i).name, Duration(bounds.terms[i].waits), Duration(bounds.terms[i].takes)});
    if (!bounds.sporadic) return std::nullopt;
    return ChainObstacle{ChainObstacle::Why::sporadic, task(*bounds.sporadic).name, task(*bounds.sporadic).trigger};
  }

  const Plan& plan_;
  const ResolvedSet& set_;
  const Chain& chain_;
  std::vector<std::size_t> tasks_; // indices in the set
};

} // namespace

Communication communication_of(const TaskSet& tasks, std::string_view task) {
  const auto chain = std::ranges::find_if(
      tasks.chains, [&](const Chain& each) { return std::ranges::find(each.tasks, task) != each.tasks.end(); });
  return chain == tasks.chains.end() ? Communication::immediate : chain->communicate;
}

std::vector<PlannedChain> planned_chains(const Plan& plan, const ResolvedSet& set) {
  std::vector<PlannedChain> planned;
  for (const Chain& chain : set.tasks.chains) planned.push_back(PlannedChainMaker(plan, set, chain).make());
  return planned;
}

} // namespace rtexec::policies
