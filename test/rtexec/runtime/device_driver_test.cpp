// Tests how the scheduler thread handles simultaneous events, and events that do not fit into the queue.
#include "rtexec/runtime/executive/device_driver.hpp"
#include "test/rtexec/runtime/device_doubles.hpp"
#include "test/support/eventually.hpp"

#include <gmock/gmock.h>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace rtexec::test {
namespace {

using executive::DeviceClient;
using executive::DeviceDriver;
using executive::DeviceMemory;
using policies::Event;

struct Execution {
  std::uint32_t task = 0;
  MemoryPolicy as = MemoryPolicy::device;
  int thread = 0;
  int beside = 0; // concurrent executions
  std::uint32_t segment = 0;
};

struct Log {
  std::mutex mutex;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> launches{}; // tasks and segments
  std::vector<std::size_t> launched_by_end{};                      // before the end of each execution
  std::vector<Execution> executions{};
  std::vector<std::pair<std::uint32_t, executive::DevicePart>> parts{}; // of tasks, in the order of their ends
  int now_executing = 0;
  std::vector<std::uint32_t> started;          // tasks, in the order of their executions
  std::vector<std::optional<Errc>> outcomes{}; // in the order of their ends
  std::vector<Duration> passed{}, executed{};  // parallel to these
  void clear() {
    started.clear(), outcomes.clear(), passed.clear(), executed.clear(), executions.clear(), parts.clear();
    launches.clear();
    launched_by_end.clear();
  }
  std::size_t ended() {
    const std::lock_guard lock(mutex);
    return outcomes.size();
  }
  std::size_t begun() {
    const std::lock_guard lock(mutex);
    return executions.size();
  }
  bool ended(std::uint32_t task) {
    const std::lock_guard lock(mutex);
    return std::ranges::find(parts, task, &std::pair<std::uint32_t, executive::DevicePart>::first) != parts.end();
  }
};

class Client final : public DeviceClient {
 public:
  Client(Log& log, std::uint32_t task) : log_(log), task_(task) {}
  [[nodiscard]] bool launches() const noexcept override { return hands_over; }
  Status launch(std::uint32_t segment) noexcept override {
    const std::lock_guard lock(log_.mutex);
    log_.launches.emplace_back(task_, segment);
    return launch_fails_in == segment ? Status(Unexpected(Errc::io_error)) : Status();
  }
  Status execute(MemoryPolicy as, std::uint32_t segment) noexcept override {
    std::size_t nth = 0;
    {
      const std::lock_guard lock(log_.mutex);
      log_.started.push_back(task_);
      log_.executions.push_back({task_, as, ::gettid(), log_.now_executing++, segment});
      nth = log_.executions.size();
    }
    hal::sleep_until(hal::now() + takes);
    if (may_end) eventually([&] { return may_end(nth); });
    if (segment == ends_in) eventually([this] { return launched() == ends_after_launches; });
    const std::lock_guard lock(log_.mutex);
    --log_.now_executing;
    log_.launched_by_end.push_back(log_.launches.size());
    return fails && segment == fails_in ? Status(Unexpected(Errc::device_fault)) : Status();
  }
  void device_part_ended(const executive::DevicePart& part) noexcept override {
    const std::lock_guard lock(log_.mutex);
    log_.passed.push_back(part.end - part.begin);
    log_.executed.push_back(part.executed);
    log_.outcomes.push_back(part.outcome ? std::nullopt : std::optional(part.outcome.error()));
    log_.parts.push_back({task_, part});
  }

  Duration takes{0};
  bool fails = false;
  std::uint32_t fails_in = 0; // the segment
  std::optional<std::uint32_t> launch_fails_in;
  bool hands_over = true;
  std::optional<std::uint32_t> ends_in; // a segment whose execution waits for `ends_after_launches`
  std::size_t ends_after_launches = 0;
  // If set, execution number `nth`, counted from 1 over all, ends only once it returns true. Called without a lock.
  std::function<bool(std::size_t nth)> may_end;

