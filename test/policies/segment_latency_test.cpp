// Tests bounds of jobs in segments on a machine with latencies. Each end is noticed late, and each action begins late,
// by at most the board's limits. The decisions are those of the scheduler core.
#include "policies/scheduler/device_scheduler.hpp"
#include "test/policies/plan_sets.hpp"
#include "test/support/rounds.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <queue>
#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::task_of;

Nanos draw(std::mt19937_64& random, Nanos from, Nanos to) {
  return std::uniform_int_distribution<Nanos>(from, to)(random);
}

/// A device that executes its submitted segments in order. Its ends and beginnings are late.
class SlowMachine {
 public:
  SlowMachine(const Plan& plan, Nanos dispatch, Nanos cut, std::mt19937_64& random)
      : plan_(plan), core_(plan), dispatch_(dispatch), cut_(cut), random_(random) {}

  /// Simulates `jobs` jobs of each task. Returns by how much a response exceeds its bound at most.
  Nanos worst_excess(std::uint64_t jobs) {
    for (std::uint32_t task = 0; task < plan_.tasks.size(); ++task) {
      Nanos release = draw(random_, 0, 3) == 0 ? draw(random_, 0, plan_.tasks[task].period.count()) : 0;
      for (std::uint64_t job = 0; job < jobs; ++job) {
        queue_.push({release, 1, Event::Kind::job_requested, {task, job}, 0});
        release += plan_.tasks[task].period.count();
        if (draw(random_, 0, 9) == 0) release += draw(random_, 0, plan_.tasks[task].period.count());
      }
    }
    for (releases_.resize(plan_.tasks.size()); !queue_.empty();) {
      const Happening next = queue_.top();
      queue_.pop();
      now_ = next.at;
      if (next.order == 2) begin_next();
      else decide(next);
    }
    return worst_;
  }

 private:
  struct Happening {
    Nanos at = 0;
    int order = 0; // order of simultaneous events: ends, requests, beginnings
    Event::Kind kind{};
    JobId job{};
    std::uint32_t segment = 0;
    bool operator<(const Happening& other) const {
      return std::tuple(other.at, other.order, other.job, other.segment) < std::tuple(at, order, job, segment);
    }
  };
  struct Given {
    JobId job;
    std::uint32_t segment = 0;
    Nanos from = 0;
  };

  Nanos late() { return draw(random_, 0, 4) > 0 ? dispatch_ : draw(random_, 0, dispatch_); }

  void decide(const Happening& of) {
    const PlannedTask& task = plan_.tasks[of.job.task];
    if (of.kind == Event::Kind::job_requested) releases_[of.job.task] = of.at;
    const Instant now{Duration(of.at)};
    for (const Action& action : core_.on({.kind = of.kind,
                                .job = of.job,
                                .now = now,
                                .deadline = now + task.device_done_by,
                                .segment = of.segment})) {
      // refused: the device still executes the previous job
      if (action.kind != Action::Kind::start_execution) worst_ = unbounded;
      else
        for (std::uint32_t behind = 0; behind <= action.committed; ++behind) {
          given_.push_back({action.job, action.segment + behind, now_ + late()});
          queue_.push({std::max(given_.back().from, free_), 2, {}, {}, 0});
        }
    }
  }

  void begin_next() {
    if (given_.empty() || given_.front().from > now_ || free_ > now_) return;
    const Given next = given_.front();
    given_.pop_front();
    const PlannedTask& task = plan_.tasks[next.job.task];
    const Nanos longest = (task.segments == 1 ? task.wcet.device : task.segment_wcets[next.segment]).count();
    const Nanos end = now_ + (draw(random_, 0, 4) > 0 ? longest : draw(random_, 1, longest));
    const bool last = next.segment + 1 == task.segments;
    free_ = end + (last ? 0 : cut_);
    if (!given_.empty()) queue_.push({std::max(free_, given_.front().from), 2, {}, {}, 0});
    const auto kind = last ? Event::Kind::execution_done : Event::Kind::segment_done;
    told_ = std::max(told_, end + late()); // one at a time
    queue_.push({told_, 0, kind, next.job, next.segment});
    if (last) worst_ = std::max(worst_, end + dispatch_ - releases_[next.job.task] - task.response_bound->count());
  }

