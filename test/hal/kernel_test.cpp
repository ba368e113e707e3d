// Tests what a kernel was built and booted with, from files of a root.
#include "hal/kernel.hpp"
#include "hal/board/board_findings.hpp"
#include "test/hal/assembled_root.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace rtexec::hal {
namespace {

using rtexec::test::ScratchFolder;
using rtexec::test::write_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Kernel : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& content) const { write_text(root / path, content + "\n"); }
  /// Writes the configuration compressed by this machine's gzip.
  void packed_config(const std::string& content) const {
    file("/proc/config", content);
    const std::string folder = (root / "proc").string();
    ASSERT_EQ(std::system(("gzip -c " + folder + "/config > " + folder + "/config.gz").c_str()), 0);
  }
  ScratchFolder root;
  Machine machine{root.path()};
};

TEST_F(Kernel, ReadsConfigFromProcOrBoot) {
  EXPECT_FALSE(KernelConfig::of(machine));
  file("/proc/sys/kernel/osrelease", "6.1.0-rt");
  file("/boot/config-6.1.0-rt", "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=m\nCONFIG_A_LONGER=y");
  const auto beside = KernelConfig::of(machine);
  ASSERT_TRUE(beside) << beside.error().what;
  EXPECT_TRUE(beside->has("A"));
  EXPECT_FALSE(beside->has("B"));
  EXPECT_FALSE(beside->has("C"));
  EXPECT_FALSE(beside->has("A_LONG"));
  packed_config("CONFIG_B=y\n" + std::string(200'000, 'x'));
  EXPECT_TRUE(KernelConfig::of(machine)->has("B"));
  file("/proc/config.gz", "no gzip file");
  EXPECT_TRUE(KernelConfig::of(machine)->has("A")) << "the other one is read";
}

/// Reading a file removes its last newline. The last byte of a compressed file may be equal to one.
TEST_F(Kernel, UnpacksConfigOfAnySize) {
  for (int size = 0; size < 300; ++size) {
    packed_config("CONFIG_B=y\n" + std::string(static_cast<std::size_t>(size), 'a'));
    ASSERT_TRUE(KernelConfig::of(machine)) << size;
  }
}

TEST_F(Kernel, PreemptionModelComesFromMostExactSource) {
  const auto model = [&] { return preemption_of(machine).model; };
  EXPECT_THAT(model(), IsEmpty());
  file("/proc/version", "Linux version 4.9.337-tegra (x@y) (gcc) #1 SMP PREEMPT Thu");
  EXPECT_EQ(model(), "full");
  packed_config("CONFIG_PREEMPT_VOLUNTARY=y");
  EXPECT_EQ(model(), "voluntary") << "the configuration is more exact";
  file("/proc/version", "Linux version 6.1.0 (x@y) (gcc) #1 SMP PREEMPT_DYNAMIC Debian");
  file("/proc/cmdline", "quiet preempt=none preempt=full");
  EXPECT_EQ(model(), "full");
  EXPECT_EQ(preemption_of(machine).told, "/proc/cmdline");
  file("/sys/kernel/debug/sched/preempt", "none (voluntary) full ");
  EXPECT_EQ(model(), "voluntary") << "it may be changed while the kernel runs";
  file("/proc/version", "Linux version 6.1.0-rt (x@y) (gcc) #1 SMP PREEMPT_RT Debian");
  EXPECT_EQ(model(), "PREEMPT_RT");
  file("/proc/version", "Linux version 4.9.337-rt (x@y) (gcc) #1 SMP PREEMPT RT Thu");
  EXPECT_EQ(model(), "PREEMPT_RT");
}

TEST_F(Kernel, BootWordsSplitCommandLineAndLastValueCounts) {
  EXPECT_THAT(boot_words(machine), IsEmpty());
  file("/proc/cmdline", "root=/dev/a  rw isolcpus=1 isolcpus=2-3");
  EXPECT_THAT(boot_words(machine), ElementsAre("root=/dev/a", "rw", "isolcpus=1", "isolcpus=2-3"));
  EXPECT_EQ(boot_value(boot_words(machine), "isolcpus"), "2-3") << "the last one counts";
  EXPECT_EQ(boot_value(boot_words(machine), "rw"), std::nullopt);
}

TEST_F(Kernel, DetectsEmulatorButNotHardwareVirtualization) {
  EXPECT_THAT(emulator_of(machine), IsEmpty());
  file("/proc/device-tree/compatible", std::string("nvidia,p2771-0000\0linux,dummy-virt\0", 35));
  EXPECT_THAT(emulator_of(machine), HasSubstr("linux,dummy-virt"));
  const test::AssembledRoot board("tx2-r32");
  EXPECT_THAT(emulator_of(board.machine()), IsEmpty());
  const ScratchFolder pc;
  write_text(pc / "/sys/class/dmi/id/sys_vendor", "QEMU\n");
  const std::string clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
  write_text(pc / clocks, "kvm-clock tsc hpet acpi_pm \n");
  EXPECT_THAT(emulator_of(Machine(pc.path())), IsEmpty()) << "the processor executes its instructions";
  write_text(pc / clocks, "tsc hpet acpi_pm \n");
  EXPECT_THAT(emulator_of(Machine(pc.path())), HasSubstr("QEMU"));
}

TEST_F(Kernel, ReportsRtThrottlingByVersionAndGroupScheduling) {
  file("/proc/sys/kernel/sched_rt_runtime_us", "950000");
  file("/proc/sys/kernel/sched_rt_period_us", "1000000");
  file("/proc/sys/kernel/osrelease", "6.12.0");
  const auto grade = [&] { return machine.real_time_limits(0).front().grade; };
  EXPECT_EQ(grade(), Finding::Grade::note) << "nothing says that it groups none";
  packed_config("CONFIG_RT_GROUP_SCHED=y");
  EXPECT_EQ(grade(), Finding::Grade::note);
  packed_config("# CONFIG_RT_GROUP_SCHED is not set");
  EXPECT_EQ(grade(), Finding::Grade::ok);
  file("/proc/sys/kernel/osrelease", "6.1.0");
  EXPECT_EQ(grade(), Finding::Grade::note) << "a kernel before its fair server throttles";
}

} // namespace
} // namespace rtexec::hal
