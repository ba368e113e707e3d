// What the scheduler thread makes of events that came together, and of events that find no room.
#include "rtexec/executive/device_driver.hpp"
#include "test/rtexec/device_doubles.hpp"

#include <gmock/gmock.h>
#include <mutex>
#include <thread>

namespace rtexec::test {
namespace {

using executive::DeviceClient;
using executive::DeviceDriver;
using executive::DeviceMemory;
using policies::Event;

struct Log {
  std::mutex mutex;
  std::vector<std::uint32_t> started;          // tasks, in the order of their executions
  std::vector<std::optional<Errc>> outcomes{}; // in the order of their ends
  std::vector<Duration> passed{}, executed{};  // parallel to these
  void clear() { started.clear(), outcomes.clear(), passed.clear(), executed.clear(); }
  std::size_t ended() {
    const std::lock_guard lock(mutex);
    return outcomes.size();
  }
};

class Client final : public DeviceClient {
 public:
  Client(Log& log, std::uint32_t task) : log_(log), task_(task) {}
  Status execute() noexcept override {
    const std::lock_guard lock(log_.mutex);
    log_.started.push_back(task_);
    hal::sleep_until(hal::now() + takes);
    return fails ? Status(Unexpected(Errc::device_fault)) : Status();
  }
  void device_part_ended(Status outcome, Instant begin, Instant end, Duration executed) noexcept override {
    const std::lock_guard lock(log_.mutex);
    log_.passed.push_back(end - begin);
    log_.executed.push_back(executed);
    log_.outcomes.push_back(outcome ? std::nullopt : std::optional(outcome.error()));
  }

  Duration takes{0};
  bool fails = false;

 private:
  Log& log_;
  std::uint32_t task_;
};

/// Three resident tasks, under EDF.
class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = std::make_unique<DeviceDouble>(faults_, small_chunk * 8, small_chunk);
    auto memory = DeviceMemory::lay_out(*device_, std::vector<executive::Tenant>(clients_.size()), {});
    ASSERT_TRUE(memory);
    memory_ = std::move(*memory);
    make_driver(Duration(0));
  }
  void make_driver(Duration most_not_executed) {
    Plan plan;
    plan.tasks.resize(clients_.size());
    driver_ = std::make_unique<DeviceDriver>(
        policies::DeviceScheduler(plan), *device_, *memory_,
        std::vector<DeviceClient*>{&clients_[0], &clients_[1], &clients_[2]},
        DeviceDriver::Options{.most_not_executed = most_not_executed,
                              .failed = [](void* self) noexcept { ++*static_cast<std::atomic<int>*>(self); },
                              .self = &failures_});
  }
  void request(std::uint32_t task, Duration deadline) {
    driver_->post({.kind = Event::Kind::job_requested, .job = {task, 0}, .now = {}, .deadline = Instant(deadline)});
  }
  /// Until so many jobs have ended.
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

TEST_F(DriverTest, StartsTheMostUrgentOfTheRequestsThatWaitForIt) {
  request(0, std::chrono::seconds(3));
  request(1, std::chrono::seconds(2));
  request(2, std::chrono::seconds(1));
  run(3);
  EXPECT_THAT(log_.started, testing::ElementsAre(2u, 1u, 0u));
  EXPECT_EQ(driver_->refused(), 0u);
  EXPECT_EQ(driver_->lost_events(), 0u);
}

/// What the device says it did not execute counts only as far as the option goes.
TEST_F(DriverTest, WhatIsNotExecutionIsLimited) {
  using std::chrono::milliseconds;
  struct Case {
    std::optional<Duration> device; // says that it executed so long
    Duration most{0};
    Duration at_least{0}, at_most{0}; // of the passed time that is not execution
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

TEST_F(DriverTest, OfAPartThatFailedAllCounts) {
  faults_->executed = Duration(0);
  make_driver(Duration::max());
  clients_[0].fails = true;
  request(0, std::chrono::seconds(1));
  run(1);
  EXPECT_EQ(log_.executed[0], log_.passed[0]);
}

TEST_F(DriverTest, CountsAnEventWithoutRoomAndCancelsEveryJob) {
  for (int i = 0; i < 9; ++i)
    driver_->post({.kind = Event::Kind::job_withdrawn, .job = {1, 0}, .now = {}, .deadline = {}});
  EXPECT_EQ(driver_->lost_events(), 1u);
  EXPECT_EQ(failures_, 1);
  request(0, std::chrono::seconds(1));
  request(1, std::chrono::seconds(1)); // finds no room either
  EXPECT_EQ(driver_->lost_events(), 2u);
  run(2);
  EXPECT_TRUE(log_.started.empty());
  EXPECT_THAT(log_.outcomes, testing::ElementsAre(Errc::cancelled, Errc::cancelled));
}

} // namespace
} // namespace rtexec::test
