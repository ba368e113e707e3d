#include "policies/memory_assignment.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

Duration lost(const MemoryOverhead& other, const MemoryOverhead& device) { return other.all() - device.all(); }

/// Eq. (9).
bool managed_is_eligible(const GuidelineTask& task) {
  return task.managed && lost(*task.managed, task.device) <=
                             task.managed->mapping - task.managed->host_flush - task.managed->device_flush;
}

/// Eq. (10).
bool host_is_eligible(const GuidelineTask& task) {
  return task.host && lost(*task.host, task.device) <= task.host->mapping - task.host->uncached;
}

Duration added(const GuidelineTask& task, MemoryPolicy policy) {
  return lost(policy == MemoryPolicy::managed ? *task.managed : *task.host, task.device);
}

// ---- memory as the search compares it ----

/// What decides, and what decides between equals.
using Amount = std::pair<Wide, Wide>;

struct Use {
  Amount own{};
  Wide shared = 0;
  /// Of all tasks.
  [[nodiscard]] Amount all() const { return {own.first + shared, own.second}; }
};

Use use_of(const MemoryOption& option, bool unified) {
  const Wide device = option.device.count, host = option.host.count;
  return {unified ? Amount(device + host, 0) : Amount(device, host), Wide{option.shared.count}};
}

Use both(const Use& a, const Use& b) {
  return {{a.own.first + b.own.first, a.own.second + b.own.second}, std::max(a.shared, b.shared)};
}

Use least_of(const Use& a, const Use& b) {
  return {{std::min(a.own.first, b.own.first), std::min(a.own.second, b.own.second)}, std::min(a.shared, b.shared)};
}

auto fields(auto& option) {
  return std::tie(option.device, option.shared, option.host, option.wcet.before, option.wcet.device, option.wcet.after);
}

/// The least of everything that either offers.
MemoryOption least_of(MemoryOption a, const MemoryOption& b) {
  const auto lower = [&](auto&... mine) {
    std::apply([&](const auto&... other) { ((mine = std::min(mine, other)), ...); }, fields(b));
  };
  std::apply(lower, fields(a));
  return a;
}

/// No more of anything than `b`.
bool covers(const MemoryOption& a, const MemoryOption& b) {
  const MemoryOption least = least_of(a, b);
  return fields(least) == fields(a);
}

// ---- the search ----

struct Candidate {
  std::size_t index = 0; // of the option
  MemoryOption option;
  Use use;
};

/// A task in the search. `ideal` has the least of everything.
struct Branch {
  std::size_t task = 0;
  std::vector<Candidate> candidates;
  MemoryOption ideal;
};

std::vector<Candidate> candidates_of(std::span<const MemoryOption> options, bool unified) {
  std::vector<Candidate> kept;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const auto beaten = [&](std::size_t other) {
      if (other == i || !covers(options[other], options[i])) return false;
      return other < i || !covers(options[i], options[other]);
    };
    bool needed = true;
    for (std::size_t other = 0; other < options.size() && needed; ++other) needed = !beaten(other);
    if (needed) kept.push_back({i, options[i], use_of(options[i], unified)});
  }
  std::ranges::stable_sort(kept, {}, [](const Candidate& each) { return each.use.all(); });
  return kept;
}

Amount range_of(const Branch& branch) {
  const Amount low = branch.candidates.front().use.all(), high = branch.candidates.back().use.all();
  return {high.first - low.first, high.second - low.second};
}

/// In the order in which they choose.
std::vector<Branch> branches_of(const MemoryProblem& problem) {
  std::vector<Branch> branches;
  for (std::size_t task = 0; task < problem.options.size(); ++task) {
    Branch& branch = branches.emplace_back();
    branch.task = task;
    branch.candidates = candidates_of(problem.options[task], problem.unified);
    branch.ideal = branch.candidates.front().option;
    for (const Candidate& each : branch.candidates) branch.ideal = least_of(branch.ideal, each.option);
  }
  std::ranges::stable_sort(branches, std::ranges::greater{}, range_of);
  return branches;
}

/// Depth first; the tasks that have not chosen yet have their ideal options, which bounds what any choice of theirs can
/// reach.
class Search {
 public:
  Search(std::vector<Branch> branches, const SlackOf& slack)
      : branches_(std::move(branches)), slack_(slack), rest_(branches_.size() + 1), combination_(branches_.size()) {}

  /// Whether any choice can be admitted. Drops options that not even ideal ones beside them save.
  bool begin() {
    for (const Branch& branch : branches_) combination_[branch.task] = branch.ideal;
    ideal_slack_ = asked();
    if (!ideal_slack_) return false;
    for (Branch& branch : branches_) {
      std::erase_if(branch.candidates, [&](const Candidate& each) { return !slack_with(branch, each, *ideal_slack_); });
      if (branch.candidates.empty()) return false;
      combination_[branch.task] = branch.ideal;
    }
    for (std::size_t depth = branches_.size(); depth-- > 0;) {
      Use least = branches_[depth].candidates.front().use;
      for (const Candidate& each : branches_[depth].candidates) least = least_of(least, each.use);
      rest_[depth] = both(least, rest_[depth + 1]);
    }
    return true;
  }

  /// Options of shorter times first.
  void fastest_first() {
    const auto time = [](const Candidate& each) {
      const Wcet& wcet = each.option.wcet;
      return Wide{wcet.before.count()} + wcet.device.count() + wcet.after.count();
    };
    for (Branch& branch : branches_) std::ranges::stable_sort(branch.candidates, {}, time);
  }

