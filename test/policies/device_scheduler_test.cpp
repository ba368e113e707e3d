#include "policies/scheduler/device_scheduler.hpp"
#include "test/policies/scheduler_events.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

namespace rtexec::policies {
namespace {

using End = DeviceScheduler::Placed::End;
using namespace policies::test;
using Kind = Event::Kind;

Plan plan_of(std::vector<unsigned> ranks) {
  Plan plan;
  for (const unsigned rank : ranks) {
    plan.tasks.emplace_back();
    plan.tasks.back().device_rank = rank;
  }
  return plan;
}

/// A second implementation of the rule of a plan without swapping: jobs in a set; the head is searched for when the
/// device becomes free.
class Model {
 public:
  explicit Model(std::vector<unsigned> ranks) : ranks_(std::move(ranks)) {}

  List on(const Event& event) {
    const std::uint32_t task = event.job.task;
    switch (event.kind) {
    case Kind::job_requested:
      if (task >= ranks_.size() || jobs_.contains(task)) return {{Action::Kind::refuse, event.job, {}}};
      jobs_[task] = {event.job.number, event.deadline};
      return next();
    case Kind::job_withdrawn:
      if (!jobs_.contains(task) || jobs_[task].number != event.job.number || jobs_[task].withdrawn)
        return {{Action::Kind::refuse, event.job, {}}};
      if (running_ == task) {
        jobs_[task].withdrawn = true;
        return {};
      }
      jobs_.erase(task);
      return {{Action::Kind::drop, event.job, {}}};
    case Kind::execution_done:
      if (running_ != task || jobs_[task].number != event.job.number) return {{Action::Kind::refuse, event.job, {}}};
      jobs_.erase(task);
      running_.reset();
      return next();
    case Kind::segment_done: // each job is one segment
    case Kind::copied_in:    // nothing swaps
    case Kind::copied_out: break;
    }
    return {{Action::Kind::refuse, event.job, event.transfer}};
  }

 private:
  struct Job {
    std::uint64_t number = 0;
    Instant deadline{};
    bool withdrawn = false;
  };

  List next() {
    if (running_ || jobs_.empty()) return {};
    const auto key = [&](const auto& entry) {
      return std::tuple(ranks_[entry.first], entry.second.deadline, entry.first);
    };
    const auto head = std::ranges::min_element(jobs_, {}, key);
    running_ = head->first;
    return {start(head->first, head->second.number)};
  }

  std::vector<unsigned> ranks_;
  std::map<std::uint32_t, Job> jobs_;
  std::optional<std::uint32_t> running_;
};

std::vector<std::int64_t> fingerprint(const DeviceScheduler& scheduler) {
  const auto& state = scheduler.state();
  std::vector<std::int64_t> print;
  if (state.running)
    print = {state.running->task, static_cast<std::int64_t>(state.running->number), state.running_end == End::drop};
  const auto add = [&](const DeviceScheduler::Waiting& entry) {
    print.push_back(entry.job.task);
    print.push_back(static_cast<std::int64_t>(entry.job.number));
    print.push_back(entry.deadline.time_since_epoch().count());
  };
  print.push_back(-1);
  if (state.levels[1].staged) add(*state.levels[1].staged);
  print.push_back(-2);
  for (const auto& entry : state.levels[1].waiting) add(entry);
  return print;
}

void expect_invariants(const DeviceScheduler& scheduler) {
  const auto& state = scheduler.state();
  const auto& [preempted, staged, waiting] = state.levels[1];
  ASSERT_TRUE(!preempted && state.levels[0].empty() && state.levels.size() == 2) << "a level that is not";
  ASSERT_TRUE(state.running || (!staged && waiting.empty())) << "idle while a job waits";
  ASSERT_TRUE(staged || waiting.empty()) << "none is staged while a job waits";
  ASSERT_EQ(scheduler.idle(), !state.running);
  ASSERT_TRUE(state.running || state.running_end == End::execution);
  const auto key = [](const auto& entry) { return std::tuple(entry.rank, entry.deadline, entry.job); };
  ASSERT_TRUE(std::ranges::is_sorted(waiting, {}, key)) << "the head is not the most urgent";
  std::set<std::uint32_t> tasks;
  if (state.running) tasks.insert(state.running->task);
  if (staged) { ASSERT_TRUE(tasks.insert(staged->job.task).second) << "two jobs of one task"; }
  for (const auto& entry : waiting) ASSERT_TRUE(tasks.insert(entry.job.task).second) << "two jobs of one task";
}

TEST(DeviceScheduler, StartsEarliestDeadlineFirst) {
  DeviceScheduler scheduler(plan_of({0, 0, 0}));
  EXPECT_EQ(feed(scheduler, request(0, 0, 50)), List{start(0, 0)});
  EXPECT_EQ(feed(scheduler, request(1, 0, 40)), List{});
  EXPECT_EQ(feed(scheduler, request(2, 0, 30)), List{});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{start(2, 0)});
  EXPECT_EQ(feed(scheduler, completion(2, 0)), List{start(1, 0)});
  EXPECT_EQ(feed(scheduler, completion(1, 0)), List{});
}

TEST(DeviceScheduler, PrefersStaticRankToDeadline) {
  DeviceScheduler scheduler(plan_of({2, 1, 0}));
  EXPECT_EQ(feed(scheduler, request(0, 0, 1)), List{start(0, 0)});
  EXPECT_EQ(feed(scheduler, request(1, 0, 2)), List{});
  EXPECT_EQ(feed(scheduler, request(2, 0, 100)), List{});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{start(2, 0)});
}

