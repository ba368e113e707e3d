#include "policies/memory/memory_assignment.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

Duration lost(const MemoryOverhead& other, const MemoryOverhead& device) { return other.all() - device.all(); }

/// True if policy M (managed memory) is worthwhile for the task, by Eq. (9) of Bateni et al. (RTAS 2020).
bool managed_is_eligible(const GuidelineTask& task) {
  return task.managed && lost(*task.managed, task.device) <=
                             task.managed->mapping - task.managed->host_flush - task.managed->device_flush;
}

/// True if policy H (pinned host memory) is worthwhile for the task, by Eq. (10) of Bateni et al. (RTAS 2020).
bool host_is_eligible(const GuidelineTask& task) {
  return task.host && lost(*task.host, task.device) <= task.host->mapping - task.host->uncached;
}

Duration added(const GuidelineTask& task, MemoryPolicy policy) {
  return lost(policy == MemoryPolicy::managed ? *task.managed : *task.host, task.device);
}

// ---- memory as the search compares it ----

/// The amount of memory that is minimised, and the amount that decides between choices for which the first amount is
/// equal.
using Amount = std::pair<Wide, Wide>;

/// The memory of some tasks: the memory that only one of them uses, and the largest amount of shared memory that one of
/// them uses.
struct Use {
  Amount own{};
  Wide shared = 0;
  /// Returns the total amount.
  [[nodiscard]] Amount all() const { return {own.first + shared, own.second}; }
};

Use use_of(const MemoryOption& option, bool unified) {
  const Wide device = option.device.count, host = option.host.count;
  return {unified ? Amount(device + host, 0) : Amount(device, host), Wide{option.shared.count}};
}

Use both(const Use& a, const Use& b) {
  return {{a.own.first + b.own.first, a.own.second + b.own.second}, std::max(a.shared, b.shared)};
}

Use min_of(const Use& a, const Use& b) {
  return {{std::min(a.own.first, b.own.first), std::min(a.own.second, b.own.second)}, std::min(a.shared, b.shared)};
}

auto times(auto& wcet) { return std::tie(wcet.before, wcet.device, wcet.after); }

bool no_more_memory(const MemoryOption& a, const MemoryOption& b) {
  return a.device <= b.device && a.shared <= b.shared && a.host <= b.host;
}

bool same_times(const Wcet& a, const Wcet& b) { return times(a) == times(b); }

/// True if option `a` needs no more memory and no more time than option `b`.
bool covers(const MemoryOption& a, const MemoryOption& b) {
  return no_more_memory(a, b) && same_times(shorter(a.wcet, b.wcet), a.wcet);
}

// ---- the search ----

/// The alternatives that may still prove a combination of options below a node of the search, with an upper bound on
/// the slack. At a node, some tasks have chosen their options. An alternative is one method to prove the set, such as
/// one assignment of cores (Admission, in the header).
struct Reach {
  std::uint32_t alternatives = 0; // bit k is set if alternative k may be the first alternative that succeeds
  Nanos slack = 0;                // an upper bound on the slack of the first of these alternatives

  [[nodiscard]] std::size_t first() const { return static_cast<std::size_t>(std::countr_zero(alternatives)); }
  void drop_first() {
    alternatives &= alternatives - 1;
    slack = unbounded;
  }
};

Reach both(const Reach& a, const Reach& b) {
  const std::uint32_t alternatives = a.alternatives & b.alternatives, first = alternatives & (~alternatives + 1);
  const auto known = [&](const Reach& reach) {
    return (reach.alternatives & (~reach.alternatives + 1)) == first ? reach.slack : unbounded;
  };
  return {alternatives, std::min(known(a), known(b))};
}

struct Candidate {
  std::size_t index = 0; // the index of the option in MemoryProblem
  Wcet wcet;
  Use use;
  Reach reach{}; // alternatives and slack with this option, if all other tasks have their ideal (shortest) times
};

