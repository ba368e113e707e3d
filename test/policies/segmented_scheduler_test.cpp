// Tests classes, segments and launch-ahead of the device scheduler.
#include "policies/scheduler/device_scheduler.hpp"
#include "test/policies/scheduler_events.hpp"
#include "test/policies/segmented_oracle.hpp"
#include "test/policies/swap_history.hpp"
#include "test/support/rounds.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace rtexec::policies {
namespace {

using namespace policies::test;
using Kind = Event::Kind;
using JobState = SegmentedOracle::JobState;

// ---- random histories ----

/// Makes a task stream if it has `ring` swap slots: its segments' chunks pass through as many frames.
void let_stream(PlannedTask& task, std::uint32_t ring, Random& random) {
  const auto up_to = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % (most + 1)); };
  Stream stream{.ring = ring, .reads = {}};
  SlotRange read{0, up_to(ring)};
  for (std::uint32_t segment = 0; segment < task.segments; ++segment) {
    stream.reads.push_back(read);
    const std::uint32_t begin = read.begin + up_to(read.size());
    read = {begin, read.end + up_to(begin + ring - read.end)};
  }
  if (stream.reads.back().end < ring) return;
  task.swap_slots.resize(stream.reads.back().end);
  task.stream = stream;
}

Plan random_segmented_plan(Random& random) {
  const std::uint64_t count = 1 + random() % 10, levels = 1 + random() % 3, max_segments = 1 + random() % 5;
  const std::uint64_t most = random() % 2 == 0 ? 8 : 3;
  const bool streams = random() % 2 == 0;
  const bool edf = random() % 2 == 0, top_class = random() % 4 > 0, crowded = random() % 2 == 0;
  std::vector<SwappingTask> tasks;
  std::vector<std::uint32_t> classes;
  std::uint64_t largest = 0, sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    classes.push_back(top_class && random() % 3 == 0 ? 0 : static_cast<std::uint32_t>(1 + random() % levels));
    const std::uint64_t swapped = crowded ? most - random() % 2 : random() % (most + 1);
    const std::uint64_t volume = classes.back() == 0 || random() % 4 == 0 ? 0 : swapped;
    largest = std::max(largest, volume);
    sum += volume;
    tasks.push_back({static_cast<std::uint32_t>(volume), edf ? i % 5 == 4 : static_cast<unsigned>(count) - i});
  }
  const std::uint64_t frames = std::min(sum, largest + (crowded ? random() % 3 : random() % (sum + 1)));
  Plan plan = plan_of(SwapPolicy::pipelined, static_cast<std::uint32_t>(frames), tasks, 1 + random() % 2);
  plan.launch_ahead = static_cast<std::uint32_t>(random() % 4 / 2 * (1 + random() % 2));
  for (std::size_t i = 0; i < count; ++i) {
    plan.tasks[i].device_class = classes[i];
    plan.tasks[i].segments = static_cast<std::uint32_t>(1 + random() % max_segments);
    plan.tasks[i].period = Duration(1 + random() % 300);
    plan.tasks[i].device_done_by = Duration(1 + random() % 100);
    if (streams && random() % 2 == 0 && tasks[i].volume > 0) let_stream(plan.tasks[i], tasks[i].volume, random);
  }
  return plan;
}

/// Runs a scheduler and the oracle through one history.
class History {
 public:
  History(std::uint64_t seed, Fault fault)
      : random_(seed),
        plan_(random_segmented_plan(random_)),
        room_(random_() % 4 == 0 ? plan_.swap->frames : 0),
        scheduler_(plan_, room_),
        twin_(scheduler_),
        oracle_(plan_, fault),
        asks_(1 + random_() % 6),
        withdraws_(random_() % 3 == 0 ? 2 : 0),
        moves_(1 + random_() % 8),
        fails_(random_() % 2 == 0 ? 0 : 1 + random_() % 20) {}

  /// Feeds random events until something is wrong.
  void live(int events) {
    while (wrong.empty() && events-- > 0) {
      now_ += random_() % 4;
      if (room_ > 0 && random_() % 16 == 0) exchange();
      else tell(random_() % 16 == 0 ? senseless() : sensible());
    }
  }

  /// Feeds only ends, without failures, until every job has left.
  void end() {
    fails_ = asks_ = withdraws_ = 0;
    std::size_t most = 8 * (plan_.tasks.size() + 1) * (plan_.swap->frames + 8);
    while (wrong.empty() && !oracle_.idle()) {
      if (most-- == 0) wrong = "it never ends";
      else if (oracle_.flights().empty() && oracle_.on_device() == nullptr)
        wrong = "dead: nothing happens, and jobs wait";
      else tell(sensible());
    }
    if (wrong.empty() && !scheduler_.idle()) wrong = "not idle at the end";
  }