TEST(DeviceScheduler, StartsBestEffortJobsLastUnderEdf) {
  DeviceScheduler scheduler(plan_of({1, 0, 0}));
  EXPECT_EQ(feed(scheduler, request(1, 0, 90)), List{start(1, 0)});
  EXPECT_EQ(feed(scheduler, request(0, 0, 1)), List{});
  EXPECT_EQ(feed(scheduler, request(2, 0, 1000)), List{});
  EXPECT_EQ(feed(scheduler, completion(1, 0)), List{start(2, 0)});
}

TEST(DeviceScheduler, BreaksTiesByLowerTaskIndex) {
  DeviceScheduler scheduler(plan_of({0, 0, 0}));
  feed(scheduler, request(1, 7, 10));
  feed(scheduler, request(2, 0, 10));
  feed(scheduler, request(0, 9, 10));
  EXPECT_EQ(feed(scheduler, completion(1, 7)), List{start(0, 9)});
  EXPECT_EQ(feed(scheduler, completion(0, 9)), List{start(2, 0)});
}

TEST(DeviceScheduler, DropsWithdrawnWaitingJob) {
  DeviceScheduler scheduler(plan_of({0, 0}));
  feed(scheduler, request(0, 0, 10));
  feed(scheduler, request(1, 0, 10));
  EXPECT_EQ(feed(scheduler, withdrawal(1, 0)), List{drop(1, 0)});
  EXPECT_EQ(feed(scheduler, withdrawal(1, 0)), List{refuse(1, 0)});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{});
}

TEST(DeviceScheduler, KeepsDeviceBusyUntilWithdrawnRunningJobEnds) {
  DeviceScheduler scheduler(plan_of({0, 0}));
  feed(scheduler, request(0, 0, 10));
  EXPECT_EQ(feed(scheduler, withdrawal(0, 0)), List{});
  EXPECT_EQ(scheduler.state().running_end, End::drop);
  EXPECT_EQ(feed(scheduler, withdrawal(0, 0)), List{refuse(0, 0)});
  EXPECT_EQ(feed(scheduler, request(0, 1, 20)), List{refuse(0, 1)});
  EXPECT_EQ(feed(scheduler, request(1, 0, 20)), List{});
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{start(1, 0)});
  EXPECT_EQ(scheduler.state().running_end, End::execution);
}

