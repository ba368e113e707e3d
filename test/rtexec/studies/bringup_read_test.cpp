// Tests the items of a bring-up that read files. Each passes on a correct tree, and fails with its advice on an
// incorrect one.
#include "rtexec/studies/bringup/read.hpp"
#include "test/hal/assembled_root.hpp"
#include "test/hal/failing_system.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::bringup {
namespace {

using hal::test::AssembledRoot;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string cpu = "/sys/devices/system/cpu/";
const std::string emc = "/sys/kernel/debug/bpmp/debug/clk/emc/";
const std::string zone = "/sys/class/thermal/thermal_zone";

/// A board that is set up as its file requires.
class BringupSystemChecks : public testing::Test {
 protected:
  BringupSystemChecks() {
    root.write("/proc/cmdline",
               "root=/dev/mmcblk0p1 rw isolcpus=1-5 nohz_full=1-5 rcu_nocbs=1-5 irqaffinity=0 "
               "console=ttyS0,115200n8 skew_tick=1");
    root.write(cpu + "isolated", "1-5");
    root.write(cpu + "nohz_full", "1-5");
    root.write("/proc/version", "Linux version 4.9.337-tegra (x@y) (gcc) #1 SMP PREEMPT RT Thu");
    root.write("/proc/timer_list", "cpu: 0\n  .hres_active    : 1\ncpu: 1\n  .hres_active    : 1");
    root.write("/proc/sys/kernel/sched_rt_runtime_us", "-1");
    root.write("/proc/sys/kernel/sched_rt_period_us", "1000000");
    root.write("/proc/mounts", "none /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0");
    root.write("/proc/self/cgroup", "3:cpuacct,cpu:/robot\n1:name=systemd:/robot\n0::/");
    root.write(group_file, "950000");
    root.write("/sys/fs/cgroup/cpu/robot/cpu.rt_period_us", "1000000");
    root.write("/sys/fs/cgroup/cpu/cpu.rt_runtime_us", "950000");
    for (int core = 0; core < 6; ++core)
      root.write(cpu + "cpu" + std::to_string(core) + "/cpufreq/scaling_min_freq", "2035200");
    root.write("/sys/devices/17000000.gp10b/devfreq/17000000.gp10b/min_freq", "1300500000");
    root.write(emc + "rate", "1866000000");
    root.write(emc + "mrq_rate_locked", "1");
  }

  [[nodiscard]] Subject subject() const {
    Subject subject{.board = board, .machine = root.machine(), .folder = root.path()};
    subject.emulated = emulated;
    return subject;
  }
  void passes(Answer (*ask)(const Subject&), const std::string& state) const {
    const Answer answer = ask(subject());
    EXPECT_EQ(answer.outcome, Outcome::passed) << answer.state << '\n' << answer.advice;
    EXPECT_THAT(answer.state, HasSubstr(state));
    EXPECT_THAT(answer.advice, IsEmpty());
  }
  void fails(Answer (*ask)(const Subject&), const std::string& state, const std::string& advice) const {
    const Answer answer = ask(subject());
    EXPECT_EQ(answer.outcome, Outcome::failed) << answer.state;
    EXPECT_THAT(answer.state, HasSubstr(state));
    EXPECT_THAT(answer.advice, HasSubstr(advice));
  }
  void skips(Answer (*ask)(const Subject&), const std::string& why) const {
    const Answer answer = ask(subject());
    EXPECT_EQ(answer.outcome, Outcome::skipped) << answer.state;
    EXPECT_THAT(answer.state, HasSubstr(why));
    EXPECT_THAT(answer.advice, IsEmpty());
  }

