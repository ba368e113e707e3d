// Tests the choice of volumes against trying all of them, and theorem1's choice against an independent search. Tests
// the demand test without swaps against schedcat's.
#include "policies/device/device_tests.hpp"
#include "policies/device/volume_search.hpp"
#include "test/policies/reference_serial.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <string>

namespace rtexec::policies {
namespace {

using Random = std::mt19937_64;

int draw(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

struct Traits {
  bool fixed_costs = false;
  bool short_deadlines = false;
  bool constants = false;
  bool best_effort = false;
};

DeviceSet random_set(Random& random, DeviceTest test, const Traits& traits) {
  DeviceSet set{.tasks = {}, .overflow = 0, .cost = {}};
  set.cost.in_per_chunk = Duration(draw(random, 0, 6));
  set.cost.out_per_chunk = Duration(draw(random, 0, 6));
  set.cost.drop_per_chunk = Duration(draw(random, 0, static_cast<int>(set.cost.out_per_chunk.count())));
  if (traits.fixed_costs) {
    set.cost.in_fixed = Duration(draw(random, 0, 8));
    set.cost.out_fixed = Duration(draw(random, 0, 8));
  }
  const int n = draw(random, 2, 4);
  std::uint32_t all = 0, largest = 0;
  for (int i = 0; i < n; ++i) {
    const auto most = static_cast<std::uint32_t>(draw(random, 0, 5));
    const int period = draw(random, 30, 200);
    set.tasks.push_back(
        {.period = period,
         .deadline = traits.short_deadlines ? draw(random, period / 2, period) : period,
         .execution = draw(random, 1, 20),
         .most = most,
         .constants = traits.constants ? static_cast<std::uint32_t>(draw(random, 0, static_cast<int>(most))) : 0});
    all += most;
    largest = std::max(largest, most);
  }
  if (traits.best_effort && draw(random, 0, 1) == 0) set.tasks.back().real_time = false;
  if (test == DeviceTest::rta)
    std::ranges::sort(set.tasks.begin(), set.tasks.end() - !set.tasks.back().real_time, {}, &DeviceTask::deadline);
  if (all > largest) set.overflow = static_cast<std::uint32_t>(draw(random, 1, static_cast<int>(all - largest)));
  return set;
}

Order order_of(DeviceTest test) { return test == DeviceTest::rta ? Order::static_priority : Order::edf; }

/// Calls `tell` for all volumes that fit.
void each_fitting(const DeviceSet& set, const std::function<void(const Volumes&)>& tell) {
  Volumes volumes(set.tasks.size(), 0);
  for (;;) {
    if (fits(set, volumes)) tell(volumes);
    std::size_t i = 0;
    while (i < volumes.size() && volumes[i] == set.tasks[i].most) volumes[i++] = 0;
    if (i == volumes.size()) return;
    ++volumes[i];
  }
}

std::string described(const DeviceSet& set) {
  std::string text =
      "V " + std::to_string(set.overflow) + ", in " + std::to_string(set.cost.in_fixed.count()) + " + " +
      std::to_string(set.cost.in_per_chunk.count()) + ", out " + std::to_string(set.cost.out_fixed.count()) + " + " +
      std::to_string(set.cost.out_per_chunk.count()) + ", drop " + std::to_string(set.cost.drop_per_chunk.count());
  for (const DeviceTask& task : set.tasks)
    text += "\nT " + std::to_string(task.period) + " D " + std::to_string(task.deadline) + " C " +
            std::to_string(task.execution) + " most " + std::to_string(task.most) + " constants " +
            std::to_string(task.constants) + (task.real_time ? "" : " best-effort");
  return text;
}

std::string text_of(const Volumes& volumes) {
  std::string text;
  for (const std::uint32_t each : volumes) text += " " + std::to_string(each);
  return text;
}

struct Case {
  const char* name;
  DeviceTest test;
  Traits traits;
};

class VolumesOfSerialTests : public testing::TestWithParam<Case> {};

/// "The first one is proved, if any is"; for theorem1 the sum is the least. To fill the longest periods first is best
/// if swapping costs by the chunk. A task that begins to swap may at once block for longer, pay fixed costs, or turn
/// drops into copies: then a few volumes are missed.
TEST_P(VolumesOfSerialTests, AreFoundForNearlyAllProvableSets) {
  const auto& [name, test, traits] = GetParam();
  Random random(31);
  int provable = 0, unprovable = 0, missed = 0;
  std::string first;
  for (int i = 0; i < 4000; ++i) {
    const DeviceSet set = random_set(random, test, traits);
    std::optional<Volumes> best;
    std::uint32_t least = 0;
    each_fitting(set, [&](const Volumes& volumes) {
      const auto sum = std::accumulate(volumes.begin(), volumes.end(), 0U);
      if ((best && sum >= least) || !test_device(set, test, order_of(test), volumes).proved) return;
      best = volumes;
      least = sum;
    });
    const std::vector<Volumes> found = volumes_for(set, test, order_of(test));
    const bool proved = !found.empty() && test_device(set, test, order_of(test), found.front()).proved;
    ASSERT_TRUE(best || !proved);
    (best ? provable : unprovable)++;
    const bool as_good =
        !best || (proved && (test != DeviceTest::theorem1 ||
                             std::accumulate(found.front().begin(), found.front().end(), 0U) == least));
    if (as_good) continue;
    if (missed++ == 0)
      first = described(set) + "\nproved with" + text_of(*best) + ", found" +
              (found.empty() ? " none" : text_of(found.front()));
  }
  EXPECT_GT(std::min(provable, unprovable), 200);
  const bool by_the_chunk = !traits.fixed_costs && !traits.constants && !traits.short_deadlines;
  const int permille = test == DeviceTest::theorem1 ? 0 : by_the_chunk ? 1 : 10;
  EXPECT_LE(missed * 1000, provable * permille) << missed << " of " << provable << "\n" << first;
}

INSTANTIATE_TEST_SUITE_P(Serial, VolumesOfSerialTests,
                         testing::Values(Case{"theorem1", DeviceTest::theorem1, {}},
                                         Case{"theorem1_fixed", DeviceTest::theorem1, {.fixed_costs = true}},
                                         Case{"baker", DeviceTest::baker, {}},
                                         Case{"baker_fixed", DeviceTest::baker, {.fixed_costs = true}},
                                         Case{"baker_short", DeviceTest::baker, {.short_deadlines = true}},
                                         Case{"baker_constants", DeviceTest::baker, {.constants = true}},
                                         Case{"baker_best_effort", DeviceTest::baker, {.best_effort = true}},
                                         Case{"demand", DeviceTest::demand, {}},
                                         Case{"demand_fixed", DeviceTest::demand, {.fixed_costs = true}},
                                         Case{"demand_short", DeviceTest::demand, {.short_deadlines = true}},
                                         Case{"demand_constants", DeviceTest::demand, {.constants = true}},
                                         Case{"demand_best_effort", DeviceTest::demand, {.best_effort = true}},
                                         Case{"rta", DeviceTest::rta, {}},
                                         Case{"rta_fixed", DeviceTest::rta, {.fixed_costs = true}},
                                         Case{"rta_short", DeviceTest::rta, {.short_deadlines = true}},
                                         Case{"rta_constants", DeviceTest::rta, {.constants = true}},
                                         Case{"rta_best_effort", DeviceTest::rta, {.best_effort = true}}),
                         [](const auto& each) { return std::string(each.param.name); });

/// Counts sets that any volumes prove. With (M) alone many of these are missed.
TEST(VolumesOfPipelined, TightVolumesProveSetsWithoutRoomForLoads) {
  Random random(37);
  int provable = 0, roomy = 0, found = 0, beyond = 0;
  for (int i = 0; i < 4000; ++i) {
    const DeviceSet set = random_set(random, i % 2 == 0 ? DeviceTest::pipelined : DeviceTest::rta,
                                     {.fixed_costs = i % 3 == 0, .short_deadlines = i % 5 == 0, .best_effort = true});
    const Order order = i % 2 == 0 ? Order::edf : Order::static_priority;
    const auto proves = [&](const Volumes& volumes) {
      return test_device(set, DeviceTest::pipelined, order, volumes).proved;
    };
    bool any = false, with_room = false;
    each_fitting(set, [&](const Volumes& volumes) {
      if (with_room || !proves(volumes)) return;
      any = true;
      with_room = !without_load_room(set, volumes);
    });
    std::vector<Volumes> tight = tight_volumes(set, order);
    for (const Volumes& volumes : tight) ASSERT_TRUE(fits(set, volumes)) << described(set);
    const bool by_room = std::ranges::any_of(volumes_for(set, DeviceTest::pipelined, order), proves);
    const bool chosen = test_device(set, DeviceTest::pipelined, order).proved;
    ASSERT_EQ(chosen, by_room || std::ranges::any_of(tight, proves)) << described(set);
    ASSERT_TRUE(any || !chosen) << described(set);
    provable += any;
    roomy += with_room;
    found += chosen;
    beyond += chosen && !with_room;
  }
  EXPECT_GT(beyond, 20);
  EXPECT_LE((provable - found) * 100, provable * 3) << found << " of " << provable << ", " << roomy << " with room";
}

/// Writes sets, and the sums of the volumes chosen for them, into the file RTEXEC_THEOREM1_FILE for
/// test/system/theorem1.sh.
TEST(VolumesOfTheorem1, AreWrittenForTheSolver) {
  const char* file = std::getenv("RTEXEC_THEOREM1_FILE");
  if (file == nullptr) GTEST_SKIP() << "test/system/theorem1.sh asks for it";
  const char* asked = std::getenv("RTEXEC_THEOREM1_SETS");
  std::ofstream out(file);
  Random random(34);
  for (int i = asked == nullptr ? 500 : std::atoi(asked); i > 0; --i) {
    const int n = draw(random, 2, 12);
    DeviceSet set{
        .tasks = {},
        .overflow = 0,
        .cost = {.in_per_chunk = Duration(draw(random, 0, 6000)), .out_per_chunk = Duration(draw(random, 0, 6000))}};
    // In percent of the periods at which all jobs with all chunks would fill the device.
    const int slack = draw(random, 80, 400);
    const std::uint32_t chunks = draw(random, 0, 1) == 0 ? 80 : 10;
    std::uint32_t all = 0, largest = 0;
    Nanos work = 0;
    for (int k = 0; k < n; ++k) {
      set.tasks.push_back({.execution = draw(random, 1000, 60'000),
                           .most = static_cast<std::uint32_t>(
                               draw(random, 0, 3) == 0 ? 0 : draw(random, 1, static_cast<int>(chunks)))});
      const DeviceTask& task = set.tasks.back();
      work += task.execution + (set.cost.in_per_chunk + set.cost.out_per_chunk).count() * task.most;
      all += task.most;
      largest = std::max(largest, task.most);
    }
    for (DeviceTask& task : set.tasks)
      task.period = task.deadline = std::max<Nanos>(1, work * slack / 100 * draw(random, 30, 100) / 100);
    // Rarely too many.
    set.overflow = static_cast<std::uint32_t>(draw(random, 1, static_cast<int>(std::max(1U, all - largest + 1))));
    const std::vector<Volumes> found = volumes_for(set, DeviceTest::theorem1, Order::edf);
    const bool proved = !found.empty() && test_device(set, DeviceTest::theorem1, Order::edf, found.front()).proved;
    out << set.overflow << ' ' << set.cost.in_fixed.count() << ' ' << set.cost.in_per_chunk.count() << ' '
        << set.cost.out_fixed.count() << ' ' << set.cost.out_per_chunk.count() << ' ' << n;
    for (const DeviceTask& task : set.tasks) out << ' ' << task.period << ' ' << task.execution << ' ' << task.most;
    out << ' '
        << (proved ? static_cast<std::int64_t>(std::accumulate(found.front().begin(), found.front().end(), 0U)) : -1)
        << '\n';
  }
}

/// The serial tests agree with a second implementation of their formulas, by either rule.
TEST(SerialTests, AgreeWithReferenceImplementation) {
  Random random(32);
  int agreed[2] = {0, 0};
  for (int i = 0; i < 20'000; ++i) {
    const auto test = std::array{DeviceTest::baker, DeviceTest::demand,
                                 DeviceTest::rta}[static_cast<std::size_t>(draw(random, 0, 2))];
    DeviceSet set = random_set(random, test,
                               {.fixed_costs = draw(random, 0, 1) == 0,
                                .short_deadlines = draw(random, 0, 1) == 0,
                                .constants = draw(random, 0, 1) == 0,
                                .best_effort = true});
    set.rule = draw(random, 0, 1) == 0 ? SwapRule::serial : SwapRule::rt_swap;
    Volumes volumes;
    for (const DeviceTask& task : set.tasks)
      volumes.push_back(static_cast<std::uint32_t>(draw(random, 0, static_cast<int>(task.most))));
    const DeviceVerdict verdict = test_device(set, test, order_of(test), volumes);
    if (test == DeviceTest::rta) {
      const auto bounds = test::reference_serial_static(set, volumes);
      ASSERT_EQ(verdict.proved, bounds.has_value()) << described(set) << text_of(volumes);
      agreed[0] += !bounds;
      if (!bounds) continue;
      ASSERT_EQ(verdict.responses, *bounds) << described(set) << text_of(volumes);
    } else {
      const bool holds = test::reference_serial_edf(set, volumes, test == DeviceTest::demand);
      // Rounding errors.
      if (test == DeviceTest::baker && verdict.left > 1'000'000'000 - 10 && verdict.left < 1'000'000'000 + 10) continue;
      ASSERT_EQ(verdict.proved, holds) << to_string(test) << " " << described(set) << text_of(volumes);
    }
    ++agreed[verdict.proved];
  }
  EXPECT_GT(std::min(agreed[0], agreed[1]), 3000);
}

// ---- the demand test without swaps, as in schedcat ----

/// QPA (Zhang, Burns 2009) with the arrival blocking of non-preemptive jobs (Baruah 2006), after schedcat's qpa.cpp and
/// qpa_msrp.cpp with one processor and no resources but the processor: in integers and fractions.
class Schedcat {
 public:
  explicit Schedcat(const std::vector<DeviceTask>& tasks) : tasks_(tasks) {
    for (const DeviceTask& task : tasks) {
      all_ *= task.period;
      longest_ = std::max(longest_, task.deadline);
      shortest_ = std::min(shortest_, task.deadline);
    }
    for (const DeviceTask& task : tasks) busy_ += all_ / task.period * task.execution;
  }

  /// True if the second implementation accepts a fully utilised device, for which demand has no horizon.
  [[nodiscard]] bool full() const { return busy_ >= all_; }

  [[nodiscard]] bool schedulable() const {
    if (busy_ > all_) return false;
    Nanos next =
        largest_before(std::max(busy_ < all_ ? std::min(busy_interval(), zhang_burns()) : busy_interval(), longest_));
    Nanos interval = 0, demand = 0;
    do {
      interval = next;
      demand = demand_of(interval);
      next = demand < interval ? demand : largest_before(interval);
    } while (demand <= interval && demand > shortest_);
    return demand <= shortest_;
  }

 private:
  Nanos demand_of(Nanos interval) const {
    Nanos sum = 0, blocking = 0;
    for (const DeviceTask& task : tasks_) {
      if (interval >= task.deadline) sum += ((interval - task.deadline) / task.period + 1) * task.execution;
      else blocking = std::max(blocking, task.execution);
    }
    return interval <= longest_ ? sum + blocking : sum;
  }

  Nanos busy_interval() const {
    Nanos length = 0, next = 0;
    for (const DeviceTask& task : tasks_) next += task.execution;
    while (next != length) {
      length = next;
      next = 0;
      for (const DeviceTask& task : tasks_) next += (length + task.period - 1) / task.period * task.execution;
    }
    return length;
  }

  /// Returns the maximum of D - T over all i and of sum of (T - D) U / (1 - U), rounded up.
  Nanos zhang_burns() const {
    Wide sum = 0;
    for (const DeviceTask& task : tasks_) sum += (task.period - task.deadline) * (all_ / task.period) * task.execution;
    return std::max(Nanos{0}, static_cast<Nanos>((sum + all_ - busy_ - 1) / (all_ - busy_)));
  }

  Nanos largest_before(Nanos bound) const {
    Nanos last = 0;
    for (const DeviceTask& task : tasks_)
      if (task.deadline < bound)
        last = std::max(last, task.deadline + (bound - 1 - task.deadline) / task.period * task.period);
    return last;
  }

  const std::vector<DeviceTask>& tasks_;
  Wide all_ = 1, busy_ = 0; // utilisation: busy_ / all_
  Nanos longest_ = 0, shortest_ = unbounded;
};

TEST(DemandWithoutSwaps, AgreesWithSchedcat) {
  Random random(33);
  int proved = 0, refused = 0, full = 0;
  for (int i = 0; i < 20'000; ++i) {
    DeviceSet set{.tasks = {}, .cost = {}};
    const int n = draw(random, 1, 6);
    const bool short_deadlines = draw(random, 0, 1) == 0;
    const int use = draw(random, 50, 105); // percent
    for (int k = 0; k < n; ++k) {
      const int period = draw(random, 5, 300);
      const int cost = std::max(1, draw(random, 1, 200) * period * use / (100 * 100 * n));
      set.tasks.push_back(
          {.period = period,
           .deadline = short_deadlines ? draw(random, std::min(period, std::max(cost, period / 3)), period) : period,
           .execution = cost});
    }
    const Schedcat schedcat(set.tasks);
    const DeviceVerdict verdict = test_device(set, DeviceTest::demand, Order::edf, Volumes(set.tasks.size(), 0));
    if (schedcat.full()) {
      ASSERT_FALSE(verdict.proved);
      ++full;
      continue;
    }
    ASSERT_EQ(verdict.proved, schedcat.schedulable()) << described(set);
    (verdict.proved ? proved : refused)++;
  }
  EXPECT_GT(std::min(proved, refused), 2000);
  EXPECT_GT(full, 100);
}

} // namespace
} // namespace rtexec::policies