  const Plan& plan_;
  DeviceScheduler core_;
  Nanos dispatch_, cut_;
  std::mt19937_64& random_;
  std::priority_queue<Happening> queue_;
  std::deque<Given> given_;
  std::vector<Nanos> releases_; // by task: the release of its last job
  Nanos now_ = 0, free_ = 0, told_ = 0, worst_ = std::numeric_limits<Nanos>::min();
};

struct Case {
  Plan plan;
  Nanos dispatch = 0, cut = 0;
};

/// Draws a set in segments. Returns nullopt if it is not proved. `charged`: the charged percentage of the dispatch
/// time.
std::optional<Case> any_case(std::mt19937_64& random, std::uint32_t launch_ahead, Nanos charged = 100) {
  Case result{.plan = {}, .dispatch = draw(random, 10'000, 1'500'000)};
  result.cut = draw(random, 0, std::min<Nanos>(result.dispatch, 200'000));
  TaskSet tasks;
  std::vector<LayeredTask> layered;
  const auto add = [&](const char* name, Duration period, Duration wcet, std::uint32_t layers) {
    tasks.tasks.push_back(task_of(name, period, {0ns, wcet, 0ns}, static_cast<unsigned>(tasks.tasks.size())));
    LayeredTask& task = layered.emplace_back();
    task.layers.times.assign(layers, wcet.count() / layers);
    task.layers.overheads.assign(layers - 1, 0);
  };
  add("front", Duration(draw(random, 15'000'000, 40'000'000)), Duration(draw(random, 500'000, 4'000'000)), 1);
  add("middle", Duration(draw(random, 100'000'000, 400'000'000)), Duration(draw(random, 2, 40) * 1'000'000), 12);
  add("slow", Duration(draw(random, 300'000'000, 900'000'000)), Duration(draw(random, 50, 200) * 1'200'000), 40);
  if (draw(random, 0, 1) == 0) layered[1].device_class = 1, layered[2].device_class = 2;
  if (draw(random, 0, 1) == 0) layered[2].given = cut_into(layered[2].layers, 40, launch_ahead).segmentations.front();
  tasks.executive.order = draw(random, 0, 1) == 0 ? Order::edf : Order::static_priority;
  tasks.device.launch_ahead = launch_ahead;
  Board board = test::board_of();
  board.compute_core = 9;
  board.service_core = 8;
  board.dispatch = Duration(result.dispatch * charged / 100);
  board.cut = Duration(result.cut * charged / 100);
  auto plan = make_plan(test::resolved(tasks, board), std::vector<MemoryDemand>(3), layered);
  if (!plan || !plan->proved || !plan->preempts()) return std::nullopt;
  result.plan = std::move(*plan);
  return result;
}

class SegmentLatency : public testing::TestWithParam<std::uint32_t> {};

TEST_P(SegmentLatency, StaysWithinBoundsOnSimulatedDevice) {
  std::mt19937_64 random(GetParam());
  int sets = 0;
  for (int round = 0; sets < rtexec::test::rounds(500) && round < 10000; ++round) {
    const auto drawn = any_case(random, GetParam());
    if (!drawn) continue;
    ++sets;
    for (int run = 0; run < 3; ++run)
      ASSERT_LE(SlowMachine(drawn->plan, drawn->dispatch, drawn->cut, random).worst_excess(60), 0) << "round " << round;
  }
  EXPECT_GE(sets, 50);
}

TEST_P(SegmentLatency, ExceedsBoundsThatChargeTooLittle) {
  std::mt19937_64 random(100 + GetParam());
  int exceeded = 0;
  for (int round = 0; round < 3000 && exceeded == 0; ++round)
    if (const auto drawn = any_case(random, GetParam(), 30))
      exceeded += SlowMachine(drawn->plan, drawn->dispatch, drawn->cut, random).worst_excess(60) > 0;
  EXPECT_GT(exceeded, 0);
}

INSTANTIATE_TEST_SUITE_P(Ahead, SegmentLatency, testing::Values(0U, 1U, 2U));

} // namespace
} // namespace rtexec::policies