/// A task in the search and its candidates (options). `ideal` has the shortest time of each part over all candidates,
/// `longest` the longest time of each part. `least` has the least memory of each kind over all candidates.
struct Branch {
  std::size_t task = 0;
  std::vector<Candidate> candidates;
  Wcet ideal, longest;
  Use least;
};

void set_ideal(Branch& branch) {
  branch.ideal = branch.longest = branch.candidates.front().wcet;
  branch.least = branch.candidates.front().use;
  for (const Candidate& each : branch.candidates) {
    branch.ideal = shorter(branch.ideal, each.wcet);
    branch.longest = longer(branch.longest, each.wcet);
    branch.least = min_of(branch.least, each.use);
  }
}

/// Returns the candidates in the order in which they are tried. `monotone`: true if shorter times never give less
/// slack. In that case an option is left out if another option covers it (needs no more memory and no more time).
std::vector<Candidate> candidates_of(std::span<const MemoryOption> options, bool unified, bool monotone) {
  std::vector<Candidate> kept, covered;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const auto beaten_by = [&](std::size_t other, bool as_long) {
      if (other == i || !covers(options[other], options[i])) return false;
      if (as_long && !same_times(options[other].wcet, options[i].wcet)) return false;
      return other < i || !covers(options[i], options[other]);
    };
    const auto beaten = [&](bool as_long) {
      for (std::size_t other = 0; other < options.size(); ++other)
        if (beaten_by(other, as_long)) return true;
      return false;
    };
    const Candidate candidate{.index = i, .wcet = options[i].wcet, .use = use_of(options[i], unified)};
    if (!beaten(false)) kept.push_back(candidate);
    else if (!monotone && !beaten(true)) covered.push_back(candidate);
  }
  const auto memory = [](const Candidate& each) { return each.use.all(); };
  std::ranges::stable_sort(kept, {}, memory);
  std::ranges::stable_sort(covered, {}, memory);
  kept.insert(kept.end(), covered.begin(), covered.end());
  return kept;
}

Amount range_of(const Branch& branch) {
  const auto [low, high] =
      std::ranges::minmax(branch.candidates, {}, [](const Candidate& each) { return each.use.all(); });
  return {high.use.all().first - low.use.all().first, high.use.all().second - low.use.all().second};
}

/// Returns a branch for each task, in the order in which the tasks choose their options.
std::vector<Branch> branches_of(const MemoryProblem& problem, bool monotone) {
  std::vector<Branch> branches;
  for (std::size_t task = 0; task < problem.options.size(); ++task) {
    Branch& branch = branches.emplace_back();
    branch.task = task;
    branch.candidates = candidates_of(problem.options[task], problem.unified, monotone);
    set_ideal(branch);
  }
  std::ranges::stable_sort(branches, std::ranges::greater{}, range_of);
  return branches;
}

/// Calls the admission test, at most `max_questions` times. After that number of calls, every combination counts as not
/// admitted.
class Questions {
 public:
  explicit Questions(const Admission& admission) : admission_(admission) {}

  std::optional<Nanos> slack(std::span<const Wcet> times) { return may_ask() ? admission_.slack(times) : std::nullopt; }
  std::optional<Nanos> bound(std::size_t alternative, const TimesBetween& times, Nanos needed) {
    if (monotone()) return slack(times.shortest);
    return may_ask() ? admission_.bound(alternative, times, needed) : std::nullopt;
  }
  std::optional<Nanos> glance(std::size_t alternative, const TimesBetween& times, Nanos needed) {
    if (monotone()) return slack(times.shortest);
    return may_ask() ? admission_.glance(alternative, times, needed) : std::nullopt;
  }
  /// True if an alternative before `alternative` is known to succeed for all times in the range. Then this earlier
  /// alternative determines the slack.
  bool decided_before(std::size_t alternative, const TimesBetween& times) {
    for (std::size_t k = 0; k < alternative; ++k)
      if (may_ask() && admission_.surely(k, times.longest)) return true;
    return false;
  }
  [[nodiscard]] bool monotone() const { return !admission_.bound; }
  [[nodiscard]] std::size_t alternatives() const { return admission_.alternatives; }
  [[nodiscard]] std::size_t asked() const { return asked_; }
  [[nodiscard]] bool exhausted() const { return exhausted_; }

