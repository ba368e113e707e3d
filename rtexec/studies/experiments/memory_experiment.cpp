#include "rtexec/studies/experiments/memory_experiment.hpp"

#include "rtexec/studies/calibration/size_range.hpp"

#include "config/base/median.hpp"
#include "config/base/must.hpp"
#include "policies/memory/memory_assignment.hpp"
#include "rtexec/studies/experiments/joint_release.hpp"
#include "rtexec/studies/calibration/memory_traffic.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace rtexec::study {
namespace {

using policies::MemoryCosts;
using policies::MemoryMeasurement;

template <class Range, class Value> bool contains(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

double number(Duration time) { return static_cast<double>(time.count()); }

double percent(Duration part, Duration whole) { return whole.count() > 0 ? 100 * number(part) / number(whole) : 0; }

bool cannot_be_had(Errc code) { return code == Errc::out_of_memory || code == Errc::unsupported; }

std::string in_words(const MemoryCase& wanted) {
  return std::string(name(wanted.kind)) + " of size " + std::to_string(wanted.size) + " under " +
         std::string(name(wanted.policy));
}

/// Returns the times of the device part in rounds with a single task. The times exclude the submission and the
/// notification of the end.
std::vector<Duration> times_of(std::span<const MemoryRound> rounds) {
  std::vector<Duration> times;
  for (const MemoryRound& round : rounds) times.push_back(round.times.front());
  return times;
}

std::vector<Duration> lengths_of(std::span<const MemoryRound> rounds) {
  std::vector<Duration> lengths;
  for (const MemoryRound& round : rounds) lengths.push_back(round.length());
  return lengths;
}

std::vector<WorkloadKind> studied(const MemoryStudy& study, std::span<const WorkloadKind> wanted) {
  std::vector<WorkloadKind> kinds;
  std::ranges::copy_if(wanted, std::back_inserter(kinds), [&](WorkloadKind kind) {
    return std::ranges::find(study.workloads, kind, &MemoryWorkload::kind) != study.workloads.end();
  });
  return kinds;
}

/// Returns the pairs of policies for two tasks that run together, each pair once: D/D, M/M, D/M.
std::vector<std::array<MemoryPolicy, 2>> pairs_of(const MemoryStudy& study) {
  const MemoryPolicy device = MemoryPolicy::device, small = small_policy(study);
  if (small == device) return {{device, device}};
  return {{device, device}, {small, small}, {device, small}};
}

std::size_t sizes_of(const MemoryStudy& study) {
  return study.workloads.empty() ? 0 : study.workloads.front().sizes.size();
}

// ---- the estimates ----

/// The number of fits for cross-validation. In each fit, every fourth size is left out. The fit then estimates the
/// times of that size.
constexpr std::size_t turns = 4;
bool is_held_out(std::size_t size, std::size_t turn) { return size % turns == turn; }

using Measurements = std::vector<MemoryMeasurement>;

void add_measurements(const MemoryPoint& point, Measurements& measurements) {
  for (const PolicyTime& each : point.policies)
    measurements.push_back(
        {.policy = each.policy, .traffic = point.traffic, .execution = point.execution, .measured = each.shortest()});
}

Measurements seen_in(std::span<const MemoryResult> results, std::size_t turn) {
  Measurements measurements;
  for (const MemoryResult& result : results)
    for (std::size_t i = 0; i < result.points.size(); ++i)
      if (!is_held_out(i, turn)) add_measurements(result.points[i], measurements);
  return measurements;
}

void estimate(std::span<MemoryResult> results, std::size_t turn, const MemoryCosts& costs,
              MemoryEstimate PolicyTime::*estimate) {
  for (MemoryResult& result : results)
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      if (!is_held_out(i, turn)) continue;
      MemoryPoint& point = result.points[i];
      for (PolicyTime& each : point.policies) {
        const Duration time = point.execution + policies::memory_overhead(each.policy, costs, point.traffic).all();
        each.*estimate = {.time = time, .error = std::abs(percent(time - each.shortest(), each.shortest()))};
      }
    }
}

void estimate(std::span<MemoryResult> results, const MemoryCosts& costs) {
  for (std::size_t turn = 0; turn < turns; ++turn) {
    estimate(results, turn, must(policies::fit_costs(costs, seen_in(results, turn))), &PolicyTime::by_platform);
    for (MemoryResult& result : results) {
      const std::span<MemoryResult> one(&result, 1);
      estimate(one, turn, must(policies::fit_costs(costs, seen_in(one, turn))), &PolicyTime::by_workload);
    }
  }
}

// ---- the choice ----

struct Promising {
  Duration length{0};
  MemoryChoice choice;
};

void for_each_combination(std::span<const std::vector<MemoryAlternative>> tasks,
                          const std::function<void(const std::vector<std::size_t>&)>& visit) {
  std::vector<std::size_t> combination(tasks.size());
  for (std::size_t task = 0; task < tasks.size();) {
    visit(combination);
    for (task = 0; task < tasks.size() && ++combination[task] == tasks[task].size(); ++task) combination[task] = 0;
  }
}

// ---- the experiment ----

class Experiment {
 public:
  Experiment(MemoryPlatform& platform, const MemoryStudy& study, const std::function<bool()>& going_on)
      : platform_(platform), study_(study), going_on_(going_on) {}

