// Tests how far sets are from the edge: by hand, by scanning the whole grid, and by planning again with the reported
// values.
#include "policies/admission/sensitivity.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::board_of;
using test::set_of;
using test::task_of;
using testing::HasSubstr;

constexpr Bytes chunk{4096};

/// A set with all inputs of a plan.
struct Scene {
  TaskSet tasks;
  Board board = board_of();
  std::vector<MemoryDemand> memory;

  [[nodiscard]] Result<Plan> plan() const { return make_plan(test::resolved(tasks, board), memory); }
  [[nodiscard]] bool proved() const {
    const auto made = plan();
    return made && made->proved;
  }
  [[nodiscard]] Sensitivity room() const { return sensitivity(test::resolved(tasks, board), plan().value()); }
};

Scene scene_of(std::vector<Task> tasks, Order order = Order::edf) {
  Scene scene{.tasks = set_of(std::move(tasks), order), .memory = {}};
  scene.memory.resize(scene.tasks.tasks.size());
  return scene;
}

/// Returns three tasks of four chunks each, in `capacity` chunks.
Scene swapping(std::uint64_t capacity, Duration period = 20ms) {
  Scene scene = scene_of({task_of("a", period, {.device = 1ms}), task_of("b", 2 * period, {.device = 2ms}),
                          task_of("c", 3 * period, {.device = 2ms})});
  scene.memory.assign(3, {.state = chunk * 4});
  scene.tasks.device.capacity = chunk * capacity;
  scene.board.swap_costs = {{.store = StoreKind::pinned,
                             .chunk = chunk,
                             .in_per_chunk = 300us,
                             .out_per_chunk = 200us,
                             .drop_per_chunk = 10us,
                             .in_fixed = 5us}};
  return scene;
}

// ---- a second implementation of the changes ----

Duration scaled(Duration time, double factor) {
  return Duration(std::llround(std::ceil(static_cast<double>(time.count()) * factor - 1e-6)));
}
Duration cut(Duration time, double factor) {
  return Duration(std::llround(std::floor(static_cast<double>(time.count()) * factor + 1e-6)));
}

using Change = std::function<void(Scene&, double)>;

Change device_of(std::size_t i) {
  return
      [i](Scene& scene, double f) { scene.tasks.tasks[i].wcet->device = scaled(scene.tasks.tasks[i].wcet->device, f); };
}
void all_wcets(Scene& scene, double f) {
  for (Task& task : scene.tasks.tasks)
    task.wcet = Wcet{scaled(task.wcet->before, f), scaled(task.wcet->device, f), scaled(task.wcet->after, f)};
}
Change period_of(std::size_t i) {
  return [i](Scene& scene, double f) {
    Task& task = scene.tasks.tasks[i];
    const Duration period = cut(task.period, f);
    task.deadline = task.deadline == task.period ? period : std::min(task.deadline, period);
    task.period = period;
  };
}
void all_periods(Scene& scene, double f) {
  for (std::size_t i = 0; i < scene.tasks.tasks.size(); ++i) period_of(i)(scene, f);
}
void copies(Scene& scene, double f) {
  SwapCost& cost = scene.board.swap_costs[0];
  for (Duration* each :
       {&cost.in_per_chunk, &cost.out_per_chunk, &cost.drop_per_chunk, &cost.in_fixed, &cost.out_fixed})
    *each = scaled(*each, 1 / f);
}

bool proved_with(Scene scene, const Change& change, double factor) {
  change(scene, factor);
  return scene.proved();
}

/// Checks that the two values of the edge are proved and not proved, and adjacent on the grid.
void expect_edge(const Scene& scene, const Edge<Factor>& edge, const Change& change, const std::string& what) {
  SCOPED_TRACE(what);
  if (edge.proved) { EXPECT_TRUE(proved_with(scene, change, edge.proved->value())); }
  if (edge.not_proved) {
    EXPECT_FALSE(proved_with(scene, change, edge.not_proved->value()));
    EXPECT_NE(edge.reason, "");
  }
  if (edge.proved && edge.not_proved) {
    EXPECT_NEAR(
        std::max(edge.proved->value() / edge.not_proved->value(), edge.not_proved->value() / edge.proved->value()),
        1.001, 0.001);
  }
}

