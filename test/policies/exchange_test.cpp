// Tests the exchange of tasks in the device scheduler's slots while other tasks continue.
#include "config/names.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include "test/policies/scheduler_events.hpp"
#include "test/policies/swap_history.hpp"
#include "test/support/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rtexec::policies {
namespace {

using namespace policies::test;
using Kind = Event::Kind;
using Residence = DeviceScheduler::Residence;

PlannedTask random_task(std::uint64_t most, Random& random) {
  const SwappingTask some{static_cast<std::uint32_t>(random() % (most + 1)), static_cast<unsigned>(random() % 3)};
  PlannedTask task = plan_of(SwapPolicy::pipelined, 0, {some}).tasks.front();
  task.period = Duration(1 + random() % 300);
  task.device_done_by = Duration(1 + random() % 100);
  return task;
}

/// Makes a plan in which the device is empty and no place has a client.
Plan empty_plan(SwapPolicy policy, std::uint32_t frames, std::size_t places, unsigned copy_engines = 2) {
  return plan_of(policy, frames, std::vector<SwappingTask>(places), copy_engines);
}

class TaskExchangePerPolicy : public testing::TestWithParam<SwapPolicy> {
 protected:
  void live_through(std::uint64_t seed, int events) {
    Random random(seed);
    const auto frames = static_cast<std::uint32_t>(1 + random() % (random() % 2 == 0 ? 20 : 4));
    Plan plan = empty_plan(GetParam(), frames, 1 + random() % 8, 1 + random() % 2);
    Watched device(plan, frames);
    Environment environment(plan, device.book, random);
    const std::uint64_t one_in = 4 + random() % 30;
    const bool deadly = random() % 2 == 0;
    for (int i = 0; i < events; ++i) {
      const auto place = static_cast<std::uint32_t>(random() % (plan.tasks.size() + (random() % 16 == 0)));
      if (random() % one_in == 0) {
        ASSERT_NO_FATAL_FAILURE(
            device.exchange(plan, place, random_task(frames + 1, random), random() % 2 == 0, frames))
            << "event " << i;
        ++exchanges_;
      } else if (deadly && random() % one_in == 0 && place < plan.tasks.size()) {
        ASSERT_NO_FATAL_FAILURE(die(device, plan, place)) << "event " << i;
      } else {
        ASSERT_NO_FATAL_FAILURE(device.feed(environment.any())) << "event " << i;
      }
    }
    std::size_t most = plan.tasks.size() + 2 * frames * (1 + plan.tasks.size());
    while (const auto event = environment.end()) {
      ASSERT_NO_FATAL_FAILURE(device.feed(*event)) << "at the end";
      ASSERT_GT(most--, 0u) << "it never ends";
    }
    EXPECT_TRUE(device.book.idle());
    refused_ += device.refused;
  }

  /// Removes the client of `place`: ends its operations, then frees its memory and its place.
  void die(Watched& device, Plan& plan, std::uint32_t place) {
    const auto flight_of = [&](const auto& flights) {
      const auto flight = std::ranges::find_if(flights, [&](const auto& each) { return each.transfer.task == place; });
      return flight == flights.end() ? std::nullopt : std::optional(flight->transfer);
    };
    if (const auto job = device.book.job(place); job && !job->withdrawn) {
      count_death(device, place);
      ASSERT_NO_FATAL_FAILURE(device.feed(withdrawal(place, job->id.number)));
    }
    while (!device.book.exchangeable(place, 0)) {
      const auto running = device.book.running();
      if (const auto load = flight_of(device.book.loading())) {
        ASSERT_NO_FATAL_FAILURE(device.feed(copied_in(*load, true)));
      } else if (const auto save = flight_of(device.book.saving())) { // for other jobs, which are not affected
        ++mid_save_;
        ASSERT_NO_FATAL_FAILURE(device.feed(copied_out(*save)));
      } else if (running && running->task == place) {
        ASSERT_NO_FATAL_FAILURE(device.feed(completion(place, running->number)));
      } else { // its staged job stays until the saves for it by others have ended
        ASSERT_FALSE(device.book.saving().empty()) << "a job of a dead client stays";
        ASSERT_NO_FATAL_FAILURE(device.feed(copied_out(device.book.saving().front().transfer)));
      }
    }
    ASSERT_TRUE(device.book.exchangeable(place, 0));
    ASSERT_NO_FATAL_FAILURE(device.exchange(plan, place, PlannedTask{}, false, 0));
    ASSERT_TRUE(device.state().slots[place].empty());
    ++deaths_;
  }