  MemoryExperiment run() {
    for (const MemoryWorkload& workload : study_.workloads) {
      MemoryResult& result = found_.results.emplace_back(MemoryResult{.kind = workload.kind, .points = {}});
      for (const unsigned size : workload.sizes) result.points.push_back(alone(workload.kind, size));
    }
    estimate(found_.results, platform_.costs());
    found_.costs = must(policies::fit_costs(platform_.costs(), all_measured()));
    add_guidelines();
    for (const WorkloadKind kind : studied(study_, paired_workloads()))
      for (const auto& policies : pairs_of(study_)) add_pair(kind, policies);
    for (std::size_t size = 0; size < sizes_of(study_) && !mixed().empty(); ++size) add_mix(size);
    return std::move(found_);
  }

 private:
  void measured() {
    if (!going_on_()) give_up(Errc::cancelled, "the experiment was cancelled: nothing was written");
  }

  /// Runs rounds of a set. Returns nullopt if the set cannot run under its policies.
  std::optional<std::vector<MemoryRound>> rounds(const MemorySet& set, const MemoryRounds& limits) {
    auto ran = platform_.run({&set, 1}, limits);
    if (ran) return std::move(ran->front());
    const auto& [code, what] = ran.error();
    const std::string which =
        set.size() == 1 ? in_words(set.front()) : std::to_string(set.size()) + " tasks, " + in_words(set.back());
    if (!cannot_be_had(code)) give_up(code, which + ": " + what);
    found_.notes.push_back(which + " is left out: " + what);
    return std::nullopt;
  }

  MemoryPoint alone(WorkloadKind kind, unsigned size) {
    MemoryPoint point{.size = size,
                      .execution = must(platform_.execution(kind, size, study_.rounds)),
                      .traffic = platform_.traffic(kind, size),
                      .policies = {}};
    measured();
    for (const MemoryPolicy policy : study_.policies) {
      const MemoryCase wanted{kind, size, policy};
      const auto ran = rounds({wanted}, study_.rounds);
      measured();
      if (!ran) continue;
      PolicyTime each;
      each.policy = policy;
      each.memory = memory_of(wanted);
      each.times = times_of(*ran);
      each.time = config::median_of(each.times);
      each.utilisation = percent(std::min(point.execution, each.time), each.time);
      point.policies.push_back(std::move(each));
    }
    return point;
  }

  Measurements all_measured() const {
    Measurements measurements;
    for (const MemoryResult& result : found_.results)
      for (const MemoryPoint& point : result.points) add_measurements(point, measurements);
    return measurements;
  }

  std::vector<WorkloadKind> mixed() const { return studied(study_, mixed_workloads()); }

  const MemoryPoint& point(WorkloadKind kind, std::size_t size) const {
    return std::ranges::find(found_.results, kind, &MemoryResult::kind)->points[size];
  }

  policies::GuidelineTask guided(const MemoryPoint& point) const {
    const auto overhead = [&](MemoryPolicy policy) {
      return policies::memory_overhead(policy, found_.costs, point.traffic);
    };
    policies::GuidelineTask task{
        .device = overhead(MemoryPolicy::device), .managed = {}, .host = {}, .kernels = 0, .saved = {}};
    if (point.under(MemoryPolicy::managed) != nullptr) task.managed = overhead(MemoryPolicy::managed);
    if (point.under(MemoryPolicy::host) != nullptr) task.host = overhead(MemoryPolicy::host);
    for (const auto& kernel : point.traffic.kernels) task.kernels += kernel.launches;
    task.saved = point.traffic.exchanged;
    return task;
  }

