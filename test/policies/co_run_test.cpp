// Tests which jobs may execute concurrently, and which ones the scheduler starts. The model states the rule a second
// time. Without co-running, every decision equals that of a scheduler without the feature.
#include "policies/scheduler/co_run.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include "test/policies/scheduler_events.hpp"
#include "test/support/thread_counts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace rtexec::policies {
namespace {

using namespace policies::test;
using Kind = Event::Kind;
constexpr MemoryPolicy D = MemoryPolicy::device, M = MemoryPolicy::managed, H = MemoryPolicy::host,
                       DH = MemoryPolicy::switching;

struct Given {
  MemoryPolicy policy = D;
  std::int64_t co_running = 0;
  std::int64_t idle = 0;
  unsigned rank = 0;
};

Plan plan_of(const std::vector<Given>& tasks) {
  Plan plan;
  for (const Given& given : tasks) {
    PlannedTask& task = plan.tasks.emplace_back();
    task.memory_policy = given.policy;
    task.device_rank = given.rank;
    if (given.co_running == 0) continue;
    task.co_run = CoRun{.wcet = Duration(given.co_running), .idle = {}};
    if (given.policy != D) task.co_run->idle = Duration(given.idle);
  }
  return plan;
}

Action starts(std::uint32_t task, MemoryPolicy as, bool co_running = false) {
  return {.kind = Action::Kind::start_execution, .job = {task, 0}, .co_running = co_running, .as = as};
}

/// Returns the jobs started when a job of task 2, which never co-runs, ends while these wait, the most urgent first.
List started(std::vector<Given> tasks) {
  const auto blocker = static_cast<std::uint32_t>(tasks.size());
  tasks.push_back({});
  DeviceScheduler scheduler(plan_of(tasks));
  feed(scheduler, request(blocker, 0, 1));
  for (std::uint32_t task = 0; task < blocker; ++task) feed(scheduler, request(task, 0, 10 + task));
  return feed(scheduler, completion(blocker, 0));
}

TEST(CoRun, StartsPairWhenOneExecutesWithinIdleTimeOfOther) {
  EXPECT_EQ(started({{M, 30, 10}, {D, 10}}), (List{starts(0, M), starts(1, D, true)}));
  EXPECT_EQ(started({{H, 30, 10}, {D, 11}}), (List{starts(0, H)}));
  EXPECT_EQ(started({{M, 30, 10}, {M, 5, 5}}), (List{starts(0, M)})) << "two that wait";
  EXPECT_EQ(started({{D, 30}, {D, 5}}), (List{starts(0, D)})) << "two that execute";
  EXPECT_EQ(started({{M, 30, 10}, {D}}), (List{starts(0, M)})) << "one that never co-runs";
}

TEST(CoRun, PairsHeadWithFirstFittingWaitingJob) {
  EXPECT_EQ(started({{M, 30, 10}, {D, 20}, {M, 5, 1}, {D, 8}, {D, 2}}), (List{starts(0, M), starts(3, D, true)}));
}

TEST(CoRun, PairsWithLongerJobOnlyWhenItIsNextInQueue) {
  EXPECT_EQ(started({{D, 10}, {M, 30, 10}}), (List{starts(0, D), starts(1, M, true)}));
  EXPECT_EQ(started({{D, 10}, {D, 10}, {M, 30, 10}}), (List{starts(0, D)})) << "task 1 would wait for it";
  EXPECT_EQ(started({{D, 30}, {D, 10}, {M, 30, 30}}), (List{starts(0, D), starts(2, M, true)})) << "not longer";
}

TEST(CoRun, RunsSwitchingTaskFromHostMemoryWhenPaired) {
  EXPECT_EQ(started({{DH, 30, 10}, {D, 10}}), (List{starts(0, H), starts(1, D, true)}));
  EXPECT_EQ(started({{DH, 30, 10}, {D, 11}}), (List{starts(0, D)}));
  EXPECT_EQ(started({{DH, 30, 10}, {DH, 10, 10}}), (List{starts(0, D)})) << "neither executes beside the other";
  EXPECT_EQ(started({{D, 10}, {DH, 10, 10}}), (List{starts(0, D), starts(1, H, true)}));
}

TEST(CoRun, StartsNothingUntilBothJobsOfAPairHaveEnded) {
  DeviceScheduler scheduler(plan_of({{D}, {M, 30, 10}, {D, 10}, {D, 10}}));
  feed(scheduler, request(0, 0, 1));
  feed(scheduler, request(1, 0, 2));
  feed(scheduler, request(2, 0, 3));
  feed(scheduler, completion(0, 0));
  EXPECT_EQ(scheduler.state().co_running, (JobId{2, 0}));
  EXPECT_EQ(feed(scheduler, request(2, 1, 9)), List{refuse(2, 1)}) << "its task has a job on the device";
  EXPECT_EQ(feed(scheduler, request(3, 0, 4)), List{});
  EXPECT_EQ(feed(scheduler, completion(1, 0)), List{}) << "the head has ended first";
  EXPECT_FALSE(scheduler.idle());
  EXPECT_EQ(feed(scheduler, completion(1, 0)), List{refuse(1, 0)});
  EXPECT_EQ(feed(scheduler, completion(2, 0)), List{starts(3, D)});
  EXPECT_EQ(feed(scheduler, completion(3, 0)), List{});
  EXPECT_TRUE(scheduler.idle());
}

TEST(CoRun, StartsLoneRequestAtOnceWithoutLaterPartner) {
  DeviceScheduler scheduler(plan_of({{DH, 30, 10}, {D, 10}}));
  EXPECT_EQ(feed(scheduler, request(0, 0, 1)), List{starts(0, D)});
  EXPECT_EQ(feed(scheduler, request(1, 0, 2)), List{}) << "a partner starts with its head or not at all";
  EXPECT_EQ(feed(scheduler, completion(0, 0)), List{starts(1, D)});
}

TEST(CoRun, KeepsDeviceBusyUntilWithdrawnJobsEnd) {
  DeviceScheduler scheduler(plan_of({{D}, {M, 30, 10}, {D, 10}}));
  feed(scheduler, request(0, 0, 1));
  feed(scheduler, request(1, 0, 2));
  feed(scheduler, request(2, 0, 3));
  feed(scheduler, completion(0, 0));
  EXPECT_EQ(feed(scheduler, withdrawal(2, 0)), List{});
  EXPECT_EQ(feed(scheduler, withdrawal(2, 0)), List{refuse(2, 0)});
  EXPECT_EQ(feed(scheduler, withdrawal(1, 0)), List{});
  EXPECT_EQ(feed(scheduler, request(0, 1, 5)), List{});
  EXPECT_EQ(feed(scheduler, completion(2, 0)), List{});
  EXPECT_EQ(feed(scheduler, completion(1, 0)), (List{{.kind = Action::Kind::start_execution, .job = {0, 1}}}));
}

/// Models the rule independently: jobs in a set, pairs by the letters of their policies.
class Model {
 public:
  explicit Model(std::vector<Given> tasks) : tasks_(std::move(tasks)) {}