  [[nodiscard]] const SegmentedOracle::Counts& counts() const { return oracle_.counts(); }

  std::string wrong; // empty if nothing is wrong
  std::uint64_t refused = 0;

 private:
  static constexpr std::uint64_t device = 4; // weight of the device's reports

  Event sensible() {
    for (;;) {
      std::uint64_t choice = random_() % (asks_ + withdraws_ + device + moves_);
      const auto task = static_cast<std::uint32_t>(random_() % plan_.tasks.size());
      const auto& job = oracle_.jobs()[task];
      const bool fails = random_() % 100 < fails_;
      if (choice < asks_) {
        if (!job) return request(task, ++number_, static_cast<std::int64_t>(now_ + random_() % 100));
      } else if ((choice -= asks_) < withdraws_) {
        if (job && !job->withdrawn) return withdrawal(task, job->id.number);
      } else if ((choice -= withdraws_) < device) {
        if (const auto* on = oracle_.on_device()) return end_of(*on, fails);
      } else if (!oracle_.flights().empty()) {
        const auto& flight = oracle_.flights()[random_() % oracle_.flights().size()];
        return flight.in ? copied_in(flight.transfer, fails) : copied_out(flight.transfer, fails);
      }
    }
  }

  /// Returns the end of a segment. A failure comes in the middle of the job.
  Event end_of(const SegmentedOracle::Job& job, bool fails) const {
    if (fails || job.done + 1 == plan_.tasks[job.id.task].segments) return completion(job.id.task, job.id.number);
    return segment_done(job.id.task, job.id.number, job.done);
  }

  /// Returns an event that is similar to possible ones, but usually impossible.
  Event senseless() {
    const auto little = [&](std::uint64_t most) { return static_cast<std::uint32_t>(random_() % (most + 1)); };
    const auto* on = oracle_.on_device();
    Event event{static_cast<Kind>(little(6)),
                {little(plan_.tasks.size()), number_ - little(3)},
                at(0),
                at(little(1000)),
                {little(plan_.tasks.size()), little(4), little(4)},
                little(1) == 0,
                little(5)};
    if (on && random_() % 2 == 0) event.job = on->id;
    if (!oracle_.flights().empty() && random_() % 2 == 0) event.transfer = oracle_.flights().front().transfer;
    return event;
  }

  void tell(const Event& event) {
    const std::uint64_t before = rtexec::test::allocations();
    const auto actions = scheduler_.on(event);
    if (rtexec::test::allocations() != before) wrong = "allocated";
    if (!oracle_.possible(event)) {
      ++refused;
      if (!std::ranges::equal(actions, List{{Action::Kind::refuse, event.job, event.transfer}})) wrong = "not refused";
      return;
    }
    compare(actions, oracle_.on(event));
    if (!std::ranges::equal(actions, twin_.on(event))) wrong = "the twin does otherwise";
  }

  void exchange() {
    const auto task = static_cast<std::uint32_t>(random_() % (plan_.tasks.size() + (random_() % 16 == 0)));
    const DeviceScheduler::TaskParameters with{
        .rank = static_cast<std::uint32_t>(random_() % 3),
        .device_done_by = Duration(1 + random_() % 100),
        .period = Duration(1 + random_() % 300),
        .slots = static_cast<std::uint32_t>(random_() % (plan_.swap->frames + 2)),
        .stays = random_() % 2 == 0};
    const auto actions = scheduler_.exchange(task, with);
    if (!oracle_.exchangeable(task, with, room_)) {
      ++refused;
      if (!std::ranges::equal(actions, List{refuse(task, 0)})) wrong = "not refused";
      return;
    }
    compare(actions, oracle_.exchange(task, with));
    if (!std::ranges::equal(actions, twin_.exchange(task, with))) wrong = "the twin does otherwise";
  }

  void compare(std::span<const Action> actions, const List& foretold) {
    List found(actions.begin(), actions.end());
    for (Action& action : found) action.transfer.slot = action.transfer.frame = 0;
    if (found != foretold) wrong = testing::PrintToString(found) + " instead of " + testing::PrintToString(foretold);
    else if (actions.size() > DeviceScheduler::actions_per_event) wrong = "too many actions";
    else if (const char* what = oracle_.carry_out(actions)) wrong = what;
    else if (const char* claim = oracle_.wrong(scheduler_.state())) wrong = claim;
  }