  void add_guidelines() {
    std::vector<policies::GuidelineTask> all, small;
    for (const WorkloadKind kind : mixed()) {
      all.push_back(guided(point(kind, sizes_of(study_) - 1)));
      small.push_back(all.back());
      if (small_policy(study_) == MemoryPolicy::managed) small.back().host.reset();
    }
    const auto of_all = policies::guideline_policies(all), of_small = policies::guideline_policies(small);
    for (std::size_t i = 0; i < all.size(); ++i)
      found_.guidelines.push_back(
          {.kind = mixed()[i], .kernels = all[i].kernels, .policy = of_small[i], .with_host = of_all[i]});
  }

  void add_pair(WorkloadKind kind, const std::array<MemoryPolicy, 2>& policies) {
    const MemoryPoint& own = point(kind, sizes_of(study_) - 1);
    const MemorySet both{co_running(own, kind, policies[0]), co_running(own, kind, policies[1])};
    const auto ran = rounds(both, {.least = study_.spread, .most = study_.spread});
    measured();
    if (!ran) return;
    MemoryPair pair{.kind = kind,
                    .size = own.size,
                    .policies = policies,
                    .memory = memory_of(both[0]) + memory_of(both[1]),
                    .lengths = lengths_of(*ran)};
    pair.length = config::median_of(pair.lengths);
    pair.utilisation = percent(std::min(2 * own.execution, pair.length), pair.length);
    found_.pairs.push_back(std::move(pair));
  }

  /// Adds the mix (all tasks together) of one size. The deadline of a task is its execution time, and tasks are in the
  /// order of these deadlines.
  void add_mix(std::size_t size) {
    MemoryMix mix;
    mix.kinds = mixed();
    std::ranges::stable_sort(mix.kinds, {}, [&](WorkloadKind kind) { return point(kind, size).execution; });
    for (const WorkloadKind kind : mix.kinds) mix.sizes.push_back(point(kind, size).size);
    const std::size_t tasks = mix.kinds.size();
    std::vector<Wanted> wanted{{"D", set_of(mix, std::vector(tasks, MemoryPolicy::device))},
                               {"MO", set_of(mix, std::vector(tasks, small_policy(study_)))}};
    if (auto chosen = choice(mix, size, wanted[1].set)) wanted.push_back({"CO", std::move(*chosen)});
    measured();
    add_configurations(mix, size, wanted);
    measured();
    found_.mixes.push_back(std::move(mix));
  }

  static MemorySet set_of(const MemoryMix& mix, const std::vector<MemoryPolicy>& policies) {
    MemorySet set;
    for (std::size_t i = 0; i < policies.size(); ++i) set.push_back({mix.kinds[i], mix.sizes[i], policies[i]});
    return set;
  }

  /// Returns a task with its parameters for co-running, as measured while the task ran alone. A task without a
  /// measurement does not co-run.
  static MemoryCase co_running(const MemoryPoint& point, WorkloadKind kind, MemoryPolicy policy) {
    MemoryCase made{kind, point.size, policy};
    if (const PolicyTime* each = point.under(policy)) made.co_run = co_run_of(policy, each->time, point.execution);
    return made;
  }

  /// Returns the fastest combination of policies. The candidates are the promising combinations, and `small`, in which
  /// all tasks use small_policy(). Returns nullopt if a task has no measurement, or if no combination can run.
  std::optional<MemorySet> choice(MemoryMix& mix, std::size_t size, const MemorySet& small) {
    std::vector<std::vector<MemoryAlternative>> tasks;
    std::vector<Duration> executions;
    Bytes all, least;
    for (std::size_t i = 0; i < mix.kinds.size(); ++i) {
      const MemoryPoint& own = point(mix.kinds[i], size);
      if (own.policies.empty()) return std::nullopt;
      auto& alternatives = tasks.emplace_back();
      for (const PolicyTime& each : own.policies) alternatives.push_back({each.policy, each.memory, each.time});
      executions.push_back(own.execution);
      all += memory_of({mix.kinds[i], mix.sizes[i], MemoryPolicy::device});
      least += std::ranges::min(alternatives, {}, &MemoryAlternative::memory).memory;
    }
    const Bytes limit{static_cast<std::uint64_t>(study_.max_memory * static_cast<double>(all.count))};
    mix.within = least <= limit;
    std::vector<MemorySet> sets{small};
    for (const MemoryChoice& each : promising_choices(tasks, executions, std::max(limit, least))) {
      auto& set = sets.emplace_back();
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        set.push_back(co_running(point(mix.kinds[i], size), mix.kinds[i], tasks[i][each.alternatives[i]].policy));
        if (!each.co_run) set.back().co_run.reset();
      }
    }
    return fastest(sets);
  }