void expect_edges(const Scene& scene) {
  const Sensitivity room = scene.room();
  if (room.wcet_to_prove) return expect_edge(scene, *room.wcet_to_prove, all_wcets, "to prove");
  ASSERT_EQ(room.tasks.size(), scene.tasks.tasks.size());
  for (std::size_t i = 0; i < room.tasks.size(); ++i) {
    expect_edge(scene, room.tasks[i].wcet, device_of(i), "wcet of task " + std::to_string(i));
    expect_edge(scene, room.tasks[i].period, period_of(i), "period of task " + std::to_string(i));
  }
  expect_edge(scene, room.wcet.value(), all_wcets, "all wcets");
  expect_edge(scene, room.period.value(), all_periods, "all periods");
  if (room.bandwidth) expect_edge(scene, *room.bandwidth, copies, "bandwidth");
}

// ---- values computed by hand ----

TEST(Sensitivity, EqualsDeadlineSlackForOneTask) {
  const Sensitivity room = scene_of({task_of("a", 10ms, {1ms, 2ms, 1ms})}).room();
  ASSERT_EQ(room.tasks.size(), 1u);
  EXPECT_EQ(room.tasks[0].name, "a");
  EXPECT_NEAR(room.tasks[0].wcet.proved->value(), 4.0, 0.004);
  EXPECT_LE(room.tasks[0].wcet.proved->value(), 4.0);
  EXPECT_GT(room.tasks[0].wcet.not_proved->value(), 4.0);
  EXPECT_EQ(room.tasks[0].wcet.reason, "task 'a'");
  EXPECT_NEAR(room.wcet->proved->value(), 2.5, 0.0025);
  EXPECT_NEAR(room.tasks[0].period.proved->value(), 0.4, 0.0004);
  EXPECT_GE(room.tasks[0].period.proved->value(), 0.4);
  EXPECT_LT(room.tasks[0].period.not_proved->value(), 0.4);
  EXPECT_FALSE(room.bandwidth);
  EXPECT_FALSE(room.wcet_to_prove);
}

TEST(Sensitivity, KeepsDeadlineUntilPeriodShrinksToIt) {
  Scene scene = scene_of({task_of("a", 10ms, {1ms, 2ms, 1ms})});
  scene.tasks.tasks[0].deadline = 5ms;
  const Sensitivity room = scene.room();
  EXPECT_NEAR(room.tasks[0].period.proved->value(), 0.4, 0.0004);
  scene.tasks.tasks[0].deadline = 4ms;
  EXPECT_EQ(scene.room().tasks[0].wcet.proved, Factor{});
  EXPECT_NEAR(scene.room().tasks[0].period.proved->value(), 0.4, 0.0004);
}

TEST(Sensitivity, IsOneForTightTaskSet) {
  const Sensitivity room = scene_of({task_of("a", 4ms, {1ms, 2ms, 1ms})}).room();
  for (const Edge<Factor>& edge : {room.tasks[0].wcet, room.tasks[0].period, *room.wcet, *room.period})
    EXPECT_EQ(edge.proved, Factor{});
  EXPECT_NEAR(room.wcet->not_proved->value(), 1.001, 1e-9);
  EXPECT_NEAR(room.period->not_proved->value(), 0.999, 1e-9);
}

TEST(Sensitivity, StopsAtFactorOneHundred) {
  const Sensitivity room = scene_of({task_of("a", 1s, {0ms, 1us, 0ms})}).room();
  EXPECT_NEAR(room.wcet->proved->value(), 100, 1e-9);
  EXPECT_NEAR(room.period->proved->value(), 0.01, 1e-9);
  EXPECT_FALSE(room.wcet->not_proved || room.period->not_proved);
  EXPECT_EQ(room.wcet->reason, "");
}

