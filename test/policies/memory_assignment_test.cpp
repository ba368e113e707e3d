// Guidelines by hand, and the exact choice against trying every combination.
#include "policies/end_to_end.hpp"
#include "policies/memory_assignment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

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

TEST(Guideline1, IsEquation9) {
  // O_M = 100 + 30 + 20, I - Ca_cpu - Ca_gpu = 50
  const MemoryOverhead managed{.mapping = 100ns, .host_flush = 30ns, .device_flush = 20ns};
  EXPECT_EQ(guideline_policy(guided(100ns, managed)), M);
  EXPECT_EQ(guideline_policy(guided(99ns, managed)), D);
}

TEST(Guideline1, IsEquation10) {
  // O_H = 100 + 40, I - Tc = 60
  const MemoryOverhead host{.mapping = 100ns, .uncached = 40ns};
  EXPECT_EQ(guideline_policy(guided(80ns, {}, host)), H);
  EXPECT_EQ(guideline_policy(guided(79ns, {}, host)), D);
}

TEST(Guideline1, TakesTheSmallerOfBoth) {
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

TEST(Guideline2, IsEquation11) {
  const GuidelineTask two[] = {convertible(5, 1), guided(0ns, {})};
  EXPECT_THAT(guideline_policies(two), ElementsAre(D, D)) << "5 kernels to 1";
  const GuidelineTask even[] = {convertible(1, 1), guided(0ns, {})};
  EXPECT_THAT(guideline_policies(even), ElementsAre(M, D)) << "1 to 1";
  EXPECT_THAT(guideline_policies({}), ElementsAre());
}

TEST(Guideline2, ConvertsInTheOrderOfWhatItSaves) {
  const GuidelineTask by_memory[] = {convertible(1, 1), convertible(1, 3), convertible(1, 2), convertible(1, 3, 9ns)};
  EXPECT_THAT(guideline_policies(by_memory), ElementsAre(D, M, D, M));
  const GuidelineTask by_loss[] = {convertible(1, 1, 10ns), convertible(1, 1, 9ns), convertible(1, 1, 9ns)};
  EXPECT_THAT(guideline_policies(by_loss), ElementsAre(D, M, D));
  const GuidelineTask too_large[] = {convertible(9, 9), convertible(1, 1), convertible(1, 1)};
  EXPECT_THAT(guideline_policies(too_large), ElementsAre(D, M, M)) << "the next ones are tried";
}

// ---- the exact choice: what it is held against ----

/// All that a test may look at, in a row.
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

/// The places of the options that count, by what they take.
std::vector<std::size_t> that_count(const std::vector<MemoryOption>& options, bool unified) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < options.size(); ++i) {
    bool counts = true;
    for (std::size_t j = 0; j < options.size(); ++j) {
      const auto mine = numbers(options[i]), other = numbers(options[j]);
      const bool no_more = std::ranges::equal(other, mine, std::less_equal{});
      if (j != i && no_more && (other != mine || j < i)) counts = false;
    }
    if (counts) places.push_back(i);
  }
  std::ranges::stable_sort(places, {}, [&](std::size_t i) { return memory_of(std::span(&options[i], 1), unified); });
  return places;
}