 private:
  bool may_ask() {
    exhausted_ = exhausted_ || asked_ == max_questions;
    asked_ += !exhausted_;
    return !exhausted_;
  }

  const Admission& admission_;
  std::size_t asked_ = 0;
  bool exhausted_ = false;
};

/// A combination of options, and the memory that it takes.
struct Incumbent {
  std::vector<std::size_t> chosen;
  Amount memory;
  Nanos slack = 0;
};

/// A depth-first search over the options of the tasks, with one task for each depth. Tasks that have not chosen an
/// option count with their ideal times. The slack with these times is an upper bound on the slack of all combinations
/// below a node.
class Search {
 public:
  Search(const MemoryProblem& problem, Questions& questions)
      : branches_(branches_of(problem, questions.monotone())),
        questions_(questions),
        capacity_(problem.capacity.count),
        rest_(branches_.size() + 1),
        shortest_(branches_.size()),
        longest_(branches_.size()),
        chosen_(branches_.size()) {}

  /// Returns the combination with the least memory among the combinations with at least `needed` slack. If several
  /// combinations have the least memory, returns the first of them.
  std::optional<Incumbent> min_memory(Nanos needed) {
    begin(needed);
    if (narrow(~std::uint32_t{0} >> (max_alternatives - questions_.alternatives()))) descend(0, {}, root_);
    return std::move(best_);
  }

  /// Returns the combination with the most slack among the combinations that fit into the memory. The function examines
  /// the alternatives (Admission) one after the other. The slack found for one alternative excludes many combinations
  /// for the next alternative.
  std::optional<Incumbent> max_slack() {
    begin(0);
    max_slack_ = true;
    const std::vector<Branch> branches = branches_;
    for (std::size_t alternative = 0; alternative < questions_.alternatives(); ++alternative) {
      branches_ = branches;
      if (!narrow(std::uint32_t{1} << alternative)) continue;
      max_reaching_first();
      descend(0, {}, root_);
    }
    branches_ = branches;
    return std::move(best_);
  }

 private:
  enum class By { bound, glance };

  /// Facts about a node that are known without a call of the admission test.
  struct Known {
    bool slack = false;     // true if the slack of the node equals the slack of its parent node
    bool undecided = false; // true if no alternative before the node's first alternative is known to succeed
  };

  void begin(Nanos needed) {
    needed_ = needed;
    max_slack_ = false;
    best_.reset();
  }

  /// Drops the options that do not fit into the memory. Also drops an option if no alternative in `alternatives` has
  /// the needed slack with it, even if all other tasks have their ideal times. Returns true if every task has an option
  /// left.
  bool narrow(std::uint32_t alternatives) {
    const auto fits = [&](const Branch& branch, const Candidate& each) { return min_with(branch, each) <= capacity_; };
    root_ = {alternatives, unbounded};
    if (!keep(fits) || !promises(root_, By::bound, {})) return false;
    for (Branch& branch : branches_) {
      for (Candidate& each : branch.candidates) {
        each.reach = root_;
        choose(branch, each.wcet, each.wcet);
        promises(each.reach, By::bound, {.slack = same_times(each.wcet, branch.ideal)});
      }
      choose(branch, branch.ideal, branch.longest);
    }
    return keep([](const Branch&, const Candidate& each) { return each.reach.alternatives != 0; }) &&
           promises(root_, By::bound, {});
  }

  /// Drops the options for which `wanted(branch, candidate)` is false. Returns true if every task has an option left.
  template <class Wanted> bool keep(const Wanted& wanted) {
    for (Branch& branch : branches_) {
      std::erase_if(branch.candidates, [&](const Candidate& each) { return !wanted(branch, each); });
      if (branch.candidates.empty()) return false;
      set_ideal(branch);
      choose(branch, branch.ideal, branch.longest);
    }
    set_rest();
    return true;
  }

