// Tests the guidelines with values computed by hand, and the exact choice against every combination.
#include "policies/bounds/end_to_end.hpp"
#include "policies/memory/memory_assignment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <ranges>
#include <tuple>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr MemoryPolicy D = MemoryPolicy::device, M = MemoryPolicy::managed, H = MemoryPolicy::host;

// ---- guidelines ----

GuidelineTask guided(Duration copies, std::optional<MemoryOverhead> managed, std::optional<MemoryOverhead> host = {}) {
  return {.device = {.copies = copies}, .managed = managed, .host = host};
}

TEST(Guideline1, ChoosesManagedMemoryByEquation9) {
  // O_M = 100 + 30 + 20, I - Ca_cpu - Ca_gpu = 50
  const MemoryOverhead managed{.mapping = 100ns, .host_flush = 30ns, .device_flush = 20ns};
  EXPECT_EQ(guideline_policy(guided(100ns, managed)), M);
  EXPECT_EQ(guideline_policy(guided(99ns, managed)), D);
}

TEST(Guideline1, ChoosesHostMemoryByEquation10) {
  // O_H = 100 + 40, I - Tc = 60
  const MemoryOverhead host{.mapping = 100ns, .uncached = 40ns};
  EXPECT_EQ(guideline_policy(guided(80ns, {}, host)), H);
  EXPECT_EQ(guideline_policy(guided(79ns, {}, host)), D);
}

TEST(Guideline1, ChoosesSmallerOverheadOfEligiblePolicies) {
  EXPECT_EQ(guideline_policy(guided(100ns, MemoryOverhead{.mapping = 50ns}, MemoryOverhead{.mapping = 49ns})), H);
  EXPECT_EQ(guideline_policy(guided(100ns, MemoryOverhead{.mapping = 50ns}, MemoryOverhead{.mapping = 50ns})), M);
  EXPECT_EQ(guideline_policy(guided(100ns, MemoryOverhead{.host_flush = 60ns}, MemoryOverhead{.mapping = 90ns})), H)
      << "less overhead, but not by Eq. (9)";
}

GuidelineTask convertible(std::uint64_t kernels, std::uint64_t saved, Duration managed = 10ns) {
  GuidelineTask task = guided(10ns, MemoryOverhead{.mapping = managed});
  task.kernels = kernels;
  task.saved = {saved};
  return task;
}

TEST(Guideline2, ConvertsTasksToManagedMemoryByEquation11) {
  const GuidelineTask two[] = {convertible(5, 1), guided(0ns, {})};
  EXPECT_THAT(guideline_policies(two), ElementsAre(D, D)) << "5 kernels to 1";
  const GuidelineTask even[] = {convertible(1, 1), guided(0ns, {})};
  EXPECT_THAT(guideline_policies(even), ElementsAre(M, D)) << "1 to 1";
  EXPECT_THAT(guideline_policies({}), ElementsAre());
}

TEST(Guideline2, ConvertsTasksInOrderOfMemorySaved) {
  const GuidelineTask by_memory[] = {convertible(1, 1), convertible(1, 3), convertible(1, 2), convertible(1, 3, 9ns)};
  EXPECT_THAT(guideline_policies(by_memory), ElementsAre(D, M, D, M));
  const GuidelineTask by_loss[] = {convertible(1, 1, 10ns), convertible(1, 1, 9ns), convertible(1, 1, 9ns)};
  EXPECT_THAT(guideline_policies(by_loss), ElementsAre(D, M, D));
  const GuidelineTask too_large[] = {convertible(9, 9), convertible(1, 1), convertible(1, 1)};
  EXPECT_THAT(guideline_policies(too_large), ElementsAre(D, M, M)) << "the next ones are tried";
}

// ---- the exact choice: a second implementation ----

/// Returns all numbers that a test may depend on, in a row.
std::vector<std::int64_t> numbers(const MemoryOption& o) {
  return {static_cast<std::int64_t>(o.device.count),
          static_cast<std::int64_t>(o.shared.count),
          static_cast<std::int64_t>(o.host.count),
          o.wcet.before.count(),
          o.wcet.device.count(),
          o.wcet.after.count()};
}

using Memory = std::pair<std::uint64_t, std::uint64_t>;

Memory memory_of(std::span<const MemoryOption> options, bool unified) {
  std::uint64_t device = 0, host = 0, shared = 0;
  for (const MemoryOption& option : options) {
    device += option.device.count;
    host += option.host.count;
    shared = std::max(shared, option.shared.count);
  }
  return unified ? Memory(device + host + shared, 0) : Memory(device + shared, host);
}

