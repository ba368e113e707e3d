// Tests a workload that moves memory concurrently with the device.
#include "tasks/make/make_workload.hpp"
#include "tasks/loads/traffic/traffic_workload.hpp"

#include "hal/host/host_device.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace rtexec::tasks {
namespace {

constexpr Bytes line{64}, page{4096};

Task traffic_task() {
  Task task;
  task.name = "load";
  task.workload = WorkloadKind::traffic;
  task.traffic_before = line * 10;
  task.traffic_after = line * 3;
  task.buffer = page * 16;
  return task;
}

/// Uses lines of 64 bytes, regardless of the machine.
class TrafficTask : public testing::Test {
 protected:
  [[nodiscard]] Result<std::unique_ptr<TrafficWorkload>> tried(const Task& task) const {
    return TrafficWorkload::make(task, hal::Machine(folder_.path()));
  }
  [[nodiscard]] std::unique_ptr<TrafficWorkload> made(const Task& task) const {
    auto workload = tried(task);
    EXPECT_EQ(test::problem(workload), "none");
    return workload ? std::move(*workload) : nullptr;
  }
  test::ScratchFolder folder_;
};

TEST_F(TrafficTask, MovesBytesBeforeAndAfterDevicePart) {
  const auto workload = made(traffic_task());
  const auto device = hal::HostDevice::open(page, page);
  ASSERT_TRUE(device);
  ASSERT_TRUE(workload->bind(**device, {}));
  const auto before = test::allocations();
  for (std::uint64_t job = 0; job < 3; ++job) {
    const auto at = line * (13 * job);
    EXPECT_EQ(workload->generator().position(), at);
    EXPECT_TRUE(workload->before(job));
    EXPECT_EQ(workload->generator().position(), at + line * 10);
    EXPECT_TRUE(workload->execute());
    EXPECT_EQ(workload->generator().position(), at + line * 10);
    EXPECT_TRUE(workload->after(job));
    EXPECT_EQ(workload->generator().position(), at + line * 13);
  }
  EXPECT_EQ(test::allocations(), before);
}

TEST_F(TrafficTask, TakesNoDeviceMemory) {
  const auto workload = made(traffic_task());
  const auto demand = workload->memory();
  EXPECT_EQ(demand.constant + demand.scratch + demand.state + demand.fixed, Bytes{0});
  EXPECT_TRUE(demand.objects.empty());
  EXPECT_TRUE(workload->constants().empty());
}

TEST_F(TrafficTask, FingerprintDependsOnSettings) {
  std::set<std::string> prints;
  const std::function<void(Task&)> changes[]{
      [](Task&) {},
      [](Task& task) { task.pattern = TrafficPattern::read; },
      [](Task& task) { task.traffic_before = line * 11; },
      [](Task& task) { task.traffic_after = line * 4; },
      [](Task& task) { task.buffer = page * 17; },
  };
  for (const auto& change : changes) {
    Task task = traffic_task();
    change(task);
    prints.insert(made(task)->fingerprint());
  }
  EXPECT_EQ(prints.size(), std::size(changes));
  EXPECT_EQ(made(traffic_task())->fingerprint(), made(traffic_task())->fingerprint());
  EXPECT_TRUE(prints.begin()->starts_with("traffic-"));
}

TEST_F(TrafficTask, TakesBufferAndLineSizeFromMachine) {
  const std::string cache = "sys/devices/system/cpu/cpu0/cache/index3/";
  for (const auto& [name, value] :
       {std::pair("level", "3"), {"type", "Unified"}, {"size", "5120K"}, {"coherency_line_size", "128"}})
    test::write_text(folder_ / (cache + name), value);
  Task task = traffic_task();
  task.buffer.reset();
  const auto workload = made(task);
  EXPECT_EQ(workload->generator().buffer().size(), std::size_t{20} << 20);
  EXPECT_EQ(workload->generator().unit(), Bytes{128});
}

TEST_F(TrafficTask, RejectsSettingsThatMoveNothing) {
  Task task = traffic_task();
  task.traffic_before = Bytes{63};
  EXPECT_TRUE(test::fails(tried(task), Errc::bad_input, "traffic_before = 63B"));
  task.traffic_before = line;
  task.pattern = TrafficPattern::copy;
  EXPECT_TRUE(test::fails(tried(task), Errc::bad_input, "128B"));
  task.traffic_before = Bytes{0};
  EXPECT_EQ(test::problem(tried(task)), "none") << "only after";
  task.traffic_after.reset();
  EXPECT_TRUE(test::fails(tried(task), Errc::bad_input, "traffic_before"));
}

TEST_F(TrafficTask, IsCreatedFromTask) {
  for (const auto kind : {DeviceKind::host, DeviceKind::cuda})
    EXPECT_EQ(test::problem(make_workload(traffic_task(), kind)), "none");
  Task task = traffic_task();
  task.footprint = page;
  EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input, "task 'load': footprint"));
  task.footprint.reset();
  task.traffic_after = Bytes{1};
  EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input, "task 'load': traffic_after"));
}

} // namespace
} // namespace rtexec::tasks