  /// Sorts the branches and their candidates. The task whose options differ most in slack chooses first. This task
  /// tries the option with the most slack first.
  void max_reaching_first() {
    const auto reach = [](const Candidate& each) { return -each.reach.slack; };
    for (Branch& branch : branches_) std::ranges::stable_sort(branch.candidates, {}, reach);
    const auto least = [](const Branch& branch) { return branch.candidates.back().reach.slack; };
    std::ranges::stable_sort(branches_, {}, least);
    set_rest();
  }

  /// Returns the amount of minimised memory if the task `branch` chooses the option `candidate`, and all other tasks
  /// choose options with their least memory.
  [[nodiscard]] Wide min_with(const Branch& branch, const Candidate& candidate) const {
    Use use = candidate.use;
    for (const Branch& other : branches_)
      if (&other != &branch) use = both(use, other.least);
    return use.all().first;
  }

  void set_rest() {
    for (std::size_t depth = branches_.size(); depth-- > 0;)
      rest_[depth] = both(branches_[depth].least, rest_[depth + 1]);
  }

  void choose(const Branch& branch, const Wcet& shortest, const Wcet& longest) {
    shortest_[branch.task] = shortest;
    longest_[branch.task] = longest;
  }

  /// Drops alternatives from `reach`, beginning with the first alternative. Stops when the first remaining alternative
  /// may have the needed slack and no alternative before it is known to succeed. Returns true if such an alternative
  /// remains.
  bool promises(Reach& reach, By by, Known known) {
    const TimesBetween here{shortest_, longest_};
    for (; reach.alternatives != 0; reach.drop_first(), known = {}) {
      if (reach.slack < needed_) continue;
      if (!known.slack) {
        const std::size_t alternative = reach.first();
        const auto most = by == By::bound ? questions_.bound(alternative, here, needed_)
                                          : questions_.glance(alternative, here, needed_);
        if (!most || *most < needed_) continue;
        reach.slack = *most;
      }
      if (known.undecided || !questions_.decided_before(reach.first(), here)) return true;
    }
    return false;
  }

  [[nodiscard]] bool fits(const Amount& memory) const {
    return memory.first <= capacity_ && (max_slack_ || !best_ || memory < best_->memory);
  }

  /// Searches below a node. Returns true if an estimate by By::glance (fast, but possibly too high) was too high for
  /// the node. The caller must then verify its own estimate.
  bool descend(std::size_t depth, const Use& use, Reach reach) {
    if (depth == branches_.size()) return end(use.all(), reach);
    Branch& branch = branches_[depth];
    bool verified = questions_.monotone();
    for (const Candidate& each : branch.candidates) {
      const Use with = both(use, each.use);
      if (questions_.exhausted() || !fits(both(with, rest_[depth + 1]).all())) continue;
      choose(branch, each.wcet, each.wcet);
      Reach next = both(reach, each.reach);
      const bool same = next.first() == reach.first();
      const Known known{.slack = same && same_times(each.wcet, branch.ideal),
                        .undecided = same && same_times(each.wcet, branch.longest)};
      if (!promises(next, By::glance, known)) continue;
      chosen_[branch.task] = each.index;
      const bool misled = descend(depth + 1, with, next);
      choose(branch, branch.ideal, branch.longest);
      if (misled && !std::exchange(verified, true) && !promises(reach, By::bound, {.undecided = true})) return true;
    }
    choose(branch, branch.ideal, branch.longest);
    return false;
  }

  bool end(const Amount& memory, Reach reach) {
    if (!questions_.monotone() && !promises(reach, By::bound, {.undecided = true})) return true;
    const std::optional<Nanos> slack = questions_.monotone() ? std::optional(reach.slack) : questions_.slack(shortest_);
    if (!slack || *slack < needed_) return false;
    best_ = Incumbent{chosen_, memory, *slack};
    if (max_slack_) needed_ = *slack + 1;
    return false;
  }