  List on(const Event& event) {
    const std::uint32_t task = event.job.task;
    const bool has = jobs_.contains(task), same = has && jobs_[task].number == event.job.number;
    switch (event.kind) {
    case Kind::job_requested:
      if (task >= tasks_.size() || has) break;
      jobs_[task] = {event.job.number, event.deadline};
      return next();
    case Kind::job_withdrawn:
      if (!same || jobs_[task].withdrawn) break;
      if (executing_.contains(task)) {
        jobs_[task].withdrawn = true;
        return {};
      }
      jobs_.erase(task);
      return {drop(task, event.job.number)};
    case Kind::execution_done:
      if (!same || !executing_.contains(task)) break;
      jobs_.erase(task);
      executing_.erase(task);
      return next();
    default: break;
    }
    return {{Action::Kind::refuse, event.job, event.transfer}};
  }

 private:
  struct Job {
    std::uint64_t number = 0;
    Instant deadline{};
    bool withdrawn = false;
  };

  bool fits(const Given& executes, const Given& waits) const {
    return executes.policy == D && waits.policy != D && executes.co_running > 0 && waits.co_running > 0 &&
           executes.co_running <= waits.idle;
  }

  List next() {
    if (!executing_.empty() || jobs_.empty()) return {};
    std::vector<std::uint32_t> queue;
    for (const auto& [task, job] : jobs_) queue.push_back(task);
    std::ranges::sort(queue, {},
                      [&](std::uint32_t task) { return std::tuple(tasks_[task].rank, jobs_[task].deadline, task); });
    const Given& head = tasks_[queue[0]];
    std::optional<std::uint32_t> partner;
    for (std::size_t i = queue.size() - 1; i > 0; --i) {
      const Given& other = tasks_[queue[i]];
      if ((fits(head, other) || fits(other, head)) && (i == 1 || other.co_running <= head.co_running))
        partner = queue[i];
    }
    List list{begin(queue[0], partner.has_value(), false)};
    if (partner) list.push_back(begin(*partner, true, true));
    return list;
  }

  Action begin(std::uint32_t task, bool paired, bool co_running) {
    executing_.insert(task);
    const MemoryPolicy policy = tasks_[task].policy;
    return {.kind = Action::Kind::start_execution,
            .job = {task, jobs_[task].number},
            .co_running = co_running,
            .as = policy != DH ? policy
                  : paired     ? H
                               : D};
  }

  std::vector<Given> tasks_;
  std::map<std::uint32_t, Job> jobs_;
  std::set<std::uint32_t> executing_;
};

std::vector<Given> random_tasks(std::mt19937_64& random, bool static_ranks) {
  constexpr MemoryPolicy policies[] = {D, D, M, H, DH};
  std::vector<Given> tasks;
  for (unsigned i = 0; i < 12; ++i) {
    const auto co_running = static_cast<std::int64_t>(random() % 8);
    tasks.push_back({.policy = policies[random() % 5],
                     .co_running = co_running,
                     .idle = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(co_running + 1)),
                     .rank = static_ranks ? i : 0});
  }
  return tasks;
}