  /// Goes where `promising(memory, slack)`, bounds on what can be reached there, and tells `found` each end.
  template <class Promising, class Found> void run(const Promising& promising, const Found& found) {
    std::vector<std::size_t> chosen(branches_.size());
    descend(0, {}, *ideal_slack_, promising, found, chosen);
  }

  [[nodiscard]] std::size_t questions() const { return questions_; }
  [[nodiscard]] bool exhausted() const { return exhausted_; }

 private:
  std::optional<Nanos> asked() {
    if (questions_ == most_questions) {
      exhausted_ = true;
      return std::nullopt;
    }
    ++questions_;
    return slack_(combination_);
  }

  /// Nothing changes where the option is the ideal one.
  std::optional<Nanos> slack_with(const Branch& branch, const Candidate& candidate, Nanos before) {
    combination_[branch.task] = candidate.option;
    return fields(candidate.option) == fields(branch.ideal) ? std::optional(before) : asked();
  }

  template <class Promising, class Found>
  void descend(std::size_t depth, const Use& use, Nanos slack, const Promising& promising, const Found& found,
               std::vector<std::size_t>& chosen) {
    if (depth == branches_.size()) return found(chosen, use.all(), slack);
    Branch& branch = branches_[depth];
    for (const Candidate& each : branch.candidates) {
      const Use with = both(use, each.use);
      const Amount least = both(with, rest_[depth + 1]).all();
      if (exhausted_ || !promising(least, slack)) continue;
      const std::optional<Nanos> left = slack_with(branch, each, slack);
      if (!left || !promising(least, *left)) continue;
      chosen[branch.task] = each.index;
      descend(depth + 1, with, *left, promising, found, chosen);
    }
    combination_[branch.task] = branch.ideal;
  }

  std::vector<Branch> branches_;
  const SlackOf& slack_;
  std::optional<Nanos> ideal_slack_;
  std::vector<Use> rest_; // the least that the branches from this one on take
  std::vector<MemoryOption> combination_;
  std::size_t questions_ = 0;
  bool exhausted_ = false;
};

Result<> check(const MemoryProblem& problem) {
  for (std::size_t task = 0; task < problem.options.size(); ++task)
    if (problem.options[task].empty())
      return fail(Errc::bad_input, "task " + std::to_string(task) + " of the set has no memory policy to choose");
  return {};
}

Error not_admitted(const Search& search) {
  std::string what = "no choice of memory policies is admitted";
  if (search.exhausted()) what += " among the " + std::to_string(search.questions()) + " that were tried";
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

/// A combination, and the memory that it takes.
struct Incumbent {
  std::vector<std::size_t> chosen;
  Amount memory;
  Nanos slack = 0;
};

/// The least memory; of what takes as much as `known` does, the first.
std::optional<Incumbent> least_memory(Search& search, std::optional<Incumbent> known) {
  bool found = false;
  search.run([&](const Amount& memory,
                 Nanos) { return !known || memory < known->memory || (!found && memory == known->memory); },
             [&](const std::vector<std::size_t>& chosen, const Amount& memory, Nanos slack) {
               known = Incumbent{chosen, memory, slack};
               found = true;
             });
  return known;
}

MemoryChoice choice_of(Incumbent best, const MemoryProblem& problem) {
  MemoryChoice choice{.options = std::move(best.chosen), .slack = best.slack};
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

Result<MemoryChoice> least_memory(const MemoryProblem& problem, const Admitted& admitted) {
  if (const auto valid = check(problem); !valid) return Unexpected(valid.error());
  const SlackOf slack = [&](std::span<const MemoryOption> combination) {
    return admitted(combination) ? std::optional<Nanos>(0) : std::nullopt;
  };
  Search search(branches_of(problem), slack);
  if (!search.begin()) return Unexpected(not_admitted(search));
  std::optional<Incumbent> best = least_memory(search, {});
  if (!best) return Unexpected(not_admitted(search));
  MemoryChoice choice = choice_of(std::move(*best), problem);
  choice.questions = search.questions();
  choice.exact = !search.exhausted();
  return choice;
}

Result<MemoryChoice> most_slack(const MemoryProblem& problem, Bytes capacity, const SlackOf& slack) {
  if (const auto valid = check(problem); !valid) return Unexpected(valid.error());
  const std::vector<Branch> branches = branches_of(problem);
  Search fastest(branches, slack);
  if (!fastest.begin()) return Unexpected(not_admitted(fastest));
  fastest.fastest_first();
  std::optional<Incumbent> best;
  fastest.run(
      [&](const Amount& memory, Nanos reachable) {
        return memory.first <= Wide{capacity.count} && (!best || reachable > best->slack);
      },
      [&](const std::vector<std::size_t>& chosen, const Amount& memory, Nanos reached) {
        best = Incumbent{chosen, memory, reached};
      });
  if (!best) return fail(Errc::not_proved, not_admitted(fastest).what + " and fits into " + to_string(capacity));

  const Nanos most = best->slack;
  const SlackOf as_much = [&](std::span<const MemoryOption> combination) {
    const std::optional<Nanos> found = slack(combination);
    return found && *found >= most ? found : std::nullopt;
  };
  Search smallest(branches, as_much);
  if (smallest.begin()) best = least_memory(smallest, std::move(best));
  MemoryChoice choice = choice_of(std::move(*best), problem);
  choice.questions = fastest.questions() + smallest.questions();
  choice.exact = !fastest.exhausted() && !smallest.exhausted();
  return choice;
}

} // namespace rtexec::policies