/// Every combination once; the task that chooses first changes last.
void for_each_combination(const MemoryProblem& problem, const auto& visit) {
  std::vector<std::vector<std::size_t>> places;
  std::vector<std::size_t> order(problem.options.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<Memory> range;
  for (const auto& options : problem.options) {
    places.push_back(that_count(options, problem.unified));
    const Memory low = memory_of(std::span(&options[places.back().front()], 1), problem.unified);
    const Memory high = memory_of(std::span(&options[places.back().back()], 1), problem.unified);
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

std::optional<Best> least_by_trying(const MemoryProblem& problem, const Admitted& admitted) {
  std::optional<Best> best;
  for_each_combination(problem, [&](const auto& chosen, std::span<const MemoryOption> combination) {
    const Memory memory = memory_of(combination, problem.unified);
    if (admitted(combination) && (!best || memory < best->memory)) best = Best{chosen, memory};
  });
  return best;
}

std::optional<Best> most_by_trying(const MemoryProblem& problem, Bytes capacity, const SlackOf& slack_of) {
  std::optional<Best> best;
  for_each_combination(problem, [&](const auto& chosen, std::span<const MemoryOption> combination) {
    const Memory memory = memory_of(combination, problem.unified);
    const auto slack = slack_of(combination);
    if (!slack || memory.first > capacity.count) return;
    if (!best || *slack > best->slack || (*slack == best->slack && memory < best->memory))
      best = Best{chosen, memory, *slack};
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

  /// D, M and H as they are: M and H hold what is exchanged once, and execute longer, mostly.
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

  /// Hardly any numbers, so that nearly everything is equal to something.
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

Nanos time_of(const MemoryOption& option) {
  return (option.wcet.before + option.wcet.device + option.wcet.after).count();
}

/// What is left of `limit`, weights of tasks being 1, 2, 3, ...; memory counts a little, as where it is swapped.
SlackOf weighted(Nanos limit) {
  return [limit](std::span<const MemoryOption> combination) {
    Nanos left = limit;
    for (std::size_t i = 0; i < combination.size(); ++i)
      left -= static_cast<Nanos>(i + 1) * time_of(combination[i]) + static_cast<Nanos>(combination[i].device.count / 2);
    return left >= 0 ? std::optional(left) : std::nullopt;
  };
}

/// The least distance of a response to its deadline, on a device and two cores by static priority.
SlackOf response_times(const std::vector<Nanos>& periods) {
  StagedSet set{.tasks = {}};
  for (std::size_t i = 0; i < periods.size(); ++i)
    set.tasks.push_back({.period = periods[i], .deadline = periods[i], .core = static_cast<unsigned>(i % 2)});
  return [set](std::span<const MemoryOption> combination) mutable -> std::optional<Nanos> {
    for (std::size_t i = 0; i < combination.size(); ++i) {
      const Wcet& wcet = combination[i].wcet;
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

void compare(const MemoryProblem& problem, const SlackOf& slack, Problems& problems, Counts& counts) {
  const Admitted admitted = [&](std::span<const MemoryOption> combination) { return slack(combination).has_value(); };
  const auto least = least_by_trying(problem, admitted);
  expect_same(least_memory(problem, admitted), least, problem);
  const Bytes capacity{static_cast<std::uint64_t>(
      problems.draw(0, least ? static_cast<std::int64_t>(least->memory.first) * 3 / 2 : 1000))};
  expect_same(most_slack(problem, capacity, slack), most_by_trying(problem, capacity, slack), problem);
  ++(least ? counts.admitted : counts.refused);
}

TEST(MemoryAssignment, IsTheBestOfAllCombinations) {
  Problems problems(1);
  Counts counts;
  for (int round = 0; round < 600; ++round) {
    SCOPED_TRACE(round);
    const std::int64_t tasks = round % 20 == 0 ? 8 : problems.draw(1, 6);
    const bool equal = round % 2 == 0;
    const MemoryProblem problem = equal ? problems.equal(tasks) : problems.likely(tasks);
    Nanos least = 0;
    for (std::size_t i = 0; i < problem.options.size(); ++i)
      least += static_cast<Nanos>(i + 1) * time_of(*std::ranges::min_element(problem.options[i], {}, time_of));
    compare(problem, weighted(problems.draw(least * 9 / 10, least * 2)), problems, counts);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(counts.admitted, 150);
  EXPECT_GT(counts.refused, 20);
}

TEST(MemoryAssignment, IsTheBestOfAllByResponseTimes) {
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
    compare(problem, response_times(periods), problems, counts);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(counts.admitted, 50);
  EXPECT_GT(counts.refused, 10);
}

TEST(MemoryAssignment, OptionsThatNoOneNeedsChangeNoAmount) {
  Problems problems(3);
  for (int round = 0; round < 300; ++round) {
    const MemoryProblem problem = problems.equal(problems.draw(1, 5));
    const SlackOf slack = weighted(problems.draw(1, 60));
    const auto found = least_memory(problem, [&](auto combination) { return slack(combination).has_value(); });
    std::optional<Memory> least;
    std::vector<std::size_t> digits(problem.options.size(), 0);
    for (std::size_t k = 1; k > 0;) {
      std::vector<MemoryOption> all;
      for (std::size_t i = 0; i < digits.size(); ++i) all.push_back(problem.options[i][digits[i]]);
      if (slack(all))
        least = std::min(least.value_or(memory_of(all, problem.unified)), memory_of(all, problem.unified));
      k = digits.size();
      while (k > 0 && ++digits[k - 1] == problem.options[k - 1].size()) digits[--k] = 0;
    }
    ASSERT_EQ(found.has_value(), least.has_value());
    if (found) { ASSERT_EQ(problem.unified ? (found->device + found->host).count : found->device.count, least->first); }
  }
}

MemoryOption option(std::uint64_t device, Duration time) { return {D, Bytes{device}, {}, {}, Wcet{.device = time}}; }

TEST(MemoryAssignment, TiesGoToTheTaskWithMoreToGain) {
  // One may be slow: the second saves as much as the third, and chooses before it
  const MemoryProblem problem{.options = {{option(5, 1ns), option(4, 2ns)},
                                          {option(5, 1ns), option(2, 2ns)},
                                          {option(5, 1ns), option(2, 2ns)}}};
  const auto found = least_memory(problem, [](std::span<const MemoryOption> all) {
    Duration sum{0};
    for (const MemoryOption& each : all) sum += each.wcet.device;
    return sum <= 4ns;
  });
  ASSERT_TRUE(found);
  EXPECT_THAT(found->options, ElementsAre(0, 1, 0));
  EXPECT_EQ(found->device, Bytes{12});
}

TEST(MemoryAssignment, SharedMemoryCountsOnce) {
  const MemoryOption shares{D, Bytes{1}, Bytes{10}, {}, Wcet{.device = 1ns}};
  const MemoryOption owns{D, Bytes{6}, {}, {}, Wcet{.device = 1ns}};
  const auto all = [](std::span<const MemoryOption>) { return true; };
  const MemoryProblem two{.options = {{shares, owns}, {shares, owns}}}, one{.options = {{shares, owns}}};
  EXPECT_EQ(least_memory(one, all)->device, Bytes{6});
  EXPECT_EQ(least_memory(two, all)->device, Bytes{12});
  const MemoryProblem three{.options = {{shares, owns}, {shares, owns}, {shares, owns}}};
  EXPECT_EQ(least_memory(three, all)->device, Bytes{13});
}

TEST(MemoryAssignment, TellsWhatIsImpossible) {
  const MemoryProblem problem{.options = {{option(5, 1ns), option(4, 2ns)}}};
  const auto never = least_memory(problem, [](std::span<const MemoryOption>) { return false; });
  EXPECT_EQ(never.error().code, Errc::not_proved);
  EXPECT_THAT(never.error().what, HasSubstr("no choice of memory policies is admitted"));
  const auto small = most_slack(problem, Bytes{3}, [](auto) { return std::optional<Nanos>(1); });
  EXPECT_EQ(small.error().code, Errc::not_proved);
  EXPECT_THAT(small.error().what, HasSubstr("fits into 3B"));
  const MemoryProblem none{.options = {{option(5, 1ns)}, {}}};
  EXPECT_EQ(least_memory(none, [](auto) { return true; }).error().code, Errc::bad_input);
  EXPECT_EQ(most_slack(none, Bytes{9}, [](auto) { return std::optional<Nanos>(1); }).error().code, Errc::bad_input);
  EXPECT_TRUE(least_memory({}, [](auto) { return true; })->options.empty());
}

TEST(MemoryAssignment, TellsWhereItGaveUp) {
  MemoryProblem problem;
  for (std::uint64_t i = 0; i < 40; ++i) problem.options.push_back({option(100 + i, 1ns), option(50 + i, 2ns)});
  const auto found = most_slack(problem, Bytes{100'000}, [](std::span<const MemoryOption> all) {
    std::optional<Nanos> left = 60;
    for (const MemoryOption& each : all) left = *left - each.wcet.device.count();
    return *left < 0 ? std::nullopt : left;
  });
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->exact) << "all are fast";
  const auto half = least_memory(problem, [](std::span<const MemoryOption> all) {
    Nanos time = 0;
    std::uint64_t odd = 0;
    for (const MemoryOption& each : all) {
      time += each.wcet.device.count();
      odd += each.device.count % 2;
    }
    return time <= 60 && odd < 1000;
  });
  ASSERT_TRUE(half);
  EXPECT_FALSE(half->exact);
  EXPECT_EQ(half->questions, most_questions);
  EXPECT_EQ(std::ranges::count(half->options, std::size_t{1}), 20) << "admitted, and good all the same";
}

} // namespace
} // namespace rtexec::policies
