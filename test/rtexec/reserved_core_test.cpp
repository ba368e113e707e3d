// What SCHED_DEADLINE gives of a core, in virtual time: the kernel's fair server beside a reservation.
#include "rtexec/simulator/core_supply.hpp"

#include <gtest/gtest.h>

namespace rtexec::simulator {
namespace {

using namespace std::chrono_literals;

constexpr Neighbour fair_server{
    .core = 0, .reservation = {.runtime = 50ms, .window = 1s}, .since = {}, .deferred = true};

struct FairServer : testing::Test {
  std::vector<PlannedTask> tasks{1};
  std::vector<Neighbour> neighbours{fair_server};
  std::vector<std::uint32_t> ready{0};

  FairServer() { tasks[0].before_reservation = {.runtime = 10s, .window = 10s}; }
};

TEST_F(FairServer, TakesWhatStarvedThreadsLackedAsLateAsItCan) {
  ReservedCore core(tasks, neighbours, 0);
  core.wake_up(0, false, Instant{});
  EXPECT_EQ(core.choose(ready, Instant{}), 0u);
  EXPECT_EQ(core.changes_at(Instant{}), Instant(950ms));
  core.pass(950ms);
  EXPECT_EQ(core.choose(ready, Instant(950ms)), std::nullopt) << "before what is due later";
  EXPECT_EQ(core.changes_at(Instant(950ms)), Instant(1s));
  core.pass(50ms);
  EXPECT_EQ(core.choose(ready, Instant(1s)), 0u);
  EXPECT_EQ(core.changes_at(Instant(1s)), Instant(1950ms));
}

TEST_F(FairServer, TakesNothingWhereTheyHadTheirTime) {
  ReservedCore core(tasks, neighbours, 0);
  EXPECT_EQ(core.choose({}, Instant{}), std::nullopt);
  core.pass(120ms); // two runtimes and a part of one
  core.wake_up(0, false, Instant(120ms));
  EXPECT_EQ(core.choose(ready, Instant(120ms)), 0u);
  EXPECT_EQ(core.changes_at(Instant(120ms)), Instant(1100ms - 30ms)) << "since the last of them, and less that part";
}

} // namespace
} // namespace rtexec::simulator