  void count_death(const Watched& device, std::uint32_t place) {
    const auto& state = device.state();
    const auto& [preempted, staged, waiting] = state.levels[1];
    const auto moves = [&](const auto& each) { return each.transfer.task == place; };
    mid_load_ += std::ranges::any_of(device.book.loading(), moves);
    running_ += state.running && state.running->task == place;
    staged_ += staged && staged->job.task == place;
    waiting_ += std::ranges::any_of(waiting, [&](const auto& each) { return each.job.task == place; });
  }

  std::uint64_t exchanges_ = 0, refused_ = 0;
  std::uint64_t deaths_ = 0, mid_load_ = 0, mid_save_ = 0, running_ = 0, staged_ = 0, waiting_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Exchange, TaskExchangePerPolicy,
                         testing::Values(SwapPolicy::pipelined, SwapPolicy::serial, SwapPolicy::rt_swap,
                                         SwapPolicy::lru),
                         [](const auto& each) {
                           std::string name(spelling(each.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(TaskExchangePerPolicy, KeepsRulesUnderRandomEventsExchangesAndClientDeaths) {
  const auto enough = rtexec::test::rounds<std::uint64_t>(100);
  auto left = static_cast<std::int64_t>(5000 * enough);
  for (std::uint64_t seed = static_cast<std::uint64_t>(GetParam()); left > 0; seed += 8) {
    const int events = 100 << seed % 6;
    ASSERT_NO_FATAL_FAILURE(live_through(seed, events)) << "seed " << seed;
    left -= events;
  }
  EXPECT_GE(std::min({exchanges_, refused_, deaths_}), 10 * enough);
  EXPECT_GE(std::min({mid_load_, mid_save_, running_, staged_, waiting_}), enough);
}

/// Compares a scheduler built with its tasks with one that got them by exchanges, in some order, after other clients.
/// In the latter, idle places keep being exchanged for equal tasks.
TEST_P(TaskExchangePerPolicy, DecidesLikeSchedulerBuiltWithSameTasks) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Plan plan = random_plan(GetParam(), random);
    for (PlannedTask& task : plan.tasks) task.resident_slots = 0;
    DeviceScheduler built(plan);
    Plan places = plan;
    for (PlannedTask& task : places.tasks) task = {};
    DeviceScheduler grown(places, plan.swap->frames);
    for (std::uint32_t place = 0; place < plan.tasks.size(); ++place) {
      EXPECT_TRUE(grown.exchange(place, parameters_of(random_task(plan.swap->frames, random))).empty());
      EXPECT_TRUE(grown.exchange(place, {}).empty());
      EXPECT_TRUE(grown.exchange(place, parameters_of(plan.tasks[place])).empty());
    }
    Book book(plan, false);
    Environment environment(plan, book, random);
    for (int i = 0; i < 2000; ++i) {
      const Event event = environment.any();
      const auto place = static_cast<std::uint32_t>(random() % plan.tasks.size());
      ASSERT_TRUE(!book.exchangeable(place, plan.tasks[place].swap_slots.size()) ||
                  grown.exchange(place, parameters_of(plan.tasks[place])).empty())
          << "event " << i;
      const bool possible = book.possible(event);
      const List actions = feed(built, event);
      ASSERT_EQ(actions, feed(grown, event)) << "seed " << seed << ", event " << i;
      if (possible) book.enter(event, actions, built.state());
      ASSERT_EQ(book.wrong(), nullptr) << book.wrong();
    }
  }
}

TEST(TaskExchange, RefusesToShrinkTaskWhileItsChunkIsSaved) {
  DeviceScheduler scheduler(empty_plan(SwapPolicy::pipelined, 4, 3), 4);
  EXPECT_TRUE(scheduler.exchange(0, {.slots = 4}).empty());
  EXPECT_TRUE(scheduler.exchange(1, {.slots = 2}).empty());
  EXPECT_EQ(feed(scheduler, request(0, 1, 100)).size(), 3u);
  for (std::uint32_t slot = 0; slot < 4; ++slot) feed(scheduler, copied_in({0, slot, slot}));
  EXPECT_EQ(feed(scheduler, completion(0, 1)), List{});
  // Chunks are saved for another client's job. Meanwhile the client that owns all frames cannot return slots.
  EXPECT_EQ(feed(scheduler, request(1, 1, 200)), (List{copy_out({1, 1}, {0, 0, 0}), copy_out({1, 1}, {0, 1, 1})}));
  EXPECT_EQ(feed(scheduler, copied_out({0, 0, 0}, true)), List{});
  EXPECT_EQ(feed(scheduler, copied_out({0, 1, 1})), List{fail(1, 1)});
  EXPECT_EQ(feed(scheduler, request(1, 2, 200)), (List{copy_in({1, 2}, {1, 0, 1}), copy_out({1, 2}, {0, 2, 2})}));
  const auto refused = scheduler.exchange(0, {.slots = 1});
  EXPECT_EQ(List(refused.begin(), refused.end()), List{refuse(0, 0)}) << "a chunk of it moves";
  EXPECT_EQ(feed(scheduler, copied_out({0, 2, 2}, true)), List{});
  EXPECT_EQ(feed(scheduler, copied_in({1, 0, 1})), List{fail(1, 2)});
}

/// A job went on without a transfer that was under way for it. The transfer's failure fails no other job.
TEST(TaskExchange, FailsNoJobWhenTransferNoLongerNeededFails) {
  DeviceScheduler scheduler(empty_plan(SwapPolicy::pipelined, 4, 3), 4);
  for (std::uint32_t place = 0; place < 3; ++place) EXPECT_TRUE(scheduler.exchange(place, {.slots = 2}).empty());
  for (std::uint32_t place = 1; place < 3; ++place) {
    feed(scheduler, request(place, 1, 100 * place));
    for (const std::uint32_t slot : {0u, 1u}) feed(scheduler, copied_in({place, slot, 2 * (place - 1) + slot}));
    EXPECT_EQ(feed(scheduler, completion(place, 1)), List{});
  }
  EXPECT_EQ(feed(scheduler, request(0, 1, 300)), (List{copy_out({0, 1}, {2, 0, 2}), copy_out({0, 1}, {2, 1, 3})}));
  EXPECT_EQ(scheduler.exchange(1, {}).size(), 2u) << "the frames of that one will do";
  EXPECT_EQ(feed(scheduler, copied_in({0, 0, 1})), List{});
  EXPECT_EQ(feed(scheduler, copied_in({0, 1, 0})), List{start(0, 1)});
  EXPECT_EQ(feed(scheduler, request(2, 2, 400)), List{});
  EXPECT_EQ(feed(scheduler, copied_out({2, 0, 2}, true)), List{});
  EXPECT_EQ(feed(scheduler, copied_out({2, 1, 3}, true)), List{});
  EXPECT_EQ(feed(scheduler, completion(0, 1)), List{start(2, 2)});
}

/// The task's urgency changes when its job ends, regardless of transfers of its chunks.
TEST(TaskExchange, ReplacesTaskWithSameSlotsWhileItsChunksMove) {
  DeviceScheduler scheduler(empty_plan(SwapPolicy::pipelined, 2, 3), 2);
  for (std::uint32_t place = 0; place < 2; ++place) EXPECT_TRUE(scheduler.exchange(place, {.slots = 2}).empty());
  feed(scheduler, request(0, 1, 100));
  for (std::uint32_t slot = 0; slot < 2; ++slot) feed(scheduler, copied_in({0, slot, slot}));
  feed(scheduler, completion(0, 1));
  EXPECT_EQ(feed(scheduler, request(1, 1, 200)).size(), 2u);
  EXPECT_EQ(scheduler.state().saving, 2u);
  EXPECT_TRUE(scheduler.exchange(0, {.rank = 1, .slots = 2}).empty());
  EXPECT_EQ(scheduler.state().saving, 2u);
  EXPECT_EQ(feed(scheduler, request(0, 2, 50)), List{});
  EXPECT_EQ(scheduler.state().levels[1].waiting.front().rank, 1u);
  EXPECT_EQ(scheduler.exchange(1, {.rank = 1, .slots = 2}).size(), 1u) << "its job is staged";
}

TEST(TaskExchange, FreesFramesOfDepartedClientForOthers) {
  DeviceScheduler scheduler(empty_plan(SwapPolicy::pipelined, 2, 3), 2);
  EXPECT_TRUE(scheduler.exchange(0, {.slots = 2}).empty());
  EXPECT_TRUE(scheduler.exchange(1, {.slots = 1}).empty());
  EXPECT_EQ(feed(scheduler, request(0, 1, 100)), (List{copy_in({0, 1}, {0, 0, 0}), copy_in({0, 1}, {0, 1, 1})}));
  EXPECT_EQ(feed(scheduler, request(1, 1, 200)), List{});
  EXPECT_EQ(feed(scheduler, withdrawal(0, 1)), List{});
  EXPECT_EQ(feed(scheduler, copied_in({0, 0, 0}, true)), List{});
  EXPECT_EQ(feed(scheduler, copied_in({0, 1, 1}, true)), (List{drop(0, 1), copy_in({1, 1}, {1, 0, 1})}));
  EXPECT_TRUE(scheduler.exchange(0, {}).empty());
  EXPECT_TRUE(scheduler.exchange(0, {.slots = 2}).empty());
  EXPECT_EQ(scheduler.state().free, std::vector<std::uint32_t>{0});
}

/// If everything fits, the most urgent job goes first, regardless of which job was staged.
TEST(TaskExchange, StartsMostUrgentJobFirstWhenTasksStayResident) {
  for (const bool stays : {false, true}) {
    DeviceScheduler scheduler(empty_plan(SwapPolicy::pipelined, 3, 3), 3);
    for (std::uint32_t place = 0; place < 3; ++place) {
      EXPECT_TRUE(scheduler.exchange(place, {.slots = 1, .stays = stays}).empty());
      EXPECT_EQ(feed(scheduler, request(place, 1, 100)), List{copy_in({place, 1}, {place, 0, place})});
      EXPECT_EQ(feed(scheduler, copied_in({place, 0, place})), List{start(place, 1)});
      EXPECT_EQ(feed(scheduler, completion(place, 1)), List{});
    }
    EXPECT_EQ(feed(scheduler, request(0, 2, 300)), List{start(0, 2)});
    EXPECT_EQ(feed(scheduler, request(1, 2, 900)), List{}); // staged
    EXPECT_EQ(feed(scheduler, request(2, 2, 500)), List{});
    EXPECT_EQ(feed(scheduler, completion(0, 2)), List{stays ? start(2, 2) : start(1, 2)});
    EXPECT_EQ(feed(scheduler, completion(stays ? 2 : 1, 2)), List{stays ? start(1, 2) : start(2, 2)});
  }
}

TEST(TaskExchange, RefusesTaskThatHasNoRoom) {
  DeviceScheduler scheduler(empty_plan(SwapPolicy::pipelined, 4, 2), 3);
  EXPECT_TRUE(scheduler.exchange(0, {.slots = 3}).empty());
  EXPECT_EQ(scheduler.exchange(0, {.slots = 4}).size(), 1u);
  EXPECT_EQ(scheduler.exchange(2, {.slots = 1}).size(), 1u);
  EXPECT_EQ(scheduler.state().slots[0].size(), 3u);
  DeviceScheduler more_room_than_frames(empty_plan(SwapPolicy::pipelined, 4, 2), 100);
  EXPECT_EQ(more_room_than_frames.exchange(0, {.slots = 5}).size(), 1u);
}

TEST(TaskExchange, RefusesExchangeWhenTasksCoRun) {
  Plan plan = plan_of(SwapPolicy::pipelined, 0, {{0}, {0}});
  plan.tasks[0].co_run = CoRun{Duration(5), {}};
  DeviceScheduler scheduler(plan);
  EXPECT_EQ(scheduler.exchange(1, {.slots = 0}).size(), 1u);
}

} // namespace
} // namespace rtexec::policies