TEST(DeviceScheduler, RefusesInvalidEventsWithoutChangingState) {
  DeviceScheduler scheduler(plan_of({0, 0}));
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{refuse(0, 0)});
  EXPECT_EQ(feed(scheduler, withdrawal(0, 0)), List{refuse(0, 0)});
  EXPECT_EQ(feed(scheduler, request(2, 0, 1)), List{refuse(2, 0)});
  feed(scheduler, request(0, 3, 10));
  feed(scheduler, request(1, 4, 10));
  const auto before = fingerprint(scheduler);
  for (const Event& event :
       {request(0, 3, 10), request(0, 4, 10), request(1, 4, 10), completion(1, 4), completion(0, 2), withdrawal(0, 2),
        withdrawal(1, 5), withdrawal(9, 0), copied_in({0, 0, 0}), copied_out({9, 0, 0}, true),
        Event{static_cast<Kind>(77), {0, 3}, at(0), at(0)}}) {
    EXPECT_EQ(feed(scheduler, event), (List{{Action::Kind::refuse, event.job, event.transfer}}));
    EXPECT_EQ(fingerprint(scheduler), before);
  }
}

/// Visits every state that three tasks can reach, with every event in each: the model agrees, invariants hold, refusals
/// have no effect.
TEST(DeviceScheduler, FollowsModelInEveryReachableStateOfThreeTasks) {
  std::vector<Event> events;
  for (std::uint32_t task = 0; task < 4; ++task)
    for (std::uint64_t number = 0; number < 2; ++number) {
      for (std::int64_t deadline = 0; deadline < 3; ++deadline) events.push_back(request(task, number, deadline));
      events.push_back(withdrawal(task, number));
      events.push_back(completion(task, number));
    }
  for (const std::vector<unsigned>& ranks : {std::vector<unsigned>{0, 0, 0}, {0, 0, 1}, {2, 0, 1}}) {
    struct Node {
      DeviceScheduler scheduler;
      Model model;
    };
    std::deque<Node> open{{DeviceScheduler(plan_of(ranks)), Model(ranks)}};
    std::set<std::vector<std::int64_t>> seen{fingerprint(open.front().scheduler)};
    while (!open.empty()) {
      const Node node = std::move(open.front());
      open.pop_front();
      for (const Event& event : events) {
        Node next = node;
        next.scheduler = DeviceScheduler(node.scheduler);
        const List actions = feed(next.scheduler, event);
        ASSERT_EQ(actions, next.model.on(event));
        ASSERT_NO_FATAL_FAILURE(expect_invariants(next.scheduler));
        const auto print = fingerprint(next.scheduler);
        if (!actions.empty() && actions[0].kind == Action::Kind::refuse) {
          ASSERT_EQ(print, fingerprint(node.scheduler));
        }
        if (seen.insert(print).second) open.push_back(std::move(next));
      }
    }
    // The states: idle; or one of 3 tasks executes (2 numbers, withdrawn or not). Of the two others none, one or both
    // have a request (2 numbers, 3 deadlines each), and either may be staged.
    EXPECT_EQ(seen.size(), 1u + 3 * 4 * (1 + 2 * 6 + 2 * 6 * 6));
  }
}

TEST(DeviceScheduler, FollowsModelForAMillionRandomEventsWithoutAllocating) {
  std::vector<unsigned> ranks;
  for (unsigned i = 0; i < 16; ++i) ranks.push_back(i % 5 == 0 ? i : 0);
  DeviceScheduler scheduler(plan_of(ranks));
  DeviceScheduler twin(plan_of(ranks));
  Model model(ranks);
  std::mt19937_64 random(7);
  std::uint64_t allocated = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const auto task = static_cast<std::uint32_t>(random() % 17);
    Event event = request(task, random() % 3, static_cast<std::int64_t>(random() % 50));
    if (random() % 3 == 0) event.kind = Kind::job_withdrawn;
    if (random() % 3 == 0) event.kind = Kind::execution_done;
    if (const auto& running = scheduler.state().running; running && random() % 4 == 0)
      event = completion(running->task, running->number);
    const std::uint64_t before = rtexec::test::allocations();
    const auto out = scheduler.on(event);
    allocated += rtexec::test::allocations() - before;
    ASSERT_TRUE(std::ranges::equal(out, twin.on(event)));
    ASSERT_TRUE(std::ranges::equal(out, model.on(event)));
    if (i % 16 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_invariants(scheduler));
      ASSERT_EQ(fingerprint(scheduler), fingerprint(twin));
    }
  }
  EXPECT_EQ(allocated, 0u);
}

} // namespace
} // namespace rtexec::policies
