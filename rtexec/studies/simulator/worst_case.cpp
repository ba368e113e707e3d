#include "rtexec/studies/simulator/worst_case.hpp"

#include "rtexec/studies/simulator/release_patterns.hpp"

#include <algorithm>

namespace rtexec::simulator {
namespace {

using policies::JobId;

constexpr int steps = 60; // number of changes in an attack

/// Returns the claim that every task keeps its response bound, or its deadline if it has no bound.
Claim claim_of(const TaskSet& tasks, const Plan& plan, Duration release_latency) {
  Claim claim{.tasks = tasks, .plan = plan, .release_latency = release_latency};
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    claim.tasks.tasks[i].wcet = plan.tasks[i].wcet;
    PlannedTask& planned = claim.plan.tasks[i];
    if (!planned.response_bound) planned.response_bound = tasks.tasks[i].deadline;
  }
  return claim;
}

/// The results of a simulated run: the releases of jobs, and the job with the largest ratio of its response to its
/// bound.
class Seen {
 public:
  Seen(const Claim& claim, Options options)
      : claim_(claim), releases_(claim.tasks.tasks.size()), last_(claim.tasks.tasks.size()) {
    options.observe = [this](const Step& step) { see(step); };
    const Outcome outcome = simulate(claim.tasks, claim.plan, options);
    for (std::uint32_t task = 0; task < outcome.tasks.size(); ++task)
      if (outcome.tasks[task].unfinished > Duration{0})
        compare(last_[task], outcome.end, outcome.tasks[task].unfinished);
  }

  JobId job;
  Duration response{0};
  Instant end{}; // end of `job`, or of the run if the job had not ended

  /// Returns the releases of a task from `begin` to `end`, as times since `begin`.
  std::vector<Duration> releases(std::uint32_t task, Instant begin) const {
    std::vector<Duration> list;
    for (const Instant release : releases_[task])
      if (release >= begin && release <= end) list.push_back(release - begin);
    return list;
  }
  Instant first_release_from(Instant begin) const {
    Instant first = end;
    for (const auto& of_task : releases_)
      if (const auto release = std::ranges::lower_bound(of_task, begin); release != of_task.end())
        first = std::min(first, *release);
    return first;
  }

 private:
  void see(const Step& step) {
    if (step.kind == Step::Kind::release || step.kind == Step::Kind::skip)
      releases_[step.job.task].push_back(step.nominal);
    if (step.kind == Step::Kind::release) last_[step.job.task] = step.job;
    if (step.kind == Step::Kind::completion) compare(step.job, step.now, step.now - step.nominal);
  }

  void compare(JobId of, Instant ended, Duration took) {
    const auto bound_of = [&](JobId id) {
      return static_cast<double>(claim_.plan.tasks[id.task].response_bound->count());
    };
    if (static_cast<double>(took.count()) * bound_of(job) <= static_cast<double>(response.count()) * bound_of(of))
      return;
    job = of;
    response = took;
    end = ended;
  }

  const Claim& claim_;
  std::vector<std::vector<Instant>> releases_; // by task
  std::vector<JobId> last_;
};

TaskSet listed(const TaskSet& tasks, const Seen& seen, Instant begin) {
  TaskSet set = tasks;
  for (std::uint32_t task = 0; task < set.tasks.size(); ++task) {
    if (set.tasks[task].trigger == Trigger::after) continue; // the ends of other jobs release it
    set.tasks[task].offset = Duration{0};
    set.tasks[task].releases = seen.releases(task, begin);
  }
  return set;
}

Options listed_run(const TaskSet& tasks, Duration horizon) {
  Options options;
  options.horizon = horizon;
  options.release = listed_releases(tasks);
  return options;
}

/// Searches for a shorter run with the same worst case. The search repeats the last part of the run, beginning with the
/// first release of that part. The search doubles the length of this part until the task responds as late as in the
/// whole run.
WorstCase shortened(const Claim& claim, const Seen& seen) {
  WorstCase found;
  for (Duration length = std::max(seen.response, Duration(1));; length *= 2) {
    const bool whole = length >= seen.end - Instant{};
    const Instant begin = whole ? Instant{} : seen.first_release_from(seen.end - length);
    found.tasks = listed(claim.tasks, seen, begin);
    found.run = listed_run(found.tasks, seen.end - begin);
    const Seen again(claim, found.run);
    found.job = again.job;
    found.response = again.response;
    if (whole || (again.job.task == seen.job.task && again.response >= seen.response)) return found;
  }
}

} // namespace

WorstCase find_worst_case(const TaskSet& tasks, const Plan& plan, const Search& search,
                          const std::function<bool(int done)>& go_on) {
  const Claim claim = claim_of(tasks, plan, search.release_latency);
  Duration longest{0};
  for (const Task& task : tasks.tasks) longest = std::max(longest, task.period);
  Random random(search.seed);
  Adversary adversary(claim, random,
                      {.early = search.early,
                       .horizon = search.horizon,
                       .grains = {Duration(1), std::chrono::microseconds(1), longest / 10'000 + Duration(1)}});
  for (int done = 1; done <= search.attempts; ++done) {
    static_cast<void>(adversary.attack(steps));
    if (!go_on(done)) break;
  }

  const Options worst = adversary.worst();
  const Seen seen(claim, worst);
  WorstCase found;
  if (search.early) {
    // The run cannot be shortened, because the adversary's execution times belong to the numbers of the jobs.
    found = {.tasks = listed(claim.tasks, seen, Instant{}), .run = worst, .job = seen.job, .response = seen.response};
    found.run.horizon = seen.end - Instant{};
  } else {
    found = shortened(claim, seen);
  }
  found.bound = *claim.plan.tasks[found.job.task].response_bound;
  return found;
}

} // namespace rtexec::simulator
