// Tests the calibration of memory policies against a host device that emulates known costs, and invented measurements.
#include "rtexec/studies/calibration/memory_calibration.hpp"

#include "hal/host/host_device.hpp"
#include "rtexec/cli/reports/memory_calibration_report.hpp"
#include "rtexec/studies/calibration/memory_traffic.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace rtexec::study {
namespace {

using namespace std::chrono_literals;

constexpr MemoryPolicy three[] = {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};

MemoryCosts slow() {
  MemoryCosts costs;
  costs.copy_start = 1ms;
  costs.copied_in = 20;
  costs.copied_out = 10;
  costs.mapped = 8;
  costs.host_flush = 4ms;
  costs.device_flush = 200us;
  costs.written_back = 2;
  return costs;
}

void expect_near(double found, double right, double part, const char* what) {
  EXPECT_NEAR(found, right, part * right) << what;
}

/// Other load on the machine makes jobs longer, never shorter.
TEST(MemoryCalibration, MeasuresAtLeastTheEmulatedOverheads) {
  const auto device = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}, slow()));
  constexpr SizeRange kinds[] = {{WorkloadKind::vector_add, 4000, 100'000},
                                 {WorkloadKind::needleman_wunsch, 64, 200},
                                 {WorkloadKind::gaussian, 16, 48}};
  std::size_t calls = 0;
  auto tasks = measure_memory(*device, kinds, three, {.sizes = 3, .jobs = 3}, [&](std::size_t done, std::size_t of) {
    EXPECT_EQ(done, ++calls);
    EXPECT_EQ(of, 9U);
    return true;
  });
  ASSERT_EQ(test::problem(tasks), "none");
  ASSERT_EQ(tasks->size(), 27U);
  for (const MeasuredTask& task : *tasks) {
    const Duration rounding(static_cast<std::int64_t>(task.traffic.kernels.size() + 4));
    const Duration emulated = policies::memory_overhead(task.policy, slow(), task.traffic).all() - rounding;
    EXPECT_GE(task.job, emulated) << name(task.kind) << ' ' << task.size << ' ' << name(task.policy);
    EXPECT_GT(task.execution, 0ns);
  }
  const auto found = fitted("host", MemoryCosts(), *tasks);
  ASSERT_EQ(test::problem(found), "none");
  EXPECT_TRUE(found->fit.costs.known());
  EXPECT_EQ(found->fit.costs.mean_error, found->fit.held_out.mean);

  std::ostringstream text;
  print(text, *found);
  EXPECT_THAT(text.str(), testing::HasSubstr("to expect of a new task"));
  const auto json = to_json(*found, "b.toml");
  EXPECT_EQ(json["tasks"].size(), 27U);
  EXPECT_EQ(json["costs"]["mapped_ns_per_byte"], found->fit.costs.mapped);
}

TEST(MemoryCalibration, RecoversCostsThatProducedTheMeasurements) {
  std::vector<MeasuredTask> tasks;
  for (const SizeRange& kind : calibrated_kinds(DeviceKind::host))
    for (const unsigned size : {kind.least, kind.most})
      for (const MemoryPolicy policy : three) {
        MeasuredTask task{.kind = kind.kind,
                          .size = size,
                          .policy = policy,
                          .traffic = traffic_of(kind.kind, size),
                          .execution = 100us};
        task.job = estimate(slow(), task);
        tasks.push_back(std::move(task));
      }
  const auto found = fitted("host", MemoryCosts(), tasks);
  ASSERT_EQ(test::problem(found), "none");
  const MemoryCosts& costs = found->fit.costs;
  expect_near(costs.copied_in, 20, 0.02, "copied_in");
  expect_near(costs.copied_out, 10, 0.02, "copied_out");
  expect_near(costs.mapped, 8, 0.02, "mapped");
  expect_near(static_cast<double>(costs.copy_start.count()), 1e6, 0.02, "copy_start");
  expect_near(static_cast<double>(costs.host_flush.count()), 4e6, 0.02, "host_flush");
  expect_near(static_cast<double>(costs.device_flush.count()), 2e5, 0.05, "device_flush");
}

/// The measurements of a GPU behind a link, without noise.
TEST(MemoryCalibration, FitsCostsOfDeviceBehindLink) {
  MemoryCosts right;
  right.unified = false;
  right.copy_start = 8us;
  right.copied_in = right.copied_out = 0.02;
  right.faulted = 0.1;
  right.prefetch_start = 12us;
  right.prefetched = 0.02;
  right.returned = 0.06;
  right.linked = 0.021;
  std::vector<MeasuredTask> tasks;
  for (const SizeRange& kind : calibrated_kinds(DeviceKind::cuda))
    for (const unsigned size : {kind.least, kind.most})
      for (const auto& [policy, prefetch] : {std::pair(MemoryPolicy::device, true),
                                             {MemoryPolicy::managed, true},
                                             {MemoryPolicy::managed, false},
                                             {MemoryPolicy::host, true}}) {
        MeasuredTask task{.kind = kind.kind,
                          .size = size,
                          .policy = policy,
                          .prefetch = prefetch,
                          .traffic = traffic_of(kind.kind, size),
                          .execution = 100us};
        task.traffic.prefetch = prefetch;
        task.job = estimate(right, task);
        tasks.push_back(std::move(task));
      }
  MemoryCosts before;
  before.unified = false;
  const auto found = fitted("GPU", before, tasks);
  ASSERT_EQ(test::problem(found), "none");
  EXPECT_LT(found->fit.held_out.worst, 1);
  expect_near(found->fit.costs.returned, 0.06, 0.02, "returned");
  expect_near(found->fit.costs.faulted, 0.1, 0.02, "faulted");
  expect_near(found->fit.costs.linked, 0.021, 0.02, "linked");
}

TEST(MemoryCalibration, AdvisesMoreMeasurementsWhenErrorsAreLarge) {
  const auto printed = [](double mean) {
    MemoryCalibration calibration;
    calibration.fit.held_out = {.mean = mean, .worst = 300};
    std::ostringstream text;
    print(text, calibration);
    return text.str();
  };
  EXPECT_THAT(printed(60), testing::HasSubstr("measure more (--sizes, --jobs)"));
  EXPECT_THAT(printed(20), testing::Not(testing::HasSubstr("measure more")));
}

TEST(MemoryCalibration, CanBeCancelled) {
  const auto device = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
  constexpr SizeRange kinds[] = {{WorkloadKind::vector_add, 10, 100}};
  EXPECT_TRUE(test::fails(measure_memory(*device, kinds, three, {}, [](std::size_t, std::size_t) { return false; }),
                          Errc::cancelled, "nothing was written"));
}

TEST(MemoryCalibration, MeasuresOnlyGivenPolicies) {
  const auto device = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
  constexpr SizeRange kinds[] = {{WorkloadKind::vector_add, 10, 100}};
  constexpr MemoryPolicy two[] = {MemoryPolicy::device, MemoryPolicy::host};
  const auto tasks = measure_memory(*device, kinds, two, {.sizes = 2, .jobs = 3}, [](auto, auto) { return true; });
  ASSERT_EQ(test::problem(tasks), "none");
  ASSERT_EQ(tasks->size(), 4U);
  EXPECT_EQ((*tasks)[0].size, 10U);
  EXPECT_EQ((*tasks)[1].policy, MemoryPolicy::host);
  EXPECT_EQ((*tasks)[3].size, 100U);
}

} // namespace
} // namespace rtexec::study