 private:
  std::size_t launched() {
    const std::lock_guard lock(log_.mutex);
    return log_.launches.size();
  }

  Log& log_;
  std::uint32_t task_;
};

/// Three resident tasks, under EDF.
class DeviceDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = std::make_unique<DeviceDouble>(faults_, small_chunk * 8, small_chunk);
    auto memory = DeviceMemory::lay_out(*device_, std::vector<executive::TaskMemory>(clients_.size()), {});
    ASSERT_TRUE(memory);
    memory_ = std::move(*memory);
    make_driver(Duration(0));
  }
  void await_executions(std::size_t count) {
    while (log_.begun() < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void make_driver(Duration max_not_executed) {
    Plan plan;
    plan.tasks.resize(clients_.size());
    driver_ = std::make_unique<DeviceDriver>(
        policies::DeviceScheduler(plan), *device_, *memory_,
        std::vector<DeviceClient*>{&clients_[0], &clients_[1], &clients_[2]},
        DeviceDriver::Options{.max_not_executed = max_not_executed,
                              .failed = [](void* self) noexcept { ++*static_cast<std::atomic<int>*>(self); },
                              .self = &failures_});
  }
  void request(std::uint32_t task, Duration deadline) {
    driver_->post({.kind = Event::Kind::job_requested, .job = {task, 0}, .now = {}, .deadline = Instant(deadline)});
  }
  /// Runs until `jobs` jobs have ended.
  void run(std::size_t jobs) {
    std::thread scheduler([this] { driver_->run(); });
    while (log_.ended() < jobs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    driver_->stop();
    scheduler.join();
  }

  std::shared_ptr<DeviceState> faults_ = std::make_shared<DeviceState>();
  std::unique_ptr<DeviceDouble> device_;
  std::unique_ptr<DeviceMemory> memory_;
  Log log_;
  std::array<Client, 3> clients_{Client{log_, 0}, Client{log_, 1}, Client{log_, 2}};
  std::atomic<int> failures_{0};
  std::unique_ptr<DeviceDriver> driver_;
};

TEST_F(DeviceDriverTest, StartsMostUrgentWaitingRequestFirst) {
  request(0, std::chrono::seconds(3));
  request(1, std::chrono::seconds(2));
  request(2, std::chrono::seconds(1));
  run(3);
  EXPECT_THAT(log_.started, testing::ElementsAre(2u, 1u, 0u));
  EXPECT_EQ(driver_->refused(), 0u);
  EXPECT_EQ(driver_->lost_events(), 0u);
}

/// Time that the device reports as not executed counts only up to the option's limit.
TEST_F(DeviceDriverTest, LimitsTimeNotCountedAsExecution) {
  using std::chrono::milliseconds;
  struct Case {
    std::optional<Duration> device; // the execution time that the device reports
    Duration most{0};
    Duration at_least{0}, at_most{0}; // limits of the passed time that is not execution
  };
  const Duration no_limit = Duration::max();
  for (const auto& [device, most, at_least, at_most] :
       {Case{{}, no_limit, {}, {}}, Case{Duration(0), no_limit, milliseconds(2), no_limit},
        Case{Duration(0), {}, {}, {}}, Case{Duration(0), milliseconds(1), milliseconds(1), milliseconds(1)}}) {
    faults_->executed = device;
    clients_[0].takes = milliseconds(2);
    make_driver(most);
    log_.clear();
    request(0, std::chrono::seconds(1));
    run(1);
    ASSERT_EQ(log_.executed.size(), 1u);
    EXPECT_GE(log_.passed[0] - log_.executed[0], at_least);
    EXPECT_LE(log_.passed[0] - log_.executed[0], at_most);
    EXPECT_GE(log_.passed[0], milliseconds(2));
  }
}

TEST_F(DeviceDriverTest, CountsWholeTimeOfFailedPartAsExecution) {
  faults_->executed = Duration(0);
  make_driver(Duration::max());
  clients_[0].fails = true;
  request(0, std::chrono::seconds(1));
  run(1);
  EXPECT_EQ(log_.executed[0], log_.passed[0]);
}

TEST_F(DeviceDriverTest, CountsLostEventsAndCancelsEveryJob) {
  for (int i = 0; i < 9; ++i)
    driver_->post({.kind = Event::Kind::job_withdrawn, .job = {1, 0}, .now = {}, .deadline = {}});
  EXPECT_EQ(driver_->lost_events(), 1u);
  EXPECT_EQ(failures_, 1);
  request(0, std::chrono::seconds(1));
  request(1, std::chrono::seconds(1)); // does not fit either
  EXPECT_EQ(driver_->lost_events(), 2u);
  run(2);
  EXPECT_TRUE(log_.started.empty());
  EXPECT_THAT(log_.outcomes, testing::ElementsAre(Errc::cancelled, Errc::cancelled));
}

// ---- segments ----

using std::chrono::milliseconds;

/// Task 0 is of the top class, task 1 has three segments on level 1, and task 2 has three on level 2.
class DriverSegmentsTest : public DeviceDriverTest {
 protected:
  void SetUp() override {
    DeviceDriverTest::SetUp();
    make_driver(0);
    for (Client& each : clients_) each.takes = milliseconds(20);
  }
  void make_driver(std::uint32_t launch_ahead) {
    Plan plan;
    plan.launch_ahead = launch_ahead;
    plan.tasks.resize(clients_.size());
    for (std::uint32_t i = 0; i < 3; ++i) plan.tasks[i].device_class = i;
    plan.tasks[1].segments = plan.tasks[2].segments = 3;
    driver_ = std::make_unique<DeviceDriver>(
        policies::DeviceScheduler(plan), *device_, *memory_,
        std::vector<DeviceClient*>{&clients_[0], &clients_[1], &clients_[2]},
        DeviceDriver::Options{.segments = {1, 3, 3},
                              .launch_ahead = launch_ahead,
                              .failed = [](void* self) noexcept { ++*static_cast<std::atomic<int>*>(self); },
                              .self = &failures_});
  }
  /// Calls `act` while the driver runs, once `count` segments have begun.
  void after_begins(std::size_t count, const auto& act) {
    hold(count);
    later_ = std::thread([this, count, act] {
      await_executions(count);
      act();
      came_ = true;
    });
  }
  /// Keeps the `nth` execution going until the concurrent events have arrived.
  void hold(std::size_t nth) {
    came_ = false;
    for (Client& each : clients_) each.may_end = [this, nth](std::size_t own) { return own != nth || came_; };
  }
  void run(std::size_t jobs) {
    DeviceDriverTest::run(jobs);
    if (later_.joinable()) later_.join();
  }
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> begun() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
    for (const Execution& each : log_.executions) all.emplace_back(each.task, each.segment);
    return all;
  }
  [[nodiscard]] const executive::DevicePart& part(std::uint32_t task) const {
    return std::ranges::find(log_.parts, task, &std::pair<std::uint32_t, executive::DevicePart>::first)->second;
  }
  using Order = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  std::thread later_;
  std::atomic<bool> came_{false};
};

TEST_F(DriverSegmentsTest, SegmentsOfOneJobExecuteInSequence) {
  request(1, std::chrono::seconds(1));
  run(1);
  EXPECT_EQ(begun(), (Order{{1, 0}, {1, 1}, {1, 2}}));
  EXPECT_GE(part(1).executed, milliseconds(60));
  EXPECT_GE(part(1).longest, milliseconds(20));
  EXPECT_LT(part(1).longest, part(1).executed);
  EXPECT_EQ(part(1).preemptions, 0u);
  EXPECT_EQ(driver_->refused(), 0u);
}

TEST_F(DriverSegmentsTest, HigherPreemptionClassExecutesAtNextCutPoint) {
  request(2, std::chrono::seconds(1));
  after_begins(1, [this] {
    request(0, std::chrono::seconds(9));
    request(1, std::chrono::seconds(9));
  });
  run(3);
  EXPECT_EQ(begun(), (Order{{2, 0}, {0, 0}, {1, 0}, {1, 1}, {1, 2}, {2, 1}, {2, 2}}));
  EXPECT_EQ(part(2).preemptions, 1u);
  EXPECT_GE(part(2).end - part(2).begin, milliseconds(140)) << "with what others executed";
  EXPECT_LT(part(2).executed, part(2).end - part(2).begin - milliseconds(60)) << "which is not its own";
}

TEST_F(DriverSegmentsTest, JobEndsWhenOneSegmentFails) {
  clients_[1].fails = true;
  clients_[1].fails_in = 1;
  request(1, std::chrono::seconds(1));
  request(2, std::chrono::seconds(1));
  run(2);
  EXPECT_EQ(begun(), (Order{{1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}}));
  EXPECT_EQ(part(1).outcome, Status(Unexpected(Errc::device_fault)));
  EXPECT_TRUE(part(2).outcome);
}

TEST_F(DriverSegmentsTest, WithdrawnJobEndsAfterCurrentSegment) {
  request(1, std::chrono::seconds(1));
  after_begins(1, [this] {
    driver_->post({.kind = Event::Kind::job_withdrawn, .job = {1, 0}, .now = {}, .deadline = {}});
  });
  run(1);
  EXPECT_EQ(begun(), (Order{{1, 0}}));
  EXPECT_EQ(part(1).outcome, Status(Unexpected(Errc::cancelled)));
}

TEST_F(DriverSegmentsTest, CancelsPreemptedJobsAfterLostEvent) {
  request(2, std::chrono::seconds(1));
  std::atomic<bool> requested{false};
  for (Client& each : clients_)
    each.may_end = [&](std::size_t nth) { return nth == 1 ? requested.load() : driver_->lost_events() > 0; };
  std::thread loses([&] {
    await_executions(1);
    request(1, std::chrono::seconds(1));
    requested = true;
    await_executions(2);
    while (driver_->lost_events() == 0)
      driver_->post({.kind = Event::Kind::job_withdrawn, .job = {0, 0}, .now = {}, .deadline = {}});
  });
  run(2);
  loses.join();
  EXPECT_THAT(log_.outcomes, testing::Each(testing::Optional(Errc::cancelled)));
}

// ---- segments that are launched ahead ----

/// A SegmentsTest whose device has the next segment of a job while one executes.
class LaunchAheadTest : public DriverSegmentsTest {
 protected:
  void SetUp() override {
    DriverSegmentsTest::SetUp();
    make_driver(1);
  }
};

TEST_F(LaunchAheadTest, LaunchesAndExecutesEverySegmentOnceInOrder) {
  request(1, std::chrono::seconds(1));
  run(1);
  EXPECT_EQ(begun(), (Order{{1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(log_.launches, (Order{{1, 0}, {1, 1}, {1, 2}}));
  EXPECT_GE(part(1).executed, milliseconds(60));
  EXPECT_LT(part(1).longest, part(1).executed - milliseconds(39)) << "of three of 20 ms or more";
  EXPECT_EQ(part(1).preemptions, 0u);
  EXPECT_EQ(driver_->refused(), 0u);
}

/// Segment 1 ends only once segment 2 is launched, or after a timeout. The engine has other work until the scheduler
/// has submitted all committed segments of the job. It decides on the job of task 2 later, and that job is withdrawn.
TEST_F(LaunchAheadTest, LaunchesNextSegmentBeforeCurrentOneEnds) {
  const hal::Work other{.run =
                            [](void* log) noexcept {
                              return eventually([log] { return static_cast<Log*>(log)->ended() > 0; })
                                         ? Status()
                                         : Status(Unexpected(Errc::cancelled));
                            },
                        .done = [](void*, Status, Instant, Instant) noexcept {},
                        .context = &log_};
  clients_[1].ends_in = 1;
  clients_[1].ends_after_launches = 3;
  for (const std::uint32_t launch_ahead : {1u, 2u}) {
    make_driver(launch_ahead);
    log_.clear();
    ASSERT_TRUE(device_->engine(hal::EngineKind::compute).submit(other));
    request(1, std::chrono::seconds(1));
    request(2, std::chrono::seconds(2));
    driver_->post({.kind = Event::Kind::job_withdrawn, .job = {2, 0}, .now = {}, .deadline = {}});
    run(2);
    EXPECT_EQ(log_.launched_by_end.at(1), 3u) << launch_ahead;
  }
}

TEST_F(LaunchAheadTest, LaunchesNothingForClientThatDoesNotSupportIt) {
  clients_[2].hands_over = false;
  make_driver(1);
  request(2, std::chrono::seconds(1));
  after_begins(1, [this] { request(0, std::chrono::seconds(9)); });
  run(2);
  EXPECT_EQ(begun(), (Order{{2, 0}, {2, 1}, {0, 0}, {2, 2}}));
  EXPECT_TRUE(log_.launches.empty());
}

TEST_F(LaunchAheadTest, UrgentJobWaitsForLaunchedSegments) {
  request(2, std::chrono::seconds(1));
  after_begins(1, [this] { request(0, std::chrono::seconds(9)); });
  run(2);
  EXPECT_EQ(begun(), (Order{{2, 0}, {2, 1}, {0, 0}, {2, 2}}));
  EXPECT_EQ(part(2).preemptions, 1u);
  EXPECT_LT(part(2).executed, part(2).end - part(2).begin - milliseconds(15));
}

TEST_F(LaunchAheadTest, FailedJobExecutesNoFurtherSegmentAndNextJobDoes) {
  for (const std::uint32_t fails_in : {0u, 1u, 2u}) {
    make_driver(3);
    log_.clear();
    clients_[1].fails = true;
    clients_[1].fails_in = fails_in;
    request(1, std::chrono::seconds(1));
    request(2, std::chrono::seconds(1));
    run(2);
    Order expected;
    for (std::uint32_t segment = 0; segment <= fails_in; ++segment) expected.emplace_back(1, segment);
    for (std::uint32_t segment = 0; segment < 3; ++segment) expected.emplace_back(2, segment);
    EXPECT_EQ(begun(), expected);
    EXPECT_EQ(part(1).outcome, Status(Unexpected(Errc::device_fault)));
    EXPECT_TRUE(part(2).outcome);
  }
}

/// The job's end is reported, and the task's next job requested, while the rest of the job waits at the engine.
TEST_F(LaunchAheadTest, NextJobOfTaskExecutesEverySegmentAfterFailedJob) {
  make_driver(3);
  clients_[1].fails = true;
  clients_[1].fails_in = 0;
  request(1, std::chrono::seconds(1));
  std::thread next([this] {
    while (log_.ended() == 0) std::this_thread::yield();
    clients_[1].fails = false;
    driver_->post({.kind = Event::Kind::job_requested, .job = {1, 1}, .now = {}, .deadline = {}});
  });
  run(2);
  next.join();
  EXPECT_EQ(begun(), (Order{{1, 0}, {1, 0}, {1, 1}, {1, 2}}));
  EXPECT_THAT(log_.outcomes, testing::ElementsAre(Errc::device_fault, std::nullopt));
  EXPECT_EQ(driver_->refused(), 0u);
}

/// The client then reports that nothing of the job is under way.
TEST_F(LaunchAheadTest, JobEndsWhenLaunchOfSegmentFails) {
  for (const std::uint32_t segment : {0u, 2u}) {
    make_driver(2);
    log_.clear();
    clients_[1].launch_fails_in = segment;
    request(1, std::chrono::seconds(1));
    request(2, std::chrono::seconds(1));
    run(2);
    Order expected;
    if (segment == 2) expected.emplace_back(1, 0);
    for (std::uint32_t each = 0; each < 3; ++each) expected.emplace_back(2, each);
    EXPECT_EQ(begun(), expected) << segment;
    EXPECT_EQ(part(1).outcome, Status(Unexpected(Errc::io_error)));
    EXPECT_TRUE(part(2).outcome);
  }
}

TEST_F(LaunchAheadTest, WithdrawnJobEndsAfterLaunchedSegments) {
  request(1, std::chrono::seconds(1));
  after_begins(1, [this] {
    driver_->post({.kind = Event::Kind::job_withdrawn, .job = {1, 0}, .now = {}, .deadline = {}});
  });
  run(1);
  EXPECT_EQ(begun(), (Order{{1, 0}, {1, 1}}));
  EXPECT_EQ(part(1).outcome, Status(Unexpected(Errc::cancelled)));
}

TEST_F(LaunchAheadTest, JobEndsOnceAfterLaunchedSegmentsWhenEventIsLost) {
  request(1, std::chrono::seconds(1));
  after_begins(1, [this] {
    while (driver_->lost_events() == 0)
      driver_->post({.kind = Event::Kind::job_withdrawn, .job = {0, 0}, .now = {}, .deadline = {}});
  });
  run(1);
  EXPECT_EQ(begun(), (Order{{1, 0}, {1, 1}}));
  EXPECT_THAT(log_.outcomes, testing::ElementsAre(Errc::cancelled));
}

// ---- concurrent jobs ----

/// Task 0 is under D, task 1 under D/H with a long wait, task 2 never runs concurrently.
class CoRunPairTest : public DeviceDriverTest {
 protected:
  void SetUp() override {
    DeviceDriverTest::SetUp();
    ASSERT_TRUE(device_->start_secondary_compute());
    make_driver();
    clients_[0].takes = milliseconds(5);
    clients_[1].takes = milliseconds(20);
  }
  void make_driver() {
    Plan plan;
    plan.tasks.resize(clients_.size());
    plan.tasks[0].co_run = CoRun{.wcet = milliseconds(10), .idle = {}};
    plan.tasks[1].co_run = CoRun{.wcet = milliseconds(30), .idle = milliseconds(15)};
    plan.tasks[1].memory_policy = MemoryPolicy::switching;
    driver_ = std::make_unique<DeviceDriver>(
        policies::DeviceScheduler(plan), *device_, *memory_,
        std::vector<DeviceClient*>{&clients_[0], &clients_[1], &clients_[2]},
        DeviceDriver::Options{.co_run = warmed_up_,
                              .max_not_executed = Duration::max(),
                              .failed = [](void* self) noexcept { ++*static_cast<std::atomic<int>*>(self); },
                              .self = &failures_});
  }
  /// Requests all tasks. Task 2 has the device when the others request it.
  void request_all() {
    request(2, std::chrono::seconds(1));
    request(1, std::chrono::seconds(2));
    request(0, std::chrono::seconds(3));
  }
  [[nodiscard]] const Execution& execution(std::uint32_t task) const {
    return *std::ranges::find(log_.executions, task, &Execution::task);
  }
  [[nodiscard]] int thread_of(hal::EngineKind kind) { return device_->engine(kind).kernel_id(); }
  [[nodiscard]] const executive::DevicePart& part(std::uint32_t task) const {
    return std::ranges::find(log_.parts, task, &std::pair<std::uint32_t, executive::DevicePart>::first)->second;
  }

  std::vector<std::vector<MemoryPolicy>> warmed_up_{{}, {}, {}};
};

TEST_F(CoRunPairTest, SecondJobExecutesConcurrentlyOnSecondEngine) {
  clients_[0].may_end = [this](std::size_t) { return log_.begun() == 3; };
  clients_[1].may_end = [this](std::size_t) { return log_.ended(0); };
  request_all();
  run(3);
  EXPECT_EQ(part(2).concurrency, hal::Concurrency::alone);
  const auto &waiting = execution(1), &computing = execution(0);
  EXPECT_EQ(waiting.thread, thread_of(hal::EngineKind::compute)) << "of the head";
  EXPECT_EQ(waiting.as, MemoryPolicy::host) << "another one executes beside it";
  EXPECT_EQ(computing.thread, thread_of(hal::EngineKind::secondary_compute));
  EXPECT_EQ(computing.as, MemoryPolicy::device);
  EXPECT_EQ(waiting.beside + computing.beside, 1) << "at once";
  EXPECT_EQ(log_.parts.back().first, 1u) << "it ends behind the other one";
  for (const std::uint32_t task : {0u, 1u}) EXPECT_EQ(part(task).concurrency, hal::Concurrency::concurrent);
  EXPECT_EQ(driver_->refused(), 0u);
}

TEST_F(CoRunPairTest, JobUnderSwitchingPolicyExecutesUnderDWhenAlone) {
  request(1, std::chrono::seconds(1));
  run(1);
  EXPECT_EQ(execution(1).as, MemoryPolicy::device);
  EXPECT_EQ(part(1).concurrency, hal::Concurrency::alone);
}

TEST_F(CoRunPairTest, ExecutionTimeIncludesWaitForBusyEngine) {
  device_->engine(hal::EngineKind::secondary_compute).call([&]() noexcept { return Status(); });
  // Its engine's thread is late, as if the other job, which has begun, had the core.
  const hal::Work late{.run =
                           [](void* log) noexcept {
                             eventually([log] { return static_cast<Log*>(log)->begun() == 2; });
                             return hal::sleep_until(hal::now() + milliseconds(40)), Status();
                           },
                       .done = [](void*, Status, Instant, Instant) noexcept {},
                       .context = &log_};
  ASSERT_TRUE(device_->engine(hal::EngineKind::secondary_compute).submit(late));
  request_all();
  run(3);
  EXPECT_GE(part(0).executed, milliseconds(25)) << "it waited for its engine, and took 5 ms then";
  EXPECT_LT(part(0).begin - part(1).begin, milliseconds(5));
}

TEST_F(CoRunPairTest, NextJobStartsAfterBothHaveEnded) {
  for (const Duration of_the_second : {milliseconds(5), milliseconds(40)}) { // the second one ends first, and last
    make_driver();
    log_.clear();
    clients_[0].takes = of_the_second;
    request_all();
    std::thread scheduler([this] { driver_->run(); });
    await_executions(3);
    driver_->post({.kind = Event::Kind::job_requested, .job = {2, 1}, .now = {}, .deadline = Instant(milliseconds(1))});
    while (log_.ended() < 4) std::this_thread::sleep_for(milliseconds(1));
    driver_->stop();
    scheduler.join();
    // The scheduler learns of an end before the client does. Clients on two engines may report theirs in another order.
    const auto& last = *std::ranges::max_element(log_.parts, {}, [](const auto& ended) { return ended.second.begin; });
    for (const std::uint32_t task : {0u, 1u}) EXPECT_GE(last.second.begin, part(task).end);
    EXPECT_EQ(last.first, 2u);
  }
}

TEST_F(CoRunPairTest, ErrorOfOneJobLeavesOtherUnaffected) {
  for (const std::uint32_t failing : {0u, 1u}) {
    make_driver();
    log_.clear();
    clients_[0].fails = failing == 0;
    clients_[1].fails = failing == 1;
    request_all();
    run(3);
    EXPECT_FALSE(part(failing).outcome);
    EXPECT_TRUE(part(1 - failing).outcome);
  }
}

TEST_F(CoRunPairTest, JobsEndWhenWithdrawnDuringExecution) {
  request_all();
  std::thread scheduler([this] { driver_->run(); });
  await_executions(3);
  for (const std::uint32_t task : {0u, 1u})
    driver_->post({.kind = Event::Kind::job_withdrawn, .job = {task, 0}, .now = {}, .deadline = {}});
  while (log_.ended() < 3) std::this_thread::sleep_for(milliseconds(1));
  driver_->stop();
  scheduler.join();
  EXPECT_EQ(failures_, 0);
  EXPECT_EQ(driver_->refused(), 0u);
}

TEST_F(CoRunPairTest, JobExecutesAloneWhenPartnerIsWithdrawnBeforeStart) {
  std::atomic<bool> withdrawn{false};
  clients_[2].may_end = [&](std::size_t) { return withdrawn.load(); };
  request_all();
  std::thread scheduler([this] { driver_->run(); });
  await_executions(1);
  driver_->post({.kind = Event::Kind::job_withdrawn, .job = {0, 0}, .now = {}, .deadline = {}});
  withdrawn = true;
  while (log_.ended() < 3) std::this_thread::sleep_for(milliseconds(1));
  driver_->stop();
  scheduler.join();
  EXPECT_EQ(part(0).outcome, Status(Unexpected(Errc::cancelled)));
  EXPECT_EQ(part(1).concurrency, hal::Concurrency::alone);
  EXPECT_EQ(execution(1).as, MemoryPolicy::device);
}

TEST_F(CoRunPairTest, BothJobsEndWhenDriverIsStopped) {
  request_all();
  driver_->stop();
  driver_->run();
  EXPECT_TRUE(eventually([&] { return log_.ended() == 3; })) << "the engine's thread tells them";
}

TEST_F(CoRunPairTest, WarmUpExecutesEachPolicyOnEachEngineAndReportsOnce) {
  warmed_up_ = {{MemoryPolicy::device}, {MemoryPolicy::device, MemoryPolicy::host}, {}};
  make_driver();
  request_all();
  run(3);
  const auto has = [&](std::uint32_t task, MemoryPolicy as, hal::EngineKind kind) {
    return std::ranges::any_of(log_.executions, [&](const Execution& each) {
      return each.task == task && each.as == as && each.thread == thread_of(kind);
    });
  };
  for (const auto kind : {hal::EngineKind::compute, hal::EngineKind::secondary_compute}) {
    EXPECT_TRUE(has(0, MemoryPolicy::device, kind));
    EXPECT_TRUE(has(1, MemoryPolicy::device, kind) && has(1, MemoryPolicy::host, kind));
  }
  EXPECT_TRUE(has(2, MemoryPolicy::device, hal::EngineKind::compute));
  EXPECT_EQ(log_.parts.size(), 3u);
  log_.clear();
  request(0, std::chrono::seconds(4));
  run(1);
  EXPECT_EQ(log_.executions.size(), 1u) << "once only";
}

TEST_F(CoRunPairTest, ErrorInWarmUpEndsItsJob) {
  warmed_up_ = {{MemoryPolicy::device}, {}, {}};
  make_driver();
  clients_[0].fails = true;
  request(0, std::chrono::seconds(1));
  run(1);
  EXPECT_EQ(log_.executions.size(), 1u);
  EXPECT_FALSE(part(0).outcome);
}

TEST_F(CoRunPairTest, LostEventCancelsRemainingWarmUp) {
  warmed_up_ = {{MemoryPolicy::device}, {}, {}};
  make_driver();
  clients_[0].may_end = [this](std::size_t) { return driver_->lost_events() > 0; };
  request(0, std::chrono::seconds(1));
  std::thread scheduler([this] { driver_->run(); });
  await_executions(1);
  const Instant enough = hal::now() + std::chrono::seconds(20);
  while (driver_->lost_events() == 0 && hal::now() < enough)
    driver_->post({.kind = Event::Kind::job_withdrawn, .job = {1, 0}, .now = {}, .deadline = {}});
  EXPECT_GT(driver_->lost_events(), 0u);
  while (log_.ended() < 1) std::this_thread::sleep_for(milliseconds(1));
  driver_->stop();
  scheduler.join();
  EXPECT_EQ(part(0).outcome, Status(Unexpected(Errc::cancelled)));
}

} // namespace
} // namespace rtexec::test