  const std::string group_file = "/sys/fs/cgroup/cpu/robot/cpu.rt_runtime_us";
  AssembledRoot root{"tx2-r32"};
  Board board = *read_board("tx2");
  bool emulated = false;
};

TEST_F(BringupSystemChecks, IdentityPassesWhenDeviceTreeMatchesBoard) {
  passes(board_identity, "tx2: the device tree says nvidia,p2771-0000");
  board = *read_board("xavier");
  fails(board_identity, "this machine is not board 'xavier'", "board 'tx2'");
  root.write("/proc/device-tree/compatible", std::string("acme,board\0", 11));
  fails(board_identity, "this machine is not board 'xavier'", "--board");
  board = *read_board("host");
  fails(board_identity, "no known board is named in the device tree as acme,board: taken as board 'host'",
        "[identity]");
  board.identity.compatible = {"acme,board"};
  board.name = "mine";
  passes(board_identity, "mine");
  root.remove("/proc/device-tree");
  skips(board_identity, "no device tree");
  root.write("/proc/driver/nvidia/version", "NVRM");
  board = *read_board("host");
  skips(board_identity, "--board rtx");
}

TEST_F(BringupSystemChecks, IdentityIsSkippedOnEmulator) {
  root.write("/proc/device-tree/compatible", std::string("nvidia,p2771-0000\0linux,dummy-virt\0", 35));
  skips(board_identity, "this machine is emulated (its device tree says linux,dummy-virt)");
}

TEST_F(BringupSystemChecks, CoreKindsFailWhenCoreIsOfflineOrOfOtherKind) {
  passes(core_kinds, "Denver 2, cluster 1: cores 1-2");
  std::string cores = root.read("/proc/cpuinfo");
  const std::string all = cores;
  cores.resize(cores.find("processor\t: 5"));
  root.write("/proc/cpuinfo", cores);
  fails(core_kinds, "offline: 5", "echo 1 > /sys/devices/system/cpu/cpuN/online");
  cores = all;
  cores.replace(cores.find("0x003"), 5, "0xd07");
  root.write("/proc/cpuinfo", cores);
  fails(core_kinds, "core 1 is 0x04e/0xd07", "does not describe this machine");
  emulated = true;
  skips(core_kinds, "emulated");
  board = *read_board("host");
  skips(core_kinds, "has no [[core_kind]]");
}

TEST_F(BringupSystemChecks, PreemptionFailsWhenOnlyVoluntary) {
  passes(preemption, "PREEMPT_RT, Linux 4.9.337-tegra");
  root.write("/proc/version", "Linux version 4.9.337-tegra (x@y) (gcc) #1 SMP PREEMPT Thu");
  passes(preemption, "no PREEMPT_RT: the release latency decides");
  root.write("/sys/kernel/debug/sched/preempt", "none (voluntary) full ");
  fails(preemption, "\"voluntary\" (/sys/kernel/debug/sched/preempt)", "preempt=full");
  root.write("/sys/kernel/debug/sched/preempt", "none voluntary full (lazy)");
  passes(preemption, "lazy preemption");
  root.remove("/sys/kernel/debug");
  root.write("/proc/version", "Linux version 4.9.337-tegra (x@y) (gcc) #1 SMP Thu");
  skips(preemption, "shows no preemption model");
}

TEST_F(BringupSystemChecks, CommandLineFailsWithoutBootArgumentsOfBoardFile) {
  passes(command_line, "isolcpus=1-5 nohz_full=1-5");
  const std::string line = root.read("/proc/cmdline");
  const auto with = [&](const std::string& word, const std::string& other) {
    std::string changed = line;
    changed.replace(changed.find(word), word.size(), other);
    root.write("/proc/cmdline", changed);
  };
  for (const char* same : {"isolcpus=managed_irq,domain,1-5", "isolcpus=1,2,3-5", "isolcpus=2 isolcpus=1-5"}) {
    with("isolcpus=1-5", same);
    passes(command_line, "");
  }
  for (const char* other : {"isolcpus=2-5", "isolcpus=1-5 isolcpus=2", "", "isolcpus=", "isolcpus=domain"}) {
    with("isolcpus=1-5", other);
    fails(command_line, "lacks isolcpus=1-5", "Boot with isolcpus=1-5\n");
  }
  with("console=ttyS0,115200n8 skew_tick=1", "console=tty0 console=ttyS01");
  fails(command_line, "lacks console=ttyS0,115200 skew_tick=1", "rtexec config --command-line tx2");
  root.remove("/proc/cmdline");
  skips(command_line, "cannot be read");
  board = *read_board("host");
  skips(command_line, "has no requirement");
}

TEST_F(BringupSystemChecks, IsolationFailsWhenCoresOfBoardFileAreNotIsolated) {
  passes(isolation, "isolated: 1-5; tickless: 1-5");
  root.write(cpu + "nohz_full", "(null)");
  fails(isolation, "tickless: none; the board's file requires 1-5", "Boot with isolcpus=1-5 nohz_full=1-5");
  EXPECT_THAT(isolation(subject()).advice, Not(HasSubstr("CONFIG_NO_HZ_FULL")));
  root.write("/boot/config-4.9.337-tegra", "# CONFIG_NO_HZ_FULL is not set");
  fails(isolation, "tickless: none", "CONFIG_NO_HZ_FULL, which this kernel lacks");
  root.write(cpu + "nohz_full", "1-5");
  root.write(cpu + "isolated", "1-4");
  fails(isolation, "isolated: 1-4", "isolcpus=1-5");
  root.write(cpu + "isolated", "0-5");
  passes(isolation, "isolated: 0-5");
  board = *read_board("host");
  passes(isolation, "isolated: 0-5");
  root.remove(cpu + "isolated");
  root.remove(cpu + "nohz_full");
  skips(isolation, "requires no isolated cores");
}

TEST_F(BringupSystemChecks, TimersFailWithoutHighResolution) {
  passes(timers, "too long at least");
  EXPECT_EQ(timers(subject()).figures.size(), 1u);
  emulated = true;
  passes(timers, "high resolution on each core");
  EXPECT_THAT(timers(subject()).figures, IsEmpty()) << "times of an emulator";
  root.write("/proc/timer_list", "cpu: 0\n  .hres_active    : 1\ncpu: 1\n  .hres_active    : 0");
  fails(timers, "have only the resolution of ticks", "CONFIG_HIGH_RES_TIMERS");
  root.remove("/proc/timer_list");
  skips(timers, "emulated");
  emulated = false;
  passes(timers, "too long at least");
}

TEST_F(BringupSystemChecks, RealTimeRightsFailWhenMemoryLockIsRefused) {
  const Answer here = real_time_rights(subject());
  EXPECT_THAT(here.state, HasSubstr("SCHED_FIFO"));
  EXPECT_EQ(here.outcome == Outcome::passed, here.advice.empty());
  const hal::test::Failing<&hal::System::mlock> no_memory(ENOMEM);
  fails(real_time_rights, "memory lock locking a page is refused", "CAP_IPC_LOCK");
}

TEST_F(BringupSystemChecks, RealTimeGroupFailsWithoutRuntimeInCgroupV1) {
  passes(real_time_group, "group /robot of cgroup v1 may use 950000 us of every 1000000 us");
  root.write(group_file, "0");
  fails(real_time_group, "group /robot of cgroup v1 may use nothing",
        "echo 950000 > /sys/fs/cgroup/cpu/robot/cpu.rt_runtime_us");
  root.write(group_file, "-1");
  passes(real_time_group, "all of its cores");
  root.remove(group_file);
  skips(real_time_group, "cannot be read");
  root.remove("/sys/fs/cgroup/cpu/cpu.rt_runtime_us");
  passes(real_time_group, "no cpu.rt_runtime_us");
  root.remove("/proc/mounts");
  skips(real_time_group, "CONFIG_RT_GROUP_SCHED");
  root.write("/boot/config-4.9.337-tegra", "# CONFIG_RT_GROUP_SCHED is not set");
  passes(real_time_group, "groups no real-time threads");
}

TEST_F(BringupSystemChecks, RealTimeGroupFailsBelowTopOfCgroupV2) {
  root.write("/boot/config-4.9.337-tegra", "CONFIG_RT_GROUP_SCHED=y");
  root.write("/proc/mounts", "none /sys/fs/cgroup cgroup2 rw 0 0");
  root.write("/proc/self/cgroup", "0::/user/robot");
  passes(real_time_group, "counts as the top one");
  root.write("/sys/fs/cgroup/user/cpu.weight", "100");
  fails(real_time_group, "group /user of cgroup v2", "rt_group_sched=0");
  root.write("/proc/self/cgroup", "0::/");
  passes(real_time_group, "group / of cgroup v2");
  root.write("/proc/self/cgroup", "");
  passes(real_time_group, "no cgroup");
}

TEST_F(BringupSystemChecks, ThrottlingAndFairServerFailUnlessOff) {
  passes(throttling, "off");
  root.write("/proc/sys/kernel/sched_rt_runtime_us", "950000");
  fails(throttling, "950000 us of every 1000000 us", "sched_rt_runtime_us=-1");
  passes(fair_server, "not in this kernel");
  root.write("/proc/sys/kernel/osrelease", "6.12.1");
  skips(fair_server, "cannot be read");
  for (int core = 0; core < 6; ++core)
    root.write("/sys/kernel/debug/sched/fair_server/cpu" + std::to_string(core) + "/runtime", "0");
  passes(fair_server, "off");
  root.write("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000");
  fails(fair_server, "core 0: 50000000 ns", "fair_server/cpuN/runtime");
}

TEST_F(BringupSystemChecks, ClocksFailUnlessLocked) {
  passes(locked_clocks, "core 0-5: at 2.04 GHz; GPU: at 1.30 GHz; memory: locked at 1.87 GHz");
  root.write(cpu + "cpu4/cpufreq/scaling_min_freq", "345600");
  root.write(emc + "mrq_rate_locked", "0");
  fails(locked_clocks, "move: core 4: 346 MHz to 2.04 GHz; memory: not locked; locked: core 0-3,5",
        "lock_clocks = true");
  root.write(cpu + "cpu4/cpufreq/scaling_governor", "performance");
  root.write(emc + "mrq_rate_locked", "1");
  passes(locked_clocks, "core 4: at 2.04 GHz by its governor");
  emulated = true;
  skips(locked_clocks, "emulated");
  emulated = false;
  root.remove("/sys");
  skips(locked_clocks, "no clock of board 'tx2'");
}

TEST_F(BringupSystemChecks, ClockLockedBelowItsHighestFails) {
  root.write(emc + "rate", "408000000");
  fails(locked_clocks, "below their highest: memory: locked at 408 MHz of 1.87 GHz; locked: core 0-5",
        "echo 1866000000 > /sys/kernel/debug/bpmp/debug/clk/emc/rate");
  root.write("/sys/kernel/nvpmodel_emc_cap/emc_iso_cap", "1331200000");
  fails(locked_clocks, "memory: locked at 408 MHz of 1.33 GHz", "echo 1331200000");
  root.write(emc + "rate", "1331000000");
  passes(locked_clocks, "memory: locked at 1.33 GHz, its cap; 1.87 GHz is possible");
  root.write("/sys/kernel/nvpmodel_emc_cap/emc_iso_cap", "0");
  root.write(emc + "rate", "1860000000");
  passes(locked_clocks, "memory: locked at 1.86 GHz");
}

TEST_F(BringupSystemChecks, UnreadableClockIsNamedAndNeverPasses) {
  for (const char* const file : {"mrq_rate_locked", "rate", "max_rate"}) {
    const std::string was = root.read(emc + file);
    root.write(emc + file, "none");
    skips(locked_clocks, std::string("cannot be read: memory (") + (root.path() / (emc + file).substr(1)).string());
    root.remove(emc + file);
    skips(locked_clocks, "cannot be read: memory (");
    root.write(emc + file, was);
  }
  passes(locked_clocks, "memory: locked");
  root.remove("/sys/kernel/debug");
  skips(locked_clocks,
        "core 0-5: at 2.04 GHz; GPU: at 1.30 GHz; cannot be read: memory (/sys/kernel/debug/bpmp/debug/clk/"
        "emc/rate: as root, where debugfs is mounted)");
  root.write(cpu + "cpu4/cpufreq/scaling_min_freq", "345600");
  fails(locked_clocks,
        "move: core 4: 346 MHz to 2.04 GHz; locked: core 0-3,5: at 2.04 GHz; GPU: at 1.30 GHz; cannot be "
        "read: memory",
        "lock_clocks = true");
  root.write(cpu + "cpu4/cpufreq/scaling_max_freq", "none");
  root.write(cpu + "cpu5/cpufreq/scaling_max_freq", "none");
  skips(locked_clocks, "cannot be read: core 4-5, memory (");
}

TEST_F(BringupSystemChecks, ThermalHeadroomFailsBelowTenDegrees) {
  passes(thermal_headroom, "BCPU-therm 42.0 C of 95.5 C, MCPU-therm 42.5 C of 95.5 C");
  const Answer cool = thermal_headroom(subject());
  ASSERT_FALSE(cool.figures.empty());
  EXPECT_EQ(cool.figures.front().name, "headroom of BCPU-therm");
  EXPECT_DOUBLE_EQ(cool.figures.front().value, 53.5);
  EXPECT_TRUE(cool.figures.front().more_is_better);
  root.write(zone + "2/temp", "85500");
  passes(thermal_headroom, "GPU-therm 85.5 C");
  root.write(zone + "2/temp", "85501");
  fails(thermal_headroom, "less than 10 C below throttling: GPU-therm 85.5 C of 95.5 C", "Cool it");
  emulated = true;
  skips(thermal_headroom, "emulated");
  emulated = false;
  root.remove("/sys/class/thermal");
  skips(thermal_headroom, "no sensor");
}

/// Returns the state of an H200 as NVML reports it.
hal::GpuState gpu_at(unsigned megahertz, std::uint32_t limits, bool computes_freely) {
  const auto mega = [](std::uint64_t count) { return Frequency{count * 1'000'000}; };
  return {
      .clocks = hal::DeviceClocks{.cores = mega(megahertz), .memory = mega(3201), .most = mega(1980), .limits = limits},
      .computes_freely = computes_freely,
      .heat = hal::cuda::DeviceHeat{.now = 37, .limit = 87}};
}

TEST_F(BringupSystemChecks, GpuClocksNeverPassAndFailWhenSlowedDown) {
  const auto judged = [&](const hal::GpuState& gpu) { return judge_clocks(subject(), gpu); };
  EXPECT_EQ(judged(gpu_at(345, 0, false)).outcome, Outcome::passed) << "the kernel tells that it is locked";
  board = *read_board("rtx");
  for (const bool freely : {false, true}) {
    const Answer steady = judged(gpu_at(1980, 0, freely));
    EXPECT_EQ(steady.outcome, Outcome::skipped);
    EXPECT_THAT(steady.state, AllOf(HasSubstr("core 0-5: at 2.04 GHz"), HasSubstr("GPU: cores at 1.98 GHz now"),
                                    HasSubstr("it is not known whether it is locked"),
                                    HasSubstr("nvidia-smi -pm 1 && nvidia-smi -lgc 1980,1980"), Not(HasSubstr("\n"))));
    EXPECT_THAT(steady.advice, IsEmpty());
  }
  EXPECT_EQ(judged(gpu_at(345, 0, false)).outcome, Outcome::skipped) << "it idles";
  const Answer limited = judged(gpu_at(1700, hal::DeviceClocks::power | hal::DeviceClocks::temperature, false));
  EXPECT_EQ(limited.outcome, Outcome::failed);
  EXPECT_THAT(limited.state, HasSubstr("limited by power, limited by temperature"));
  EXPECT_THAT(limited.advice, AllOf(HasSubstr("nvidia-smi -lgc"), Not(HasSubstr("lock_clocks"))));
  const Answer lower = judged(gpu_at(1700, 0, true));
  EXPECT_EQ(lower.outcome, Outcome::failed);
  EXPECT_THAT(lower.state, HasSubstr("although it computes"));
  root.write(cpu + "cpu4/cpufreq/scaling_min_freq", "345600");
  const Answer both = judged(gpu_at(1980, 0, false));
  EXPECT_EQ(both.outcome, Outcome::failed);
  EXPECT_THAT(both.state, AllOf(HasSubstr("move: core 4: 346 MHz"), HasSubstr("GPU: cores")));
  EXPECT_THAT(both.advice, AllOf(HasSubstr("lock_clocks = true"), HasSubstr("nvidia-smi -lgc")));
  root.remove("/sys");
  EXPECT_THAT(judged(gpu_at(1980, 0, false)).state, testing::StartsWith("GPU: cores"));
}

TEST_F(BringupSystemChecks, ThermalHeadroomIncludesGpu) {
  const auto judged = [&](unsigned now) {
    hal::GpuState gpu = gpu_at(1980, 0, false);
    gpu.heat->now = now;
    return judge_heat(subject(), gpu);
  };
  EXPECT_EQ(judged(77).outcome, Outcome::passed);
  EXPECT_THAT(judged(77).state, AllOf(HasSubstr("BCPU-therm"), HasSubstr("GPU 77.0 C of 87.0 C")));
  EXPECT_EQ(judged(77).figures.back().name, "headroom of GPU");
  EXPECT_DOUBLE_EQ(judged(77).figures.back().value, 10);
  EXPECT_EQ(judged(78).outcome, Outcome::failed);
  EXPECT_THAT(judged(78).advice, HasSubstr("nvidia-smi -pl"));
  EXPECT_EQ(judged(90).outcome, Outcome::failed) << "above it";
  root.remove("/sys/class/thermal");
  EXPECT_EQ(judged(37).state, "GPU 37.0 C of 87.0 C") << "without another sensor";
}

TEST_F(BringupSystemChecks, PowerSupplyFailsWhenTx2RailHasNoVoltage) {
  skips(power_supply, "neither over-current events nor voltages");
  const std::string rails = "/sys/bus/i2c/drivers/ina3221x/0-0041/iio:device1/";
  root.write(rails + "in_voltage0_input", "19040");
  passes(power_supply, "VDD_IN 19040 mV");
  root.write(rails + "in_voltage0_input", "0");
  fails(power_supply, "VDD_IN has 0 mV", "too weak");
  emulated = true;
  skips(power_supply, "emulated");
}

TEST(BringupOrinChecks, PowerSupplyFailsOnOverCurrentOrSaggingRail) {
  const AssembledRoot root("orin-r36");
  const auto ask = [&] {
    return power_supply({.board = *read_board("orin"), .machine = root.machine(), .folder = root.path()});
  };
  EXPECT_EQ(ask().outcome, Outcome::passed) << ask().state;
  EXPECT_THAT(ask().state, AllOf(HasSubstr("over-current 1: 0 events"), HasSubstr("VIN_SYS_5V0 5032 mV")));
  root.write("/sys/class/hwmon/hwmon5/oc2_event_cnt", "3");
  EXPECT_EQ(ask().outcome, Outcome::failed);
  EXPECT_THAT(ask().state, HasSubstr("over-current 2: 3 events since the start"));
  EXPECT_THAT(ask().advice, HasSubstr("too weak"));
  root.write("/sys/class/hwmon/hwmon5/oc2_event_cnt", "0");
  root.write("/sys/bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3/in3_input", "4700");
  EXPECT_EQ(ask().outcome, Outcome::failed);
  EXPECT_THAT(ask().state, HasSubstr("VIN_SYS_5V0 has 4700 mV instead of 5000"));
}

/// An emulator's image set up by the board's file can pass the file's requirements. Requirements on absent hardware are
/// skipped.
TEST_F(BringupSystemChecks, EmulatorIsSkippedForHardwareItLacks) {
  emulated = true;
  root.write("/proc/device-tree/compatible", std::string("nvidia,p2771-0000\0linux,dummy-virt\0", 35));
  for (const auto ask : {board_identity, core_kinds, locked_clocks, thermal_headroom, power_supply})
    EXPECT_EQ(ask(subject()).outcome, Outcome::skipped);
  for (const auto ask : {preemption, command_line, isolation, timers, real_time_group, throttling, fair_server})
    EXPECT_EQ(ask(subject()).outcome, Outcome::passed);
}

} // namespace
} // namespace rtexec::bringup