/// Returns the indices of the options that matter, in order of their memory. If slack is not `monotone`, options that
/// are no better than another one but have other times also matter, and follow at the end.
std::vector<std::size_t> that_count(const std::vector<MemoryOption>& options, bool unified, bool monotone) {
  const auto times = [](const MemoryOption& o) { return std::tuple(o.wcet.before, o.wcet.device, o.wcet.after); };
  std::vector<std::size_t> places, behind;
  for (std::size_t i = 0; i < options.size(); ++i) {
    bool counts = true, needed = !monotone;
    for (std::size_t j = 0; j < options.size(); ++j) {
      const auto mine = numbers(options[i]), other = numbers(options[j]);
      const bool no_more = std::ranges::equal(other, mine, std::less_equal{});
      if (j == i || !no_more || (other == mine && j > i)) continue;
      counts = false;
      needed = needed && times(options[i]) != times(options[j]);
    }
    if (counts) places.push_back(i);
    else if (needed) behind.push_back(i);
  }
  const auto memory = [&](std::size_t i) { return memory_of(std::span(&options[i], 1), unified); };
  std::ranges::stable_sort(places, {}, memory);
  std::ranges::stable_sort(behind, {}, memory);
  places.insert(places.end(), behind.begin(), behind.end());
  return places;
}

/// Visits every combination once. The task that chooses first changes last.
void for_each_combination(const MemoryProblem& problem, bool monotone, const auto& visit) {
  std::vector<std::vector<std::size_t>> places;
  std::vector<std::size_t> order(problem.options.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<Memory> range;
  for (const auto& options : problem.options) {
    places.push_back(that_count(options, problem.unified, monotone));
    const auto memory = [&](std::size_t i) { return memory_of(std::span(&options[i], 1), problem.unified); };
    const auto [low, high] = std::ranges::minmax(places.back() | std::views::transform(memory));
    range.emplace_back(high.first - low.first, high.second - low.second);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto wide = [&](std::size_t i) {
      return std::pair(static_cast<std::int64_t>(range[i].first), static_cast<std::int64_t>(range[i].second));
    };
    return wide(a) > wide(b);
  });
  std::vector<std::size_t> digits(order.size(), 0);
  for (;;) {
    std::vector<std::size_t> chosen(order.size());
    std::vector<MemoryOption> combination(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
      chosen[order[k]] = places[order[k]][digits[k]];
      combination[order[k]] = problem.options[order[k]][chosen[order[k]]];
    }
    visit(chosen, std::span<const MemoryOption>(combination));
    std::size_t k = order.size();
    while (k > 0 && ++digits[k - 1] == places[order[k - 1]].size()) digits[--k] = 0;
    if (k == 0) return;
  }
}

struct Best {
  std::vector<std::size_t> chosen;
  Memory memory;
  Nanos slack = 0;
};

std::vector<Wcet> times_of(std::span<const MemoryOption> combination) {
  std::vector<Wcet> times;
  for (const MemoryOption& each : combination) times.push_back(each.wcet);
  return times;
}

/// Returns the best combination by trying all. With `by_slack` the slack decides first.
std::optional<Best> best_by_trying(const MemoryProblem& problem, const Admission& admission, bool by_slack) {
  std::optional<Best> best;
  for_each_combination(problem, !admission.bound, [&](const auto& chosen, std::span<const MemoryOption> combination) {
    const Memory memory = memory_of(combination, problem.unified);
    const auto slack = admission.slack(times_of(combination));
    if (!slack || memory.first > problem.capacity.count) return;
    const bool better =
        !best || (by_slack && *slack > best->slack) || ((!by_slack || *slack == best->slack) && memory < best->memory);
    if (better) best = Best{chosen, memory, *slack};
  });
  return best;
}

// ---- problems ----

class Problems {
 public:
  explicit Problems(std::uint64_t seed) : random_(seed) {}

  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  /// Draws typical options D, M and H: M and H hold exchanged data once, and mostly execute longer.
  MemoryProblem likely(std::int64_t tasks) {
    MemoryProblem problem{.options = {}, .unified = draw(0, 1) == 1};
    for (std::int64_t i = 0; i < tasks; ++i) {
      const std::int64_t exchanged = draw(1, 400), own = draw(0, 300), scratch = draw(0, 200), time = draw(100, 1000);
      const auto option = [&](MemoryPolicy policy, std::int64_t device, std::int64_t host, std::int64_t percent) {
        return MemoryOption{policy, bytes(device), bytes(scratch), bytes(host),
                            Wcet{Duration(draw(0, 40)), Duration(time * percent / 100), Duration(draw(0, 40))}};
      };
      problem.options.push_back({option(D, own + exchanged, exchanged, 100),
                                 option(M, own + exchanged, 0, draw(80, 180)),
                                 option(H, own, exchanged, draw(90, 400))});
    }
    return problem;
  }

