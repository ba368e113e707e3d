// Tests the memory traffic of micro-benchmark jobs, by hand, and against their memory.
#include "rtexec/studies/calibration/memory_traffic.hpp"

#include "test/support/expected_result.hpp"

#include <gtest/gtest.h>

#include <array>

namespace rtexec::study {
namespace {

using policies::KernelTraffic;
using policies::MemoryTraffic;

constexpr std::array all{WorkloadKind::vector_add,
                         WorkloadKind::matrix_add,
                         WorkloadKind::matrix_multiply,
                         WorkloadKind::needleman_wunsch,
                         WorkloadKind::gaussian,
                         WorkloadKind::hotspot,
                         WorkloadKind::pathfinder,
                         WorkloadKind::bfs,
                         WorkloadKind::nearest_neighbour,
                         WorkloadKind::random_access,
                         WorkloadKind::euclidean_clustering};

TEST(MemoryTraffic, VectorAddTrafficMatchesItsArrays) {
  EXPECT_EQ(traffic_of(WorkloadKind::vector_add, 1 << 20),
            (MemoryTraffic{.in = Bytes{8 << 20},
                           .out = Bytes{4 << 20},
                           .copies = 3,
                           .prefetch = true,
                           .kernels = {{.touched = Bytes{12 << 20}, .written = Bytes{4 << 20}, .dirty = 1}},
                           .cache_accesses = 3 << 15,
                           .hit_rate = 0,
                           .hidden = true,
                           .exchanged = Bytes{12 << 20}}));
  EXPECT_FALSE(traffic_of(WorkloadKind::vector_add, 1000).hidden);
}

/// Each launch touches other rows. All of them are mapped once.
TEST(MemoryTraffic, PathfinderMapsRowsOnceOverAllLaunches) {
  const MemoryTraffic traffic = traffic_of(WorkloadKind::pathfinder, 1000);
  EXPECT_EQ(traffic.in, Bytes{513 * 4000});
  EXPECT_EQ(traffic.out, Bytes{4000});
  EXPECT_EQ(traffic.exchanged, Bytes{514 * 4000});
  EXPECT_EQ(traffic.device_only, Bytes{4000});
  EXPECT_EQ(traffic.kernels, (std::vector<KernelTraffic>{
                                 {.touched = Bytes{514 * 4000}, .launches = 0, .dirty = 1},
                                 {.touched = Bytes{8000}, .launches = 256},
                                 {.touched = Bytes{8000}, .written = Bytes{4000}, .launches = 256},
                             }));
}

TEST(MemoryTraffic, MapsExchangedDataOnceAndMatchesFootprint) {
  for (const WorkloadKind kind : all)
    for (const unsigned size : {2U, 100U, 1000U}) {
      SCOPED_TRACE(std::string(name(kind)) + " " + std::to_string(size));
      const auto workload = [&](MemoryPolicy policy) {
        return std::move(
            *tasks::KernelWorkload::make({.kind = kind, .size = size, .policy = policy}, DeviceKind::host));
      };
      const MemoryTraffic traffic = traffic_of(*workload(MemoryPolicy::device));
      EXPECT_EQ(traffic, traffic_of(kind, size));
      Bytes mapped{0};
      std::uint64_t dirty = 0;
      for (const KernelTraffic& kernel : traffic.kernels) {
        mapped += kernel.touched * kernel.dirty;
        dirty += kernel.dirty;
      }
      EXPECT_EQ(mapped, traffic.exchanged);
      EXPECT_EQ(dirty, 1U);
      EXPECT_GE(traffic.hit_rate, 0);
      EXPECT_LE(traffic.hit_rate, 1);
      for (const MemoryPolicy policy : {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host}) {
        const auto said = policies::memory_footprint(policy, traffic);
        const auto taken = workload(policy)->footprint();
        EXPECT_EQ(said.device, taken.device) << name(policy);
        EXPECT_EQ(said.host, taken.host) << name(policy);
      }
    }
}

TEST(MemoryTraffic, IsAddedToProfile) {
  TaskSet tasks;
  tasks.tasks.resize(2);
  tasks.tasks[0].name = "other";
  tasks.tasks[1].name = "paths";
  tasks.tasks[1].workload = WorkloadKind::pathfinder;
  tasks.tasks[1].size = 1000;
  Profile profile;
  for (const char* name : {"paths", "other", "gone"}) profile.entries.emplace_back().task = name;
  add_traffic(profile, tasks);
  ASSERT_TRUE(profile.entries[0].traffic);
  const ProfiledTraffic& traffic = *profile.entries[0].traffic;
  EXPECT_EQ(traffic.launches, 512U);
  EXPECT_EQ(traffic.dirty_launches, 1U);
  EXPECT_EQ(traffic.mapped, Bytes{514 * 4000});
  EXPECT_EQ(traffic.touched, Bytes{512 * 8000});
  EXPECT_EQ(traffic.written, Bytes{256 * 4000});
  EXPECT_FALSE(traffic.estimated.empty());
  EXPECT_FALSE(profile.entries[1].traffic);
  EXPECT_FALSE(profile.entries[2].traffic);
}

/// The host device emulates the model's traffic, launch by launch.
TEST(MemoryTraffic, MatchesEmulationOfHostDevice) {
  MemoryCosts costs;
  costs.mapped = 0.25;
  costs.host_flush = Duration(50'000);
  costs.device_flush = Duration(20'000);
  costs.written_back = 0.125;
  costs.memory_access = 6;
  costs.cache_access = 2;
  for (const WorkloadKind kind : all)
    for (const MemoryPolicy policy : {MemoryPolicy::managed, MemoryPolicy::host}) {
      const MemoryTraffic traffic = traffic_of(kind, 500);
      const auto& benchmark = tasks::benchmark::benchmark_of(kind);
      const tasks::EmulatedCosts emulated(costs, policy, benchmark, 500, traffic.exchanged);
      Duration mapping{0}, alone{0};
      for (const tasks::LaunchCosts& launch : emulated.launches()) {
        mapping += launch.mapping;
        alone += launch.flush + launch.behind;
      }
      const auto model = policies::memory_overhead(policy, costs, traffic);
      const double rounded = static_cast<double>(emulated.launches().size());
      const std::string what = std::string(name(kind)) + " under " + std::string(name(policy));
      EXPECT_NEAR(static_cast<double>(mapping.count()), static_cast<double>(model.mapping.count()), rounded) << what;
      EXPECT_NEAR(static_cast<double>(alone.count()), static_cast<double>(model.alone().count()), rounded + 3) << what;
    }
}

} // namespace
} // namespace rtexec::study