  Random random_;
  Plan plan_;
  std::uint32_t room_;
  DeviceScheduler scheduler_, twin_;
  SegmentedOracle oracle_;
  std::uint64_t asks_, withdraws_, moves_, fails_;
  std::uint64_t now_ = 0, number_ = 3;
};

TEST(SegmentedScheduler, FollowsOracleOnRandomEvents) {
  std::int64_t left = rtexec::test::rounds(4'000'000);
  std::uint64_t refused = 0;
  SegmentedOracle::Counts seen;
  for (std::uint64_t seed = 0; left > 0; ++seed) {
    const int events = 100 << seed % 6;
    History history(seed, Fault::none);
    history.live(events);
    history.end();
    ASSERT_EQ(history.wrong, "") << "seed " << seed;
    left -= events;
    refused += history.refused;
    const auto& counts = history.counts();
    seen.starts += counts.starts;
    seen.preemptions += counts.preemptions;
    seen.resumed += counts.resumed;
    seen.ahead += counts.ahead;
    seen.bypasses += counts.bypasses;
    seen.restores += counts.restores;
    seen.from_frozen += counts.from_frozen;
    seen.from_waiting += counts.from_waiting;
    seen.beside_top_class += counts.beside_top_class;
    seen.dropped_begun += counts.dropped_begun;
    seen.failed_begun += counts.failed_begun;
    seen.dropped_frozen += counts.dropped_frozen;
    seen.streamed += counts.streamed;
    seen.streamed_again += counts.streamed_again;
  }
  // Checks that each kind of event happened often enough.
  EXPECT_GE(std::min({seen.starts, seen.preemptions, seen.resumed, seen.ahead, seen.bypasses, refused}), 1000u);
  EXPECT_GE(std::min(seen.streamed, seen.streamed_again), 1000u);
  EXPECT_GE(std::min({seen.restores, seen.from_frozen, seen.from_waiting, seen.beside_top_class}), 100u);
  EXPECT_GE(std::min({seen.dropped_begun, seen.failed_begun, seen.dropped_frozen}), 10u);
}

TEST(SegmentedScheduler, DiffersFromOracleWithEachDeliberateFault) {
  for (int number = 1; number < static_cast<int>(Fault::last); ++number) {
    bool noticed = false;
    for (std::uint64_t seed = 0; !noticed && seed < 2'000; ++seed) {
      History history(seed, static_cast<Fault>(number));
      history.live(400);
      noticed = !history.wrong.empty();
    }
    EXPECT_TRUE(noticed) << "error " << number;
  }
}

// ---- values by hand ----

struct SegmentedTask {
  std::uint32_t device_class = 1;
  std::uint32_t segments = 1;
  std::uint32_t volume = 0; // chunks
};

Plan plan_of(std::uint32_t frames, const std::vector<SegmentedTask>& tasks, std::uint32_t launch_ahead = 0) {
  std::vector<SwappingTask> swapping;
  for (const SegmentedTask& task : tasks) swapping.push_back({task.volume});
  Plan plan = plan_of(SwapPolicy::pipelined, frames, swapping);
  plan.launch_ahead = launch_ahead;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    plan.tasks[i].device_class = tasks[i].device_class;
    plan.tasks[i].segments = tasks[i].segments;
  }
  return plan;
}

TEST(SegmentedScheduler, RunsTopClassJobBetweenTwoSegments) {
  DeviceScheduler scheduler(plan_of(0, {{0, 1}, {1, 3}}));
  EXPECT_EQ(feed(scheduler, request(1, 0, 100)), List{start(1, 0, 0)});
  EXPECT_EQ(feed(scheduler, request(0, 0, 900)), List{});
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 0)), List{start(0, 0)});
  EXPECT_EQ(scheduler.state().levels[1].preempted->done, 1u);
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{start(1, 0, 1)});
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 1)), List{start(1, 0, 2)});
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 2)), List{refuse(1, 0)}) << "the last one ends the job";
  EXPECT_EQ(feed(scheduler, completion(1, 0)), List{});
}

TEST(SegmentedScheduler, TopClassJobsPreemptEachOtherByUrgency) {
  DeviceScheduler scheduler(plan_of(0, {{0, 2}, {0, 2}, {0, 2}}));
  EXPECT_EQ(feed(scheduler, request(2, 0, 300)), List{start(2, 0, 0)});
  EXPECT_EQ(feed(scheduler, request(1, 0, 200)), List{});
  EXPECT_EQ(feed(scheduler, segment_done(2, 0, 0)), List{start(1, 0, 0)});
  EXPECT_EQ(feed(scheduler, request(0, 0, 100)), List{});
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 0)), List{start(0, 0, 0)});
  EXPECT_EQ(feed(scheduler, segment_done(0, 0, 0)), List{start(0, 0, 1)});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{start(1, 0, 1)});
  EXPECT_EQ(feed(scheduler, completion(1, 0)), List{start(2, 0, 1)});
}