  /// Draws from very few numbers, so that many values are equal.
  MemoryProblem equal(std::int64_t tasks) {
    MemoryProblem problem{.options = {}, .unified = draw(0, 1) == 1};
    const std::int64_t memory = draw(0, 2), time = draw(0, 3);
    for (std::int64_t i = 0; i < tasks; ++i) {
      auto& options = problem.options.emplace_back();
      for (std::int64_t k = draw(1, 4); k > 0; --k)
        options.push_back({D, bytes(draw(0, memory)), bytes(draw(0, memory)), bytes(draw(0, memory)),
                           Wcet{Duration(draw(0, time)), Duration(1 + draw(0, time)), Duration(draw(0, time))}});
    }
    return problem;
  }

 private:
  static Bytes bytes(std::int64_t count) { return {static_cast<std::uint64_t>(count)}; }
  std::mt19937_64 random_;
};

Nanos time_of(const Wcet& wcet) { return (wcet.before + wcet.device + wcet.after).count(); }

/// Returns a slack: the rest of `limit` after the weighted times. The tasks' weights are 1, 2, 3, ... from the task
/// `first` on.
SlackOf weighted(Nanos limit, std::size_t first = 0) {
  return [limit, first](std::span<const Wcet> times) {
    Nanos left = limit;
    for (std::size_t i = 0; i < times.size(); ++i)
      left -= static_cast<Nanos>((i + first) % times.size() + 1) * time_of(times[i]);
    return left >= 0 ? std::optional(left) : std::nullopt;
  };
}

/// Returns an admission in which the first of the ways that admits the times decides. Bounds are larger than necessary,
/// and glances are still larger.
Admission first_of(const std::vector<SlackOf>& ways) {
  const auto loose = [=](Nanos more) {
    return [=](std::size_t way, const TimesBetween& times, Nanos) -> std::optional<Nanos> {
      const auto slack = ways[way](times.shortest);
      return slack ? std::optional(*slack + more) : std::nullopt;
    };
  };
  return {.slack = [=](std::span<const Wcet> times) -> std::optional<Nanos> {
            for (const SlackOf& each : ways)
              if (const auto slack = each(times)) return slack;
            return std::nullopt;
          },
          .alternatives = ways.size(),
          .bound = loose(1),
          .glance = loose(20),
          .surely = [=](std::size_t way, std::span<const Wcet> longest) { return ways[way](longest).has_value(); }};
}

/// Returns as slack the least distance of a response to its deadline, on a device and two cores by static priority.
SlackOf response_times(const std::vector<Nanos>& periods) {
  StagedSet set{.tasks = {}};
  for (std::size_t i = 0; i < periods.size(); ++i)
    set.tasks.push_back({.period = periods[i], .deadline = periods[i], .core = static_cast<unsigned>(i % 2)});
  return [set](std::span<const Wcet> times) mutable -> std::optional<Nanos> {
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Wcet& wcet = times[i];
      set.tasks[i].before = wcet.before.count();
      set.tasks[i].device = wcet.device.count();
      set.tasks[i].after = wcet.after.count();
    }
    Nanos slack = unbounded;
    const std::vector<StageBounds> bounds = static_priority_bounds(set);
    if (bounds.size() < set.tasks.size()) return std::nullopt;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (!bounds[i].settled || bounds[i].done > set.tasks[i].deadline) return std::nullopt;
      slack = std::min(slack, set.tasks[i].deadline - bounds[i].done);
    }
    return slack;
  };
}

struct Counts {
  int admitted = 0, refused = 0;
};

void expect_same(const Result<MemoryChoice>& found, const std::optional<Best>& right, const MemoryProblem& problem) {
  ASSERT_EQ(found.has_value(), right.has_value());
  if (!found) {
    EXPECT_EQ(found.error().code, Errc::not_proved);
    return;
  }
  EXPECT_EQ(found->options, right->chosen);
  EXPECT_EQ(found->slack, right->slack);
  EXPECT_TRUE(found->exact);
  const Memory memory =
      problem.unified ? Memory((found->device + found->host).count, 0) : Memory(found->device.count, found->host.count);
  EXPECT_EQ(memory, right->memory);
}

