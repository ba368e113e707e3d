// Tests tasks that are released together: what the scheduler core starts, and the rounds in virtual time, against a
// second implementation of the rule of pairs.
#include "rtexec/studies/experiments/joint_release.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace rtexec::study {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Start = JointRelease::Start;

constexpr MemoryPolicy D = MemoryPolicy::device, M = MemoryPolicy::managed, H = MemoryPolicy::host;

MemoryCase task(MemoryPolicy policy, Duration wcet, std::optional<Duration> idle = {}) {
  return {.policy = policy, .co_run = CoRun{.wcet = wcet, .idle = idle}};
}

TEST(JointRelease, StartsTasksSequentiallyWithoutCoRun) {
  const MemorySet set{{.policy = D}, {.policy = M}, {.policy = H}};
  JointRelease release(set);
  EXPECT_THAT(release.release(), ElementsAre(Start{.task = 0}));
  EXPECT_THAT(release.ended(0), ElementsAre(Start{.task = 1}));
  EXPECT_FALSE(release.done());
  EXPECT_THAT(release.ended(1), ElementsAre(Start{.task = 2}));
  EXPECT_THAT(release.ended(2), IsEmpty());
  EXPECT_TRUE(release.done());
}

/// The first decision already knows all waiting jobs.
TEST(JointRelease, StartsFittingPairConcurrently) {
  const MemorySet set{task(H, 9ms, 5ms), task(D, 6ms), task(D, 5ms)};
  JointRelease release(set);
  EXPECT_THAT(release.release(), ElementsAre(Start{.task = 0, .co_running = false, .paired = true},
                                             Start{.task = 2, .co_running = true, .paired = true}));
  EXPECT_THAT(release.ended(2), IsEmpty());
  EXPECT_THAT(release.ended(0), ElementsAre(Start{.task = 1}));
  EXPECT_THAT(release.ended(1), IsEmpty());
  EXPECT_TRUE(release.done());
}

TEST(JointRelease, IsDoneAtOnceWithoutTasks) {
  JointRelease release({});
  EXPECT_THAT(release.release(), IsEmpty());
  EXPECT_TRUE(release.done());
}

TEST(JointRelease, PairSavesItsOverlap) {
  const MemorySet set{task(M, 9ms, 5ms), task(D, 4ms), {.policy = D}};
  const Duration times[] = {9ms, 6ms, 1ms};
  const auto round = played(set, times, [](std::size_t first, std::size_t second) {
    EXPECT_EQ(std::pair(first, second), std::pair(std::size_t{0}, std::size_t{1}));
    return Duration(4ms);
  });
  EXPECT_THAT(round.ends, ElementsAre(9ms, 11ms, 12ms));
  EXPECT_EQ(round.length(), 12ms);
  EXPECT_EQ(round.pairs, 1u);
}

/// In any queue, the partner of a head is the first job behind it with which it may execute concurrently.
TEST(JointRelease, MatchesReferencePairingRule) {
  std::mt19937_64 random(3);
  for (int number = 0; number < 3000; ++number) {
    MemorySet set;
    std::vector<Duration> times;
    for (std::size_t left = 1 + random() % 7; left > 0; --left) {
      times.emplace_back(1 + random() % 10);
      const MemoryPolicy policy = std::array{D, M, H}[random() % 3];
      set.push_back({.policy = policy});
      if (random() % 4 == 0) continue;
      set.back().co_run = CoRun{.wcet = times.back(), .idle = {}};
      if (policy != D) set.back().co_run->idle = Duration(random() % 10);
    }
    std::vector<std::size_t> queue(set.size());
    std::ranges::generate(queue, [i = std::size_t{0}]() mutable { return i++; });
    std::vector<Duration> ends(set.size());
    std::size_t pairs = 0;
    for (Duration now{0}; !queue.empty();) {
      const std::size_t head = queue.front();
      queue.erase(queue.begin());
      const auto goes_with_head = [&](const std::size_t& other) {
        const auto &a = set[head].co_run, &b = set[other].co_run;
        if (!a || !b || (set[head].policy == D) == (set[other].policy == D)) return false;
        const auto &executes = set[head].policy == D ? a : b, &waits = set[head].policy == D ? b : a;
        return executes->wcet <= *waits->idle && (&other == &queue.front() || b->wcet <= a->wcet);
      };
      const auto partner = std::ranges::find_if(queue, goes_with_head);
      ends[head] = now + times[head];
      now = ends[head];
      if (partner == queue.end()) continue;
      now = ends[*partner] = ends[head] + times[*partner] - std::min(times[*partner], times[head]);
      queue.erase(partner);
      ++pairs;
    }
    const auto round = played(
        set, times, [&](std::size_t first, std::size_t second) { return std::min(times[first], times[second]); });
    EXPECT_EQ(round.ends, ends);
    EXPECT_EQ(round.times, times);
    EXPECT_EQ(round.pairs, pairs);
  }
}

} // namespace
} // namespace rtexec::study