  /// Returns the fastest of the sets. Measures all sets in one run, whose rounds alternate between the sets. If the
  /// sets do not fit into memory at once, measures each set in a separate run.
  std::optional<MemorySet> fastest(const std::vector<MemorySet>& sets) {
    constexpr MemoryRounds few{.least = 4, .most = 21, .enough = std::chrono::milliseconds(60)};
    std::optional<std::pair<Duration, MemorySet>> best;
    const auto consider = [&](const MemorySet& set, std::span<const MemoryRound> ran) {
      const Duration length = config::median_of(lengths_of(ran));
      if (!best || length < best->first) best = {length, set};
    };
    const auto ran = platform_.run(sets, few);
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const auto own = ran ? Result<std::vector<std::vector<MemoryRound>>>() : platform_.run({&sets[i], 1}, few);
      if (!own && !cannot_be_had(own.error().code)) give_up(own.error().code, own.error().what);
      if (own) consider(sets[i], ran ? (*ran)[i] : own->front());
    }
    return best ? std::optional(best->second) : std::nullopt;
  }

  struct Wanted {
    std::string name;
    MemorySet set;
  };

  /// Measures the wanted sets and adds them to the mix. The rounds of the sets alternate in one run. If the sets do not
  /// fit into memory at once, each set has a separate run.
  void add_configurations(MemoryMix& mix, std::size_t size, const std::vector<Wanted>& wanted) {
    std::vector<MemorySet> sets;
    for (const Wanted& each : wanted) sets.push_back(each.set);
    const auto ran = platform_.run(sets, study_.rounds);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (ran) add_configuration(mix, size, wanted[i], (*ran)[i]);
      else if (const auto own = rounds(sets[i], study_.rounds)) add_configuration(mix, size, wanted[i], *own);
    }
  }

  void add_configuration(MemoryMix& mix, std::size_t size, const Wanted& wanted, std::span<const MemoryRound> ran) {
    MemoryConfiguration made{.name = wanted.name, .policies = {}, .memory = {}, .responses = {}};
    Duration executions{0};
    for (std::size_t i = 0; i < wanted.set.size(); ++i) {
      made.policies.push_back(wanted.set[i].policy);
      made.memory += memory_of(wanted.set[i]);
      executions += point(mix.kinds[i], size).execution;
      std::vector<Duration> ends;
      for (const MemoryRound& round : ran) ends.push_back(round.ends[i]);
      made.responses.push_back(config::median_of(ends));
    }
    made.length = config::median_of(lengths_of(ran));
    made.pairs = ran.front().pairs;
    made.utilisation = percent(std::min(executions, made.length), made.length);
    mix.configurations.push_back(std::move(made));
  }

  MemoryPlatform& platform_;
  const MemoryStudy& study_;
  const std::function<bool()>& going_on_;
  MemoryExperiment found_;
};

} // namespace

Duration PolicyTime::shortest() const { return *std::ranges::min_element(times); }

Duration MemoryRound::length() const { return ends.empty() ? Duration{0} : std::ranges::max(ends); }

const PolicyTime* MemoryPoint::under(MemoryPolicy policy) const {
  const auto found = std::ranges::find(policies, policy, &PolicyTime::policy);
  return found == policies.end() ? nullptr : &*found;
}

Duration MemoryConfiguration::mean_response() const {
  if (responses.empty()) return Duration{0};
  return std::accumulate(responses.begin(), responses.end(), Duration{0}) /
         static_cast<Duration::rep>(responses.size());
}

const MemoryConfiguration* MemoryMix::of(std::string_view name) const {
  const auto found = std::ranges::find(configurations, name, &MemoryConfiguration::name);
  return found == configurations.end() ? nullptr : &*found;
}

std::vector<unsigned> sizes_between(unsigned least, unsigned most) {
  return sizes_between(least, most, 8); // as in Figs. 8 and 9 of Bateni et al.
}