TEST(SegmentedScheduler, DoesNotPreemptWithinALevel) {
  DeviceScheduler scheduler(plan_of(0, {{1, 1}, {1, 2}}));
  EXPECT_EQ(feed(scheduler, request(1, 0, 900)), List{start(1, 0, 0)});
  EXPECT_EQ(feed(scheduler, request(0, 0, 100)), List{});
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 0)), List{start(1, 0, 1)});
  EXPECT_EQ(feed(scheduler, completion(1, 0)), List{start(0, 0)});
}

/// Returns two tasks, each of which fills the device. The one of level 2 is preempted after its first segment.
DeviceScheduler with_a_preempted_job() {
  DeviceScheduler scheduler(plan_of(2, {{1, 1, 2}, {2, 2, 2}}));
  feed(scheduler, request(1, 0, 100));
  for (std::uint32_t slot = 0; slot < 2; ++slot) feed(scheduler, copied_out({0, slot, slot}));
  for (std::uint32_t slot = 0; slot < 2; ++slot) feed(scheduler, copied_in({1, slot, slot}));
  EXPECT_EQ(scheduler.state().running, JobId(1, 0));
  EXPECT_EQ(feed(scheduler, request(0, 0, 900)), List{}) << "nothing is taken from what executes";
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 0)), (List{copy_out({0, 0}, {1, 0, 0}), copy_out({0, 0}, {1, 1, 1})}));
  return scheduler;
}

/// Returns the scheduler of with_a_preempted_job(), but the job of level 1 has had the device since then.
DeviceScheduler with_a_job_to_restore() {
  DeviceScheduler scheduler = with_a_preempted_job();
  for (std::uint32_t slot = 0; slot < 2; ++slot)
    EXPECT_EQ(feed(scheduler, copied_out({1, slot, slot})), List{copy_in({0, 0}, {0, slot, slot})});
  EXPECT_EQ(feed(scheduler, copied_in({0, 0, 0})), List{});
  EXPECT_EQ(feed(scheduler, copied_in({0, 1, 1})), List{start(0, 0)});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), (List{copy_out({1, 0}, {0, 0, 0}), copy_out({1, 0}, {0, 1, 1})}));
  return scheduler;
}

TEST(SegmentedScheduler, RestoresChunksOfPreemptedJobBeforeResumingIt) {
  DeviceScheduler scheduler = with_a_job_to_restore();
  for (std::uint32_t slot = 0; slot < 2; ++slot)
    EXPECT_EQ(feed(scheduler, copied_out({0, slot, slot})), List{copy_in({1, 0}, {1, slot, slot})});
  EXPECT_EQ(feed(scheduler, copied_in({1, 0, 0})), List{});
  EXPECT_EQ(feed(scheduler, copied_in({1, 1, 1})), List{start(1, 0, 1)});
}

TEST(SegmentedScheduler, FailsPreemptedJobWhenRestoreFails) {
  DeviceScheduler scheduler = with_a_job_to_restore();
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0}, true)), List{}) << "the other one is under way for it";
  EXPECT_EQ(feed(scheduler, copied_out({0, 1, 1})), List{fail(1, 0)});
  EXPECT_TRUE(scheduler.idle());
}

TEST(SegmentedScheduler, DropsWithdrawnPreemptedJobAfterItsTransfers) {
  DeviceScheduler frozen = with_a_preempted_job();
  EXPECT_EQ(feed(frozen, withdrawal(1, 0)), List{drop(1, 0)}) << "what moves is for the job above";
  DeviceScheduler scheduler = with_a_job_to_restore();
  EXPECT_EQ(feed(scheduler, withdrawal(1, 0)), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 1, 1})), List{drop(1, 0)});
  EXPECT_EQ(feed(scheduler, request(1, 1, 100)), (List{copy_in({1, 1}, {1, 0, 1}), copy_in({1, 1}, {1, 1, 0})}));
}

TEST(SegmentedScheduler, DropsWithdrawnJobAtEndOfLaunchedSegments) {
  DeviceScheduler scheduler(plan_of(0, {{1, 2}, {1, 3}}, 1));
  EXPECT_EQ(feed(scheduler, request(1, 0, 100)), List{start(1, 0, 0, 1)});
  EXPECT_EQ(feed(scheduler, request(0, 0, 200)), List{});
  EXPECT_EQ(feed(scheduler, withdrawal(1, 0)), List{});
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 0)), List{}) << "the next one executes already";
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 1)), (List{drop(1, 0), start(0, 0, 0, 1)}));
  EXPECT_EQ(feed(scheduler, withdrawal(0, 0)), List{});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{}) << "it failed";
  EXPECT_TRUE(scheduler.idle());
}