void compare(MemoryProblem problem, const Admission& admission, Problems& problems, Counts& counts) {
  const auto least = best_by_trying(problem, admission, false);
  expect_same(min_memory(problem, admission), least, problem);
  problem.capacity = Bytes{static_cast<std::uint64_t>(
      problems.draw(0, least ? static_cast<std::int64_t>(least->memory.first) * 3 / 2 : 1000))};
  expect_same(min_memory(problem, admission), best_by_trying(problem, admission, false), problem);
  expect_same(max_slack(problem, admission), best_by_trying(problem, admission, true), problem);
  ++(least ? counts.admitted : counts.refused);
}

/// Returns the slack at the shortest times of all options.
Nanos min_weighted(const MemoryProblem& problem) {
  Nanos least = 0;
  for (std::size_t i = 0; i < problem.options.size(); ++i) {
    Nanos shortest = unbounded;
    for (const MemoryOption& each : problem.options[i]) shortest = std::min(shortest, time_of(each.wcet));
    least += static_cast<Nanos>(i + 1) * shortest;
  }
  return least;
}

TEST(MemoryAssignment, MatchesExhaustiveSearchByWeightedTimes) {
  Problems problems(1);
  Counts counts;
  for (int round = 0; round < 600; ++round) {
    SCOPED_TRACE(round);
    const std::int64_t tasks = round % 20 == 0 ? 8 : problems.draw(1, 6);
    const bool equal = round % 2 == 0;
    const MemoryProblem problem = equal ? problems.equal(tasks) : problems.likely(tasks);
    const Nanos least = min_weighted(problem);
    compare(problem, {.slack = weighted(problems.draw(least * 9 / 10, least * 2))}, problems, counts);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(counts.admitted, 150);
  EXPECT_GT(counts.refused, 20);
}

TEST(MemoryAssignment, MatchesExhaustiveSearchByResponseTimes) {
  Problems problems(2);
  Counts counts;
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const std::int64_t tasks = round % 40 == 0 ? 8 : problems.draw(1, 5);
    const bool equal = round % 4 == 1;
    const MemoryProblem problem = equal ? problems.equal(tasks) : problems.likely(tasks);
    std::vector<Nanos> periods;
    for (std::int64_t i = 0; i < tasks; ++i)
      periods.push_back((equal ? problems.draw(1, 6) : problems.draw(200, 1200)) * (tasks + 1));
    std::ranges::sort(periods);
    compare(problem, {.slack = response_times(periods)}, problems, counts);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(counts.admitted, 50);
  EXPECT_GT(counts.refused, 10);
}

/// Slack may grow with longer times if an earlier way gives less.
TEST(MemoryAssignment, MatchesExhaustiveSearchOverSeveralAdmissionWays) {
  Problems problems(4);
  Counts counts;
  for (int round = 0; round < 600; ++round) {
    SCOPED_TRACE(round);
    const std::int64_t tasks = round % 20 == 0 ? 8 : problems.draw(1, 6);
    const MemoryProblem problem = round % 2 == 0 ? problems.equal(tasks) : problems.likely(tasks);
    std::vector<SlackOf> ways;
    for (std::int64_t k = problems.draw(1, 4); k > 0; --k) {
      const Nanos least = min_weighted(problem);
      ways.push_back(weighted(problems.draw(least * 7 / 10, least * 3 / 2),
                              static_cast<std::size_t>(problems.draw(0, round % 4 < 2 ? 0 : tasks - 1))));
    }
    compare(problem, first_of(ways), problems, counts);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(counts.admitted, 150);
  EXPECT_GT(counts.refused, 20);
}

TEST(MemoryAssignment, IgnoresDominatedOptionsWithoutChangingLeastMemory) {
  Problems problems(3);
  for (int round = 0; round < 300; ++round) {
    const MemoryProblem problem = problems.equal(problems.draw(1, 5));
    const SlackOf slack = weighted(problems.draw(1, 60));
    const auto found = min_memory(problem, {.slack = slack});
    std::optional<Memory> least;
    std::vector<std::size_t> digits(problem.options.size(), 0);
    for (std::size_t k = 1; k > 0;) {
      std::vector<MemoryOption> all;
      for (std::size_t i = 0; i < digits.size(); ++i) all.push_back(problem.options[i][digits[i]]);
      if (slack(times_of(all)))
        least = std::min(least.value_or(memory_of(all, problem.unified)), memory_of(all, problem.unified));
      k = digits.size();
      while (k > 0 && ++digits[k - 1] == problem.options[k - 1].size()) digits[--k] = 0;
    }
    ASSERT_EQ(found.has_value(), least.has_value());
    if (found) { ASSERT_EQ(problem.unified ? (found->device + found->host).count : found->device.count, least->first); }
  }
}

MemoryOption option(std::uint64_t device, Duration time) { return {D, Bytes{device}, {}, {}, Wcet{.device = time}}; }

TEST(MemoryAssignment, BreaksTiesByTaskOrderAmongLargestSavings) {
  // One task may be slow. The second saves as much as the third, and chooses first.
  const MemoryProblem problem{.options = {{option(5, 1ns), option(4, 2ns)},
                                          {option(5, 1ns), option(2, 2ns)},
                                          {option(5, 1ns), option(2, 2ns)}}};
  const auto found = min_memory(problem, {.slack = [](std::span<const Wcet> all) {
                                  Duration sum{0};
                                  for (const Wcet& each : all) sum += each.device;
                                  return sum <= 4ns ? std::optional<Nanos>(0) : std::nullopt;
                                }});
  ASSERT_TRUE(found);
  EXPECT_THAT(found->options, ElementsAre(0, 1, 0));
  EXPECT_EQ(found->device, Bytes{12});
}

std::optional<Nanos> always(std::span<const Wcet>) { return 1; }

TEST(MemoryAssignment, CountsSharedMemoryOnce) {
  const MemoryOption shares{D, Bytes{1}, Bytes{10}, {}, Wcet{.device = 1ns}};
  const MemoryOption owns{D, Bytes{6}, {}, {}, Wcet{.device = 1ns}};
  const Admission all{.slack = always};
  const MemoryProblem two{.options = {{shares, owns}, {shares, owns}}}, one{.options = {{shares, owns}}};
  EXPECT_EQ(min_memory(one, all)->device, Bytes{6});
  EXPECT_EQ(min_memory(two, all)->device, Bytes{12});
  const MemoryProblem three{.options = {{shares, owns}, {shares, owns}, {shares, owns}}};
  EXPECT_EQ(min_memory(three, all)->device, Bytes{13});
}

TEST(MemoryAssignment, ReportsProblemsWithoutAdmissibleChoice) {
  MemoryProblem problem{.options = {{option(5, 1ns), option(4, 2ns)}}};
  const auto never = min_memory(problem, {.slack = [](auto) { return std::optional<Nanos>(); }});
  EXPECT_EQ(never.error().code, Errc::not_proved);
  EXPECT_THAT(never.error().what, HasSubstr("no combination of memory policies fits into memory and is proved"));
  problem.capacity = Bytes{3};
  for (const auto& small : {max_slack(problem, {.slack = always}), min_memory(problem, {.slack = always})})
    EXPECT_EQ(small.error().code, Errc::not_proved);
  const MemoryProblem none{.options = {{option(5, 1ns)}, {}}};
  EXPECT_EQ(min_memory(none, {.slack = always}).error().code, Errc::bad_input);
  EXPECT_EQ(max_slack(none, {.slack = always}).error().code, Errc::bad_input);
  EXPECT_TRUE(min_memory({}, {.slack = always})->options.empty());
}

TEST(MemoryAssignment, MarksChoiceInexactWhenSearchGivesUp) {
  MemoryProblem problem;
  for (std::uint64_t i = 0; i < 40; ++i) problem.options.push_back({option(100 + i, 1ns), option(50 + i, 2ns)});
  const auto left = [](Nanos limit) {
    return [limit](std::span<const Wcet> all) -> std::optional<Nanos> {
      Nanos time = 0;
      for (const Wcet& each : all) time += each.device.count();
      return time <= limit ? std::optional(limit - time) : std::nullopt;
    };
  };
  const auto found = max_slack(problem, {.slack = left(60)});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->exact) << "all are fast";
  // Now many combinations need almost the same memory, so the search gives up.
  for (std::size_t i = 0; i < 40; ++i) problem.options[i][1].device = Bytes{50 + i * i % 7};
  const auto half = min_memory(problem, {.slack = left(60)});
  ASSERT_TRUE(half);
  EXPECT_FALSE(half->exact);
  EXPECT_EQ(half->questions, max_questions);
  EXPECT_EQ(std::ranges::count(half->options, std::size_t{1}), 20) << "admitted, and good all the same";
}

} // namespace
} // namespace rtexec::policies