std::span<const WorkloadKind> mixed_workloads() {
  using enum WorkloadKind;
  static constexpr WorkloadKind mixed[] = {bfs,        pathfinder, needleman_wunsch, nearest_neighbour,
                                           vector_add, gaussian,   hotspot}; // Table IV of Bateni et al.
  return mixed;
}

std::span<const WorkloadKind> paired_workloads() {
  static constexpr WorkloadKind paired[] = {WorkloadKind::needleman_wunsch, WorkloadKind::gaussian,
                                            WorkloadKind::euclidean_clustering};
  return paired;
}

MemoryPolicy small_policy(const MemoryStudy& study) {
  for (const MemoryPolicy policy : {MemoryPolicy::managed, MemoryPolicy::host})
    if (contains(study.policies, policy)) return policy;
  return MemoryPolicy::device;
}

Bytes memory_of(const MemoryCase& wanted) {
  const tasks::KernelWorkload::Options options{.kind = wanted.kind, .size = wanted.size, .policy = wanted.policy};
  return must(tasks::KernelWorkload::make(options, DeviceKind::host))->footprint().total();
}

std::size_t count_measurements(const MemoryStudy& study) {
  const std::size_t alone = study.workloads.size() * sizes_of(study) * (1 + study.policies.size());
  const std::size_t pairs = studied(study, paired_workloads()).size() * pairs_of(study).size();
  return alone + pairs + (studied(study, mixed_workloads()).empty() ? 0 : 2 * sizes_of(study));
}

Result<MemoryExperiment> run_memory_experiment(MemoryPlatform& platform, const MemoryStudy& study,
                                               const std::function<bool()>& going_on) {
  return caught([&] { return Experiment(platform, study, going_on).run(); });
}

CoRun co_run_of(MemoryPolicy policy, Duration time, Duration execution) {
  if (policy == MemoryPolicy::device) return {.wcet = execution, .idle = {}};
  return {.wcet = std::max(time, execution), .idle = std::max(time - execution, Duration(0))};
}

std::vector<MemoryChoice> promising_choices(std::span<const std::vector<MemoryAlternative>> tasks,
                                            std::span<const Duration> executions, Bytes most) {
  enum Saving : std::size_t { beside_both, beside_managed, none, savings };
  std::array<std::vector<Promising>, savings> found;
  for_each_combination(tasks, [&](const std::vector<std::size_t>& combination) {
    Bytes memory;
    MemorySet set;
    std::vector<Duration> times;
    Duration sum{0};
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const MemoryAlternative& each = tasks[i][combination[i]];
      memory += each.memory;
      times.push_back(each.time);
      sum += each.time;
      set.push_back({.policy = each.policy, .co_run = co_run_of(each.policy, each.time, executions[i])});
    }
    if (memory > most) return;
    const auto length = [&](bool beside_host) {
      return played(set, times,
                    [&](std::size_t first, std::size_t second) {
                      const std::size_t executes = set[first].policy == MemoryPolicy::device ? first : second;
                      const MemoryPolicy waits = set[first + second - executes].policy;
                      return beside_host || waits == MemoryPolicy::managed ? executions[executes] : Duration(0);
                    })
          .length();
    };
    found[beside_both].push_back({length(true), {combination, true}});
    found[beside_managed].push_back({length(false), {combination, true}});
    found[none].push_back({sum, {combination, false}});
  });
  std::vector<MemoryChoice> choices;
  const auto take = [&](Saving saving, std::size_t count) {
    auto& all = found[saving];
    std::ranges::stable_sort(all, {}, &Promising::length);
    for (std::size_t i = 0; i < std::min(count, all.size()); ++i)
      if (!contains(choices, all[i].choice)) choices.push_back(all[i].choice);
  };
  take(beside_both, 2);
  take(beside_managed, 1);
  take(none, 2);
  return choices;
}

policies::ModelError error_of(const MemoryResult& result, std::optional<MemoryPolicy> policy,
                              MemoryEstimate PolicyTime::*estimate) {
  policies::ModelError found;
  std::size_t count = 0;
  for (const MemoryPoint& point : result.points)
    for (const PolicyTime& each : point.policies) {
      if (policy && each.policy != *policy) continue;
      found.mean += (each.*estimate).error;
      found.worst = std::max(found.worst, (each.*estimate).error);
      ++count;
    }
  if (count > 0) found.mean /= static_cast<double>(count);
  return found;
}

} // namespace rtexec::study