TEST(Sensitivity, ReportsNecessaryReductionOfWcets) {
  const Sensitivity room = scene_of({task_of("a", 5ms, {1ms, 8ms, 1ms})}).room();
  EXPECT_TRUE(room.tasks.empty());
  EXPECT_FALSE(room.wcet || room.period || room.bandwidth);
  EXPECT_NEAR(room.wcet_to_prove.value().proved->value(), 0.5, 0.0005);
  EXPECT_GT(room.wcet_to_prove->not_proved->value(), 0.5);
  EXPECT_FALSE(room.capacity.proved) << "memory is not what it lacks";
}

TEST(Sensitivity, ReportsNoFactorWhenNoReductionHelps) {
  Board board = board_of();
  board.context_switch = 1ms;
  Scene scene = scene_of({task_of("a", 3ms, {1ms, 1ms, 1ms})});
  scene.board = board;
  const Sensitivity room = scene.room();
  EXPECT_FALSE(room.wcet_to_prove.value().proved);
  EXPECT_EQ(room.wcet_to_prove->reason, "task 'a'");
}

// ---- memory and copies ----

TEST(Sensitivity, FindsSmallestProvedCapacity) {
  for (const std::uint64_t capacity : {1024u, 12u, 9u}) {
    const Scene scene = swapping(capacity);
    ASSERT_TRUE(scene.proved());
    const Sensitivity room = scene.room();
    std::uint64_t smallest = capacity;
    while (swapping(smallest - 1).proved()) --smallest;
    EXPECT_EQ(room.capacity.proved, chunk * smallest);
    EXPECT_EQ(room.capacity.not_proved, chunk * (smallest - 1));
    EXPECT_EQ(room.bandwidth.has_value(), capacity < 12);
  }
}

TEST(Sensitivity, ReportsCapacityThatWouldProveTaskSet) {
  const Scene scene = swapping(6, 6ms);
  ASSERT_TRUE(scene.plan());
  ASSERT_FALSE(scene.proved());
  std::uint64_t enough = 6;
  while (!swapping(enough, 6ms).proved()) ++enough;
  ASSERT_LE(enough, 12u);
  EXPECT_EQ(scene.room().capacity.proved, chunk * enough);
  EXPECT_EQ(scene.room().capacity.not_proved, chunk * (enough - 1));
  Scene small = scene;
  small.board.capacity = chunk * 6;
  EXPECT_EQ(small.room().capacity.proved, chunk * enough) << "also on a board that has less";
}

TEST(Sensitivity, IgnoresInitiallyResidentMemory) {
  Scene scene = swapping(6, 6ms);
  const Sensitivity room = scene.room();
  for (Task& task : scene.tasks.tasks) task.resident = scene.plan()->tasks[2].swap_volume > chunk ? chunk : Bytes{0};
  ASSERT_TRUE(scene.plan());
  EXPECT_EQ(scene.room().capacity.proved, room.capacity.proved);
  EXPECT_EQ(scene.room().wcet_to_prove->proved, room.wcet_to_prove->proved);
}

TEST(Sensitivity, ReportsDemandAsCapacityWithoutSwapping) {
  Scene scene = swapping(20);
  scene.tasks.swap.policy = SwapPolicy::none;
  const Sensitivity room = scene.room();
  EXPECT_EQ(room.capacity.proved, chunk * 12);
  EXPECT_THAT(room.capacity.reason, HasSubstr("capacity is 44KiB"));
}

TEST(Sensitivity, ReducesCapacityToOneChunkAtMost) {
  const Sensitivity room = scene_of({task_of("a", 10ms, {1ms, 2ms, 1ms})}).room();
  EXPECT_EQ(room.capacity.proved, chunk);
  EXPECT_FALSE(room.capacity.not_proved);
}

