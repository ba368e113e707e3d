// Tests clocks of cores with an assembled tree, and those of a GPU with a simulated library.
#include "hal/clocks.hpp"
#include "hal/cuda/management.hpp"
#include "hal/open/gpu_state.hpp"
#include "test/hal/fake_cuda_driver.hpp"
#include "test/support/test_files.hpp"

#include "hal/cuda/cuda_device.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace rtexec::hal::test {
namespace {

using cuda::ManagedGpu;
using cuda::ManagementLibrary;
using rtexec::test::ScratchFolder;
using rtexec::test::write_text;

constexpr const char* of_core_3 = "/sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq";
constexpr std::uint64_t mega = 1'000'000;

TEST(CoreClock, ReadsCurrentFrequencyFromCpufreq) {
  const ScratchFolder root;
  write_text(root / of_core_3, "2400000\n");
  const CoreClock clock(3, root.path());
  EXPECT_EQ(clock.core(), 3u);
  EXPECT_EQ(clock.read(), Frequency{2400 * mega});
  write_text(root / of_core_3, "1200000\n");
  EXPECT_EQ(clock.read(), Frequency{1200 * mega});
  write_text(root / of_core_3, "<unknown>\n");
  EXPECT_EQ(clock.read(), std::nullopt);
}

TEST(CoreClock, IsUnknownWithoutCpufreq) {
  const ScratchFolder root;
  EXPECT_EQ(CoreClock(3, root.path()).read(), std::nullopt);
}

// ---- clocks of a GPU ----

struct Played {
  int users = 0;
  int clock_error = 0, max_error = 0, limits_error = 0;
  unsigned long long reasons = 0;
  int temperature_error = 0;
  unsigned slowdown = 89, most = 87; // thresholds; 0: refused
} played;

ManagementLibrary library() {
  played = {};
  return {
      .init = [] { return ++played.users, 0; },
      .shutdown = [] { return --played.users, 0; },
      .device = [](const char* bus, void** handle) { return *handle = &played, std::string_view(bus) == "01" ? 0 : 6; },
      .clock = [](void*, int which,
                  unsigned* megahertz) { return *megahertz = which == 1 ? 1500 : 2600, played.clock_error; },
      .most = [](void*, int, unsigned* megahertz) { return *megahertz = 1980, played.max_error; },
      .limits = [](void*, unsigned long long* reasons) { return *reasons = played.reasons, played.limits_error; },
      .temperature = [](void*, int sensor,
                        unsigned* celsius) { return *celsius = 37, sensor == 0 ? played.temperature_error : 2; },
      .threshold =
          [](void*, int which, unsigned* celsius) {
            *celsius = which == 1 ? played.slowdown : which == 3 ? played.most : 0;
            return *celsius == 0 ? 3 : 0;
          }};
}

TEST(ManagedGpu, ReportsClocksAndLimitReasons) {
  const ManagementLibrary of = library();
  {
    const auto gpu = ManagedGpu::open(of, "01");
    ASSERT_TRUE(gpu);
    played.reasons = 0x1 | 0x4 | 0x40; // idle, power, temperature
    const auto clocks = gpu->clocks();
    ASSERT_TRUE(clocks);
    EXPECT_EQ(clocks->cores, Frequency{1500 * mega});
    EXPECT_EQ(clocks->memory, Frequency{2600 * mega});
    EXPECT_EQ(clocks->most, Frequency{1980 * mega});
    EXPECT_EQ(clocks->limits, DeviceClocks::power | DeviceClocks::temperature);
    EXPECT_EQ(played.users, 1);
  }
  EXPECT_EQ(played.users, 0);
}

TEST(ManagedGpu, ReportsRefusedValuesAsUnknown) {
  const ManagementLibrary of = library();
  EXPECT_FALSE(ManagedGpu::open(of, "02"));
  EXPECT_EQ(played.users, 0);
  const auto gpu = ManagedGpu::open(of, "01");
  played.reasons = 0x4;
  played.max_error = played.limits_error = 3;
  EXPECT_EQ(gpu->clocks()->most, Frequency{});
  EXPECT_EQ(gpu->clocks()->limits, 0u);
  played.clock_error = 3;
  EXPECT_FALSE(gpu->clocks());
}

TEST(ManagedGpu, ReportsNoLimitsWithOlderLibrary) {
  ManagementLibrary of = library();
  of.limits = nullptr;
  EXPECT_EQ(ManagedGpu::open(of, "01")->clocks()->limits, 0u);
}

TEST(ManagedGpu, ComputesFreelyOnlyIfNothingLimitsClock) {
  ManagementLibrary of = library();
  const auto freely = [&] { return ManagedGpu::open(of, "01")->computes_freely(); };
  EXPECT_TRUE(freely());
  for (const unsigned long long reason :
       {0x1ULL, 0x2ULL, 0x4ULL, 0x100ULL}) { // idle, a setting, power, the display's clock
    played.reasons = reason;
    EXPECT_FALSE(freely()) << reason;
  }
  played.reasons = 0;
  played.limits_error = 3;
  EXPECT_FALSE(freely());
  of.limits = nullptr;
  EXPECT_FALSE(freely());
}

TEST(ManagedGpu, ReportsTemperatureAndLowestSlowdownThreshold) {
  ManagementLibrary of = library();
  const auto limit = [&] {
    const auto heat = ManagedGpu::open(of, "01")->heat();
    EXPECT_TRUE(!heat || heat->now == 37);
    return heat ? heat->limit : 0;
  };
  EXPECT_EQ(limit(), 87u) << "the lower one";
  played.most = 0;
  EXPECT_EQ(limit(), 89u);
  played.slowdown = 0;
  EXPECT_EQ(limit(), 0u);
  played = {};
  played.temperature_error = 3;
  EXPECT_EQ(limit(), 0u);
  of.threshold = nullptr;
  EXPECT_EQ(limit(), 0u);
}

TEST(ReadGpu, ReportsClocksAndHeatWithoutContext) {
  const ManagementLibrary of = library();
  const cuda::ManagementOverride override(of);
  Board board;
  board.device = DeviceKind::cuda;
  {
    const FakeCudaDriver driver({.bus = "01"});
    const GpuState state = read_gpu(board);
    ASSERT_TRUE(state.clocks && state.heat);
    EXPECT_EQ(state.clocks->cores, Frequency{1500 * mega});
    EXPECT_TRUE(state.computes_freely);
    EXPECT_EQ(state.heat->limit, 87u);
    EXPECT_EQ(driver.objects(), FakeCudaObjects{});
    EXPECT_EQ(driver.calls<&cuda::Driver::context_retain>(), 0);
    board.device = DeviceKind::host;
    EXPECT_FALSE(read_gpu(board).heat);
    board.device = DeviceKind::cuda;
  }
  for (const char* bus : {"02", ""}) {
    const FakeCudaDriver driver({.bus = bus});
    EXPECT_FALSE(read_gpu(board).clocks) << bus;
  }
  FakeCudaDriver driver({.bus = "01"});
  driver.fail<&cuda::Driver::init>(cuda::Code::no_device);
  EXPECT_FALSE(read_gpu(board).clocks);
  EXPECT_EQ(played.users, 0);
}

TEST(CudaDevice, ClocksAreUnknownWithoutPciBusId) {
  const FakeCudaDriver driver;
  const auto device = CudaDevice::open({});
  ASSERT_TRUE(device);
  EXPECT_FALSE((*device)->clocks());
}

} // namespace
} // namespace rtexec::hal::test
