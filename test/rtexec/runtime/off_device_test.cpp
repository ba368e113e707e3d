// Tests workloads without a device part in real runs, together with others that have one.
#include "config/profile_file.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/expected_result.hpp"
#include <rtexec/executive.hpp>
#include <rtexec/profiler.hpp>

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec {
namespace {

using namespace test;
using testing::HasSubstr;

struct Calls {
  std::atomic<std::uint64_t> before{0}, execute{0}, after{0}, last{0};
  std::atomic<bool> in_order{true};
  std::atomic<std::int64_t> before_ns{0}, after_ns{0};
};

/// Computes on its core only, for as long as the test demands.
class Controller final : public Workload {
 public:
  explicit Controller(std::shared_ptr<Calls> calls, Bytes asked = {}) : calls_(std::move(calls)), asked_(asked) {}

  bool uses_device() const override { return false; }
  MemoryDemand memory() const override { return {.state = asked_}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "controller"; }
  Result<> bind(Device&, const Memory&) override { return {}; }

  Status before(std::uint64_t job) noexcept override {
    calls_->last = job;
    ++calls_->before;
    return stay(calls_->before_ns);
  }
  Status execute() noexcept override {
    ++calls_->execute;
    return {};
  }
  Status after(std::uint64_t job) noexcept override {
    if (calls_->last != job) calls_->in_order = false;
    ++calls_->after;
    return stay(calls_->after_ns);
  }

 private:
  static Status stay(const std::atomic<std::int64_t>& ns) noexcept {
    const auto end = std::chrono::steady_clock::now() + Duration(ns.load());
    while (std::chrono::steady_clock::now() < end) {}
    return {};
  }
  std::shared_ptr<Calls> calls_;
  Bytes asked_;
};

struct OffDevice : testing::Test {
  std::shared_ptr<Calls> calls = std::make_shared<Calls>();

  static Task control(Duration period, Wcet wcet = {.before = 200us, .device = 0ns, .after = 200us}) {
    Task task;
    task.name = "control";
    task.workload = WorkloadKind::custom;
    task.period = task.deadline = period;
    task.wcet = wcet;
    return task;
  }

  Result<Executive> create(TaskSet set, Bytes asked = {}) const {
    ExecutiveSetup setup;
    setup.force = true;
    setup.workloads["control"] = std::make_unique<Controller>(calls, asked);
    return Executive::create(std::move(set), std::move(setup));
  }

  Report run(TaskSet set) const {
    Result<Executive> executive = create(std::move(set));
    if (!executive) throw std::runtime_error(executive.error().what);
    if (const auto started = executive->start(); !started) throw std::runtime_error(started.error().what);
    executive->wait();
    return executive->stop();
  }
};
struct OffDeviceTask : OffDevice, testing::WithParamInterface<Order> {};
INSTANTIATE_TEST_SUITE_P(Orders, OffDeviceTask, testing::Values(Order::edf, Order::static_priority),
                         [](const auto& order) { return order.param == Order::edf ? "edf" : "static_priority"; });

/// Its period is shorter than the other task's device part, for which it would wait on the device.
TEST_P(OffDeviceTask, RunsWhileAnotherTaskHoldsDevice) {
  TaskSet set = set_of({synthetic("net", 200ms, {.before = 100us, .device = 80ms, .after = 100us}), control(40ms)}, 1s);
  set.executive.order = GetParam();
  const Report report = run(set);
  const TaskReport& task = report.tasks[1];
  EXPECT_GT(task.completed, 5u);
  EXPECT_EQ(report.tasks[0].failed + task.failed, 0u);
  EXPECT_EQ(calls->before.load(), task.released + 1) << "and once before the first job";
  EXPECT_EQ(calls->after.load(), task.completed + 1);
  EXPECT_EQ(calls->execute.load(), 0u);
  EXPECT_TRUE(calls->in_order.load());
  EXPECT_EQ(task.observed.device, 0ns);
  EXPECT_LT(task.response.p50, 40ms) << "no job waits for the device";
  EXPECT_EQ(to_string(report.stopped_by), "duration");
}

TEST_P(OffDeviceTask, ResponseBoundIncludesNoDevicePart) {
  TaskSet set = set_of({synthetic("net", 200ms, {.before = 100us, .device = 80ms, .after = 100us}), control(40ms)}, 1s);
  set.executive.order = GetParam();
  const auto executive = create(set);
  ASSERT_TRUE(executive);
  const PlannedTask& task = executive->plan().tasks[1];
  EXPECT_EQ(task.ready_by, task.device_done_by);
  ASSERT_TRUE(task.response_bound);
  EXPECT_LT(*task.response_bound, 10ms);
}

/// A late part holds the core of its release thread. By the time that thread sees the next release, its job may have
/// ended, late.
TEST_P(OffDeviceTask, AbortedJobEndsAndRunContinues) {
  for (auto* part : {&calls->before_ns, &calls->after_ns}) {
    part->store(std::chrono::nanoseconds(25ms).count());
    TaskSet set = set_of({control(10ms)}, 400ms);
    set.executive.order = GetParam();
    set.tasks[0].on_overrun = OnOverrun::abort_job;
    const Report report = run(set);
    part->store(0);
    const TaskReport& task = report.tasks[0];
    EXPECT_GT(task.aborted + task.completed, 3u);
    EXPECT_GE(task.missed, task.aborted + task.completed) << "every job is late";
    EXPECT_EQ(task.failed, 0u);
    EXPECT_EQ(to_string(report.stopped_by), "duration");
  }
}

TEST_F(OffDevice, RejectsDemandForDeviceMemory) {
  const auto executive = create(set_of({control(10ms)}, 1s), Bytes{4096});
  EXPECT_TRUE(fails(executive, Errc::bad_input,
                    "task 'control': its workload has no device part, but requests 4KiB of device memory; keep its "
                    "data in host memory"));
}

TEST_F(OffDevice, RejectsDeviceWcetThatContradictsWorkload) {
  EXPECT_TRUE(fails(create(set_of({control(10ms, {.before = 1ms, .device = 2ms, .after = {}})}, 1s)), Errc::bad_input,
                    "task 'control': its wcet is 2ms, but its workload has no device part; set wcet = \"0ns\""));
  ExecutiveSetup setup;
  class Computing final : public Workload {
    MemoryDemand memory() const override { return {}; }
    std::span<const std::byte> constants() const override { return {}; }
    std::string fingerprint() const override { return "computing"; }
    Result<> bind(Device&, const Memory&) override { return {}; }
    Status before(std::uint64_t) noexcept override { return {}; }
    Status execute() noexcept override { return {}; }
    Status after(std::uint64_t) noexcept override { return {}; }
  };
  setup.workloads["control"] = std::make_unique<Computing>();
  EXPECT_TRUE(fails(Executive::create(set_of({control(10ms)}, 1s), std::move(setup)), Errc::bad_input,
                    "task 'control': its wcet is 0ns, but its workload has a device part; give its execution"));
}

TEST_F(OffDevice, ProfileHasZeroDeviceWcetAndIsReadBack) {
  TaskSet set = set_of({control(50ms), synthetic("net", 50ms, {.before = {}, .device = 1ms, .after = {}})}, 1s);
  set.tasks[0].wcet.reset();
  const auto measured = profile(set, {.jobs = 5, .margin = 1.5}, {}, [&] {
    ExecutiveSetup setup;
    setup.workloads["control"] = std::make_unique<Controller>(calls);
    return setup;
  });
  ASSERT_TRUE(measured) << measured.error().what;
  EXPECT_EQ(measured->entries[0].wcet.device, 0ns);
  EXPECT_EQ(measured->entries[0].observed.device, 0ns);
  EXPECT_GT(measured->entries[1].wcet.device, 0ns);
  const auto toml = profile_toml(*measured, "p.toml");
  ASSERT_TRUE(toml) << toml.error().what;
  EXPECT_THAT(*toml, HasSubstr("wcet = \"0ns\""));
  EXPECT_EQ(parse_profile(*toml, "p.toml")->entries[0].wcet.device, 0ns);
}

} // namespace
} // namespace rtexec