TEST(Sensitivity, TreatsSwapCostsOfTaskSetLikeThoseOfBoard) {
  const Scene scene = swapping(9);
  Scene own = scene;
  const SwapCost& cost = scene.board.swap_costs[0];
  own.tasks.device.swap_cost = {.in_per_chunk = cost.in_per_chunk,
                                .out_per_chunk = cost.out_per_chunk,
                                .in_fixed = cost.in_fixed,
                                .out_fixed = cost.out_fixed,
                                .drop_per_chunk = cost.drop_per_chunk};
  own.board.swap_costs.clear();
  ASSERT_LT(scene.room().bandwidth->proved->value(), 0.95);
  EXPECT_EQ(own.room().bandwidth->proved, scene.room().bandwidth->proved);
}

// ---- by scanning ----

/// Returns the last step of the grid on the way up (+1) or down (-1) before the first one that is not proved.
double scan(const Scene& scene, const Change& change, int direction) {
  double last = 1;
  for (int step = 1; step < 4608; ++step) {
    const double next = std::round(1e5 * std::pow(1.001, direction * step)) / 1e5;
    if (!proved_with(scene, change, next)) return last;
    last = next;
  }
  return last;
}

class SensitivityOfRandomSets : public testing::Test {
 protected:
  std::int64_t draw(std::int64_t from, std::int64_t to) { return std::uniform_int_distribution(from, to)(random); }

  Scene draw_scene() {
    std::vector<Task> tasks;
    const auto n = draw(2, 4);
    for (std::int64_t i = 0; i < n; ++i) {
      const Duration period = draw(10, 100) * 1ms;
      tasks.push_back(task_of(std::string(1, static_cast<char>('a' + i)), period,
                              {draw(0, 3) * 100us, period * draw(5, 35) / (100 * n / 2), draw(0, 3) * 100us},
                              static_cast<unsigned>(draw(0, 1))));
      if (draw(0, 2) == 0) tasks.back().deadline = period * draw(70, 100) / 100;
    }
    return scene_of(std::move(tasks), draw(0, 1) == 0 ? Order::edf : Order::static_priority);
  }

  std::mt19937 random{7};
};

TEST_F(SensitivityOfRandomSets, MatchesGridScan) {
  int compared = 0;
  while (compared < 8) {
    const Scene scene = draw_scene();
    if (!scene.proved()) continue;
    ++compared;
    const Sensitivity room = scene.room();
    EXPECT_DOUBLE_EQ(room.wcet->proved->value(), scan(scene, all_wcets, 1));
    EXPECT_DOUBLE_EQ(room.period->proved->value(), scan(scene, all_periods, -1));
    EXPECT_DOUBLE_EQ(room.tasks[0].wcet.proved->value(), scan(scene, device_of(0), 1));
  }
}

TEST_F(SensitivityOfRandomSets, SeparatesProvedFromUnprovedFactors) {
  int unproved = 0;
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Scene scene = draw_scene();
    unproved += scene.proved() ? 0 : 1;
    expect_edges(scene);
  }
  EXPECT_GT(unproved, 5);
  EXPECT_LT(unproved, 95);
}

TEST_F(SensitivityOfRandomSets, SeparatesProvedFromUnprovedFactorsWhenSwapping) {
  for (const std::uint64_t capacity : {6u, 7u, 8u, 9u, 10u})
    for (const Duration period : {6ms, 9ms, 14ms, 30ms}) {
      SCOPED_TRACE(std::to_string(capacity) + " chunks, " + to_string(period));
      Scene scene = swapping(capacity, period);
      for (const SwapPolicy policy : {SwapPolicy::pipelined, SwapPolicy::serial}) {
        scene.tasks.swap.policy = policy;
        expect_edges(scene);
      }
    }
}

TEST(Sensitivity, ReportsProgress) {
  std::vector<std::size_t> told;
  const Scene scene = swapping(9);
  static_cast<void>(sensitivity(test::resolved(scene.tasks, scene.board), scene.plan().value(),
                                [&](std::size_t done, std::size_t all) {
                                  EXPECT_EQ(all, 10u);
                                  told.push_back(done);
                                }));
  EXPECT_THAT(told, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
}

} // namespace
} // namespace rtexec::policies