Event random_event(std::mt19937_64& random, const DeviceScheduler& scheduler) {
  const auto& state = scheduler.state();
  const auto task = static_cast<std::uint32_t>(random() % 13);
  Event event = request(task, random() % 3, static_cast<std::int64_t>(random() % 50));
  if (random() % 8 == 0) event.kind = Kind::job_withdrawn;
  if (random() % 8 == 0) event.kind = Kind::execution_done;
  if (state.running && random() % 5 == 0) event = completion(state.running->task, state.running->number);
  if (state.co_running && random() % 5 == 0) event = completion(state.co_running->task, state.co_running->number);
  return event;
}

TEST(CoRun, FollowsModelOnRandomEventsWithoutAllocating) {
  std::mt19937_64 random(11);
  std::uint64_t allocated = 0, paired = 0;
  for (int set = 0; set < 200; ++set) {
    const std::vector<Given> tasks = random_tasks(random, set % 2 == 0);
    DeviceScheduler scheduler(plan_of(tasks));
    Model model(tasks);
    for (int i = 0; i < 2'000; ++i) {
      const Event event = random_event(random, scheduler);
      const std::uint64_t before = rtexec::test::allocations();
      const auto out = scheduler.on(event);
      allocated += rtexec::test::allocations() - before;
      paired += out.size() == 2;
      ASSERT_TRUE(std::ranges::equal(out, model.on(event))) << "set " << set << ", event " << i;
    }
  }
  EXPECT_EQ(allocated, 0U);
  EXPECT_GT(paired, 1'000U);
}

// ---- plans ----

TEST(CoRun, ListsPairsWithExecutingTaskFirst) {
  const Plan plan = plan_of({{M, 30, 10}, {D, 10}, {D, 11}, {DH, 40, 11}});
  EXPECT_THAT(pairs(plan), testing::ElementsAre(TaskPair{1, 0}, TaskPair{1, 3}, TaskPair{2, 3}));
}

TaskSet asked(const std::vector<Given>& tasks) {
  TaskSet set;
  set.device.co_run = true;
  for (const Given& given : tasks) {
    Task& task = set.tasks.emplace_back();
    task.memory_policy = given.policy;
    task.wcet = Wcet{.before = {}, .device = Duration(5), .after = {}};
    if (given.co_running > 0) task.co_run_wcet = Duration(given.co_running);
    if (given.policy != D) task.mapping_idle = Duration(given.idle);
  }
  return set;
}

Plan planned(const TaskSet& set, DeviceKind device = DeviceKind::host) {
  Board board;
  board.device = device;
  Plan plan;
  for (const Task& task : set.tasks) plan.tasks.emplace_back().memory_policy = task.memory_policy;
  plan_co_running(plan, set, board);
  return plan;
}

TEST(CoRun, PlansOnlyTasksWithAPartner) {
  const Plan plan = planned(asked({{M, 30, 10}, {D, 10}, {D, 11}, {H, 30, 4}, {D}}));
  EXPECT_EQ(plan.tasks[0].co_run, (CoRun{Duration(30), Duration(10)}));
  EXPECT_EQ(plan.tasks[1].co_run, (CoRun{Duration(10), std::nullopt}));
  EXPECT_FALSE(plan.tasks[2].co_run) << "it fits nowhere";
  EXPECT_FALSE(plan.tasks[3].co_run) << "nothing fits into it";
  EXPECT_FALSE(plan.tasks[4].co_run) << "it does not say how long it takes then";
  EXPECT_TRUE(plan.tasks[0].scratch_at_end);
  EXPECT_FALSE(plan.tasks[1].scratch_at_end);
}

TEST(CoRun, PlansCoRunningWcetNoShorterThanAlone) {
  const Plan plan = planned(asked({{M, 30, 10}, {D, 2}}));
  EXPECT_EQ(plan.tasks[1].co_run->wcet, Duration(5));
}

TEST(CoRun, PlansNoTaskOfUserOrBackEndOnGpu) {
  TaskSet set = asked({{M, 30, 10}, {D, 10}});
  set.tasks[1].workload = WorkloadKind::custom;
  EXPECT_TRUE(planned(set).co_runs()) << "on the host device each engine is a thread";
  EXPECT_FALSE(planned(set, DeviceKind::cuda).co_runs()) << "its work goes to the stream of the first engine";
  set.tasks[1].workload = WorkloadKind::dnn;
  EXPECT_TRUE(planned(set, DeviceKind::cuda).co_runs());
  set.tasks[1].backend = "onnxruntime";
  EXPECT_FALSE(planned(set, DeviceKind::cuda).co_runs());
}

TEST(CoRun, PlansNothingWhenDisabled) {
  TaskSet set = asked({{M, 30, 10}, {D, 10}});
  set.device.co_run = false;
  EXPECT_FALSE(planned(set).co_runs());
}

} // namespace
} // namespace rtexec::policies