TEST(SegmentedScheduler, LaunchesSegmentsAheadUntilMoreUrgentJobWaits) {
  DeviceScheduler scheduler(plan_of(0, {{0, 1}, {1, 5}}, 1));
  EXPECT_EQ(feed(scheduler, request(1, 0, 100)), List{start(1, 0, 0, 1)});
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 0)), List{start(1, 0, 2)});
  EXPECT_EQ(feed(scheduler, request(0, 0, 900)), List{});
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 1)), List{}) << "segment 2 executes, and 3 is not launched";
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 2)), List{start(0, 0)});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{start(1, 0, 3, 1)});
  EXPECT_EQ(feed(scheduler, segment_done(1, 0, 3)), List{}) << "the last one executes";
}

TEST(SegmentedScheduler, MovesChunksDuringTopClassJobs) {
  DeviceScheduler scheduler(plan_of(2, {{0}, {1, 1, 2}, {1, 1, 2}}));
  EXPECT_EQ(feed(scheduler, request(2, 0, 100)), (List{copy_out({2, 0}, {1, 0, 0}), copy_out({2, 0}, {1, 1, 1})}));
  EXPECT_EQ(feed(scheduler, request(0, 0, 900)), List{start(0, 0)});
  EXPECT_EQ(feed(scheduler, copied_out({1, 0, 0})), List{copy_in({2, 0}, {2, 0, 0})});
}

/// A chunk leaves for a job of level 2. Meanwhile a job of level 1 needs a frame and gets that one; then loading begins
/// anew.
TEST(SegmentedScheduler, GivesFrameOfOngoingSaveToMoreUrgentLevel) {
  DeviceScheduler scheduler(plan_of(2, {{1, 1, 1}, {2, 1, 2}}));
  EXPECT_EQ(feed(scheduler, request(1, 0, 100)), List{copy_out({1, 0}, {0, 0, 0})});
  EXPECT_EQ(feed(scheduler, request(0, 0, 900)), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0})), List{copy_in({0, 0}, {0, 0, 0})});
  EXPECT_EQ(feed(scheduler, copied_in({0, 0, 0})), List{start(0, 0)});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{copy_out({1, 0}, {0, 0, 0})});
}

TEST(SegmentedScheduler, OrdersSimultaneousRequestsByClassFirst) {
  const DeviceScheduler scheduler(plan_of(0, {{2, 1}, {1, 1}, {0, 1}}));
  EXPECT_TRUE(scheduler.precedes(request(1, 0, 900), request(0, 0, 100)));
  EXPECT_TRUE(scheduler.precedes(request(2, 0, 999), request(1, 0, 100)));
  EXPECT_FALSE(scheduler.precedes(request(0, 0, 100), request(2, 0, 900)));
}

TEST(SegmentedScheduler, IgnoresClassesAndSegmentsUnderOtherSwapPolicies) {
  for (const SwapPolicy policy : {SwapPolicy::serial, SwapPolicy::rt_swap, SwapPolicy::lru}) {
    Plan plan = plan_of(2, {{0, 2}, {3, 3, 2}}, 1);
    plan.swap->policy = policy;
    DeviceScheduler scheduler(plan);
    EXPECT_EQ(scheduler.state().levels.size(), 2u);
    EXPECT_EQ(scheduler.segments_of(1), 1u);
    EXPECT_EQ(feed(scheduler, request(1, 0, 100)), List{start(1, 0)});
    EXPECT_EQ(feed(scheduler, segment_done(1, 0, 0)), List{refuse(1, 0)});
  }
}

TEST(SegmentedScheduler, ExchangesTopClassTaskOnlyForOneThatSwapsNothing) {
  DeviceScheduler scheduler(plan_of(2, {{0, 1}, {1, 1, 2}}), 2);
  EXPECT_EQ(scheduler.exchange(0, {.slots = 1}).size(), 1u);
  EXPECT_TRUE(scheduler.exchange(0, {.rank = 7}).empty());
  feed(scheduler, request(1, 0, 100));
  EXPECT_EQ(feed(scheduler, request(0, 0, 900)), List{});
  EXPECT_EQ(feed(scheduler, completion(1, 0)), List{start(0, 0)});
}

} // namespace
} // namespace rtexec::policies
