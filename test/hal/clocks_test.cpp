// Clocks of cores from an assembled tree, those of a GPU from a library that is played.
#include "hal/clocks.hpp"
#include "hal/cuda/management.hpp"
#include "test/hal/fake_cuda_driver.hpp"
#include "test/support/files.hpp"

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

TEST(CoreClock, IsWhatTheKernelSaysAtEachLook) {
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

TEST(CoreClock, IsNotKnownWithoutCpufreq) {
  const ScratchFolder root;
  EXPECT_EQ(CoreClock(3, root.path()).read(), std::nullopt);
}

// ---- a GPU's ----

struct Played {
  int users = 0;
  int clock_error = 0, most_error = 0, limits_error = 0;
  unsigned long long reasons = 0;
} played;

ManagementLibrary library() {
  played = {};
  return {
      .init = [] { return ++played.users, 0; },
      .shutdown = [] { return --played.users, 0; },
      .device = [](const char* bus, void** handle) { return *handle = &played, std::string_view(bus) == "01" ? 0 : 6; },
      .clock = [](void*, int which,
                  unsigned* megahertz) { return *megahertz = which == 1 ? 1500 : 2600, played.clock_error; },
      .most = [](void*, int, unsigned* megahertz) { return *megahertz = 1980, played.most_error; },
      .limits = [](void*, unsigned long long* reasons) { return *reasons = played.reasons, played.limits_error; }};
}

TEST(ManagedGpu, TellsItsClocksAndWhatLimitsThem) {
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

TEST(ManagedGpu, WhatTheLibraryRefusesIsNotKnown) {
  const ManagementLibrary of = library();
  EXPECT_FALSE(ManagedGpu::open(of, "02"));
  EXPECT_EQ(played.users, 0);
  const auto gpu = ManagedGpu::open(of, "01");
  played.reasons = 0x4;
  played.most_error = played.limits_error = 3;
  EXPECT_EQ(gpu->clocks()->most, Frequency{});
  EXPECT_EQ(gpu->clocks()->limits, 0u);
  played.clock_error = 3;
  EXPECT_FALSE(gpu->clocks());
}

TEST(ManagedGpu, AnOlderLibraryTellsNoLimits) {
  ManagementLibrary of = library();
  of.limits = nullptr;
  EXPECT_EQ(ManagedGpu::open(of, "01")->clocks()->limits, 0u);
}

TEST(CudaDevice, ClocksAreNotKnownWhereTheDriverDoesNotNameItsPlace) {
  const FakeCudaDriver driver;
  const auto device = CudaDevice::open({});
  ASSERT_TRUE(device);
  EXPECT_FALSE((*device)->clocks());
}

} // namespace
} // namespace rtexec::hal::test
