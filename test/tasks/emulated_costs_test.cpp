// Tests the costs of memory policies on the host device: values computed by hand, the shape found in the literature,
// and real time.
#include "tasks/loads/benchmarks/emulated_costs.hpp"

#include "hal/host/host_device.hpp"
#include "hal/thread.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace rtexec::tasks {

void PrintTo(const LaunchCosts& costs, std::ostream* out) {
  *out << costs.mapping.count() << " + " << costs.flush.count() << " + " << costs.behind.count() << " ns";
}

namespace {

using namespace std::chrono_literals;

MemoryCosts costs() {
  MemoryCosts costs;
  costs.copy_start = 20us;
  costs.copied_in = costs.copied_out = 0.5;
  costs.mapped = 0.25;
  costs.host_flush = 50us;
  costs.device_flush = 20us;
  costs.written_back = 0.125;
  costs.memory_access = 6;
  costs.cache_access = 2;
  return costs;
}

EmulatedCosts emulated(WorkloadKind kind, unsigned size, MemoryPolicy policy, const MemoryCosts& of = costs()) {
  Bytes exchanged{0};
  const auto& benchmark = benchmark::benchmark_of(kind);
  for (const auto& array : benchmark.arrays(size))
    if (array.direction != benchmark::Direction::device) exchanged += array.size;
  return {of, policy, benchmark, size, exchanged};
}

/// Returns the time of a job outside of its kernels.
Duration overhead(WorkloadKind kind, unsigned size, MemoryPolicy policy) {
  const EmulatedCosts all = emulated(kind, size, policy);
  Duration sum{0};
  for (const LaunchCosts& launch : all.launches()) sum += launch.mapping + launch.flush + launch.behind;
  if (policy == MemoryPolicy::device)
    for (const auto& array : benchmark::benchmark_of(kind).arrays(size)) {
      if (goes_in(array.direction)) sum += all.copy_in(array.size);
      if (goes_out(array.direction)) sum += all.copy_out(array.size);
    }
  return sum;
}

TEST(EmulatedCosts, MatchHandCalculation) {
  const auto launches = [](WorkloadKind kind, unsigned size, MemoryPolicy policy) {
    const EmulatedCosts all = emulated(kind, size, policy);
    return std::vector(all.launches().begin(), all.launches().end());
  };
  EXPECT_EQ(launches(WorkloadKind::vector_add, 1000, MemoryPolicy::managed),
            (std::vector<LaunchCosts>{{.mapping = 3us, .flush = 50us, .behind = 500ns}}));
  EXPECT_EQ(launches(WorkloadKind::vector_add, 1 << 20, MemoryPolicy::managed).front().behind, 20us) << "a whole cache";
  EXPECT_EQ(launches(WorkloadKind::vector_add, 1000, MemoryPolicy::host), (std::vector<LaunchCosts>{{.mapping = 3us}}))
      << "nothing is there twice";
  EXPECT_TRUE(launches(WorkloadKind::vector_add, 1000, MemoryPolicy::device).empty());
  EXPECT_EQ(emulated(WorkloadKind::vector_add, 1000, MemoryPolicy::device).copy_in(Bytes{4000}), 22us);

  const auto paths = launches(WorkloadKind::pathfinder, 1000, MemoryPolicy::managed);
  EXPECT_EQ(paths.front(), (LaunchCosts{.mapping = 514us, .flush = 50us})) << "all that the host wrote, once";
  EXPECT_EQ(paths[1], (LaunchCosts{.behind = 500ns}));
  EXPECT_EQ(launches(WorkloadKind::pathfinder, 1000, MemoryPolicy::host)[1].mapping, 2us) << "with each launch";
}

TEST(EmulatedCosts, AreZeroWhenMemoryCostsAreUnknown) {
  const EmulatedCosts none = emulated(WorkloadKind::gaussian, 100, MemoryPolicy::managed, MemoryCosts());
  EXPECT_TRUE(none.launches().empty());
  EXPECT_EQ(none.copy_in(Bytes{1 << 20}), 0ns);
}

/// Observation 1 and Fig. 2 of the paper.
TEST(EmulatedCosts, OrderMemoryPoliciesAsPublished) {
  using enum MemoryPolicy;
  const auto ratio = [](WorkloadKind kind, unsigned size, MemoryPolicy of, MemoryPolicy to) {
    return static_cast<double>(overhead(kind, size, of).count()) /
           static_cast<double>(overhead(kind, size, to).count());
  };
  EXPECT_LT(ratio(WorkloadKind::needleman_wunsch, 1000, managed, device), 0.5) << "much is copied";
  EXPECT_GT(ratio(WorkloadKind::gaussian, 200, managed, device), 5) << "many launches on little memory";
  EXPECT_GT(ratio(WorkloadKind::gaussian, 200, host, device), 5);
  EXPECT_LT(ratio(WorkloadKind::vector_add, 1 << 20, managed, device), 0.6);
  EXPECT_LT(ratio(WorkloadKind::vector_add, 1 << 20, host, managed), 1) << "nothing is flushed";
  EXPECT_GT(ratio(WorkloadKind::euclidean_clustering, 2000, host, managed), 2) << "the cache is of use";
}

/// On a shared machine only a lower bound of the time is certain.
TEST(EmulatedCosts, ExtendDevicePartOfJob) {
  for (const MemoryPolicy policy : {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host}) {
    const auto device = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}, costs()));
    auto workload =
        *KernelWorkload::make({.kind = WorkloadKind::gaussian, .size = 64, .policy = policy}, DeviceKind::host);
    ASSERT_EQ(test::problem(workload->bind(*device, {})), "none");
    ASSERT_TRUE(workload->before(0));
    const auto allocations = test::allocations();
    const Instant begin = hal::now();
    const Status done = workload->execute();
    const Duration took = hal::now() - begin;
    EXPECT_EQ(test::allocations(), allocations);
    EXPECT_TRUE(done);
    EXPECT_GE(took, overhead(WorkloadKind::gaussian, 64, policy)) << name(policy);
    ASSERT_TRUE(workload->after(0));
  }
}

/// Another thread of the core may compute meanwhile.
TEST(EmulatedCosts, LeaveCoreIdleWhilePagesAreMapped) {
  MemoryCosts slow;
  slow.mapped = 1000;
  const EmulatedCosts all = emulated(WorkloadKind::vector_add, 2000, MemoryPolicy::managed, slow);
  const Duration used = hal::execution_time();
  const Instant begin = hal::now();
  all.before(0);
  EXPECT_GE(hal::now() - begin, 24ms);
  EXPECT_LT(hal::execution_time() - used, 6ms);
}

} // namespace
} // namespace rtexec::tasks
