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
    return {};
  }
  void device_part_ended(Status outcome, Instant, Instant) noexcept override {
    const std::lock_guard lock(log_.mutex);
    log_.outcomes.push_back(outcome ? std::nullopt : std::optional(outcome.error()));
  }

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
    Plan plan;
    plan.tasks.resize(clients_.size());
    driver_ = std::make_unique<DeviceDriver>(
        policies::DeviceScheduler(plan), *device_, *memory_,
        std::vector<DeviceClient*>{&clients_[0], &clients_[1], &clients_[2]},
        DeviceDriver::Options{.failed = [](void* self) noexcept { ++*static_cast<std::atomic<int>*>(self); },
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