  std::vector<Branch> branches_;
  Questions& questions_;
  Wide capacity_;
  std::vector<Use> rest_;                // by depth: the least memory of the branches at this and greater depths
  std::vector<Wcet> shortest_, longest_; // by task: the range of times that is possible below the current node
  std::vector<std::size_t> chosen_;
  Reach root_;
  Nanos needed_ = 0;
  // True: each result raises `needed_`, the required slack. False: each result must take less memory than the previous
  // result
  bool max_slack_ = false;
  std::optional<Incumbent> best_;
};

Result<> check(const MemoryProblem& problem) {
  for (std::size_t task = 0; task < problem.options.size(); ++task)
    if (problem.options[task].empty())
      return fail(Errc::bad_input, "task " + std::to_string(task) + " of the set has no memory policy available");
  return {};
}

Error not_admitted(const Questions& questions) {
  std::string what = "no combination of memory policies fits into memory and is proved";
  if (questions.exhausted()) what += " among the " + std::to_string(questions.asked()) + " that were tried";
  return {Errc::not_proved, std::move(what)};
}

void add_memory(MemoryChoice& choice, const MemoryProblem& problem) {
  Bytes shared{0};
  for (std::size_t task = 0; task < choice.options.size(); ++task) {
    const MemoryOption& option = problem.options[task][choice.options[task]];
    choice.device += option.device;
    choice.host += option.host;
    shared = std::max(shared, option.shared);
  }
  choice.device += shared;
}

MemoryChoice choice_of(Incumbent best, const MemoryProblem& problem, const Questions& questions) {
  MemoryChoice choice{.options = std::move(best.chosen),
                      .slack = best.slack,
                      .questions = questions.asked(),
                      .exact = !questions.exhausted()};
  add_memory(choice, problem);
  return choice;
}

} // namespace

MemoryPolicy guideline_policy(const GuidelineTask& task) {
  const bool managed = managed_is_eligible(task), host = host_is_eligible(task);
  if (managed && host) return task.host->all() < task.managed->all() ? MemoryPolicy::host : MemoryPolicy::managed;
  return managed ? MemoryPolicy::managed : host ? MemoryPolicy::host : MemoryPolicy::device;
}

std::vector<MemoryPolicy> guideline_policies(std::span<const GuidelineTask> tasks) {
  std::vector<MemoryPolicy> policies(tasks.size(), MemoryPolicy::device);
  std::vector<std::pair<std::size_t, MemoryPolicy>> converted;
  Wide on_device = 0, others = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    on_device += tasks[i].kernels;
    if (const MemoryPolicy policy = guideline_policy(tasks[i]); policy != MemoryPolicy::device)
      converted.emplace_back(i, policy);
  }
  std::ranges::sort(converted, {}, [&](const auto& each) {
    const GuidelineTask& task = tasks[each.first];
    return std::tuple(-Wide{task.saved.count}, added(task, each.second), each.first);
  });
  for (const auto& [i, policy] : converted) {
    const Wide kernels = tasks[i].kernels;
    if (others + kernels > on_device - kernels) continue;
    others += kernels;
    on_device -= kernels;
    policies[i] = policy;
  }
  return policies;
}

Result<MemoryChoice> min_memory(const MemoryProblem& problem, const Admission& admission) {
  if (const auto valid = check(problem); !valid) return Unexpected(valid.error());
  Questions questions(admission);
  std::optional<Incumbent> best = Search(problem, questions).min_memory(0);
  if (!best) return Unexpected(not_admitted(questions));
  return choice_of(std::move(*best), problem, questions);
}

Result<MemoryChoice> max_slack(const MemoryProblem& problem, const Admission& admission) {
  if (const auto valid = check(problem); !valid) return Unexpected(valid.error());
  Questions questions(admission);
  Search search(problem, questions);
  std::optional<Incumbent> best = search.max_slack();
  if (!best) return Unexpected(not_admitted(questions));
  if (auto smallest = search.min_memory(best->slack)) best = std::move(smallest);
  return choice_of(std::move(*best), problem, questions);
}

} // namespace rtexec::policies
