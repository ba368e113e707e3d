#include "test/hal/failing_system.hpp"
#include "test/hal/hal_support.hpp"
#include "test/support/test_files.hpp"

#include "hal/machine_files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rtexec::hal::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Grade = Finding::Grade;

Machine recorded(const std::string& name) { return Machine(std::filesystem::path("test/hal/roots") / name); }

TEST(CoreList, ParsesAndFormatsKernelSyntax) {
  EXPECT_THAT(parse_core_list("0-2,5").value(), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(parse_core_list("7").value(), ElementsAre(7));
  EXPECT_TRUE(parse_core_list("").value().empty());
  for (const char* bad : {"a", "1-", "-1", "3-1", "1,,2", "1-2-3", "0-4294967295", " 1", "1;2"})
    EXPECT_TRUE(fails(parse_core_list(bad), Errc::bad_input, bad));
  for (const char* text : {"0-2,5", "7", "", "0,2,4", "0-63", "1-2,4-5,9"})
    EXPECT_EQ(core_list(parse_core_list(text).value()), text);
}

TEST(Field, ReturnsValueOfKey) {
  EXPECT_EQ(field("A:\t1\nAB:  2 kB\nC:", "AB:"), "2 kB");
  EXPECT_EQ(field("A:\t1\nAB:  2 kB\nC:", "C:"), "");
  EXPECT_EQ(field("A:\t1", "B:"), std::nullopt);
}

TEST(Machine, CountsPageFaultsOfThreads) {
  const ScratchFolder root;
  const std::string stat = "7 (a) b) S 1 7 7 0 -1 4194304 120 5 3 9 1 2 0 0 -2 0 1 0 4711 0\n";
  write_text(root / "/proc/self/task/7/stat", stat);
  const Machine machine(root.path());
  EXPECT_EQ(machine.page_faults(7), 123);
  EXPECT_EQ(machine.page_faults(9), 0);
  EXPECT_GT(Machine().page_faults(::gettid()), 0);
}

TEST(Machine, ReadsUnderItsRoot) {
  const ScratchFolder root;
  write_text(root / "/sys/a", "one\ntwo\n");
  write_text(root / "/sys/empty", "");
  const Machine machine(root.path());
  EXPECT_EQ(machine.read("/sys/a").value(), "one\ntwo");
  EXPECT_EQ(machine.read("/sys/empty").value(), "");
  EXPECT_TRUE(fails(machine.read("/sys/missing"), Errc::unsupported, root.path().string() + "/sys/missing"));
  EXPECT_TRUE(fails(machine.read("/sys"), Errc::refused, "Is a directory"));
}

TEST(Machine, WritesUnderItsRootAndReadsBack) {
  const ScratchFolder root;
  write_text(root / "/sys/knob", "a longer value\n");
  const Machine machine(root.path());
  EXPECT_TRUE(machine.write("/sys/knob", "5"));
  EXPECT_EQ(read_text(root / "/sys/knob"), "5");
  EXPECT_TRUE(fails(machine.write("/sys/missing", "5"), Errc::unsupported, "writing \"5\""));
  EXPECT_FALSE(std::filesystem::exists(root / "sys/missing")) << "nothing is created";
}

TEST(MachineFaults, ReportsFailedFileCallsAndClosesFiles) {
  const ScratchFolder root;
  write_text(root / "/sys/knob", "1");
  const Machine machine(root.path());
  const Held before = held();
  {
    const Failing<&System::open> failing(EACCES);
    EXPECT_TRUE(fails(machine.read("/sys/knob"), Errc::refused, "Run as root"));
  }
  {
    const Failing<&System::open> failing(EROFS);
    EXPECT_TRUE(fails(machine.write("/sys/knob", "2"), Errc::refused, "read-only"));
  }
  {
    const Failing<&System::open> failing(EACCES, 2);
    EXPECT_TRUE(fails(machine.write("/sys/knob", "2"), Errc::refused, "opening"));
  }
  {
    const Failing<&System::read> failing(EIO);
    EXPECT_TRUE(fails(machine.read("/sys/knob"), Errc::refused, "Input/output error"));
  }
  {
    const Failing<&System::read> failing(EINTR);
    EXPECT_EQ(machine.read("/sys/knob").value(), "2");
  }
  {
    const Failing<&System::write> failing(EBUSY);
    EXPECT_TRUE(fails(machine.write("/sys/knob", "3"), Errc::refused, "busy"));
  }
  EXPECT_EQ(held(), before);
}

TEST(MachineFaults, RefusesValueAcceptedButNotInForce) {
  const ScratchFolder root;
  write_text(root / "/sys/knob", "old");
  static System lying = linux_system();
  lying.write = [](int file, const void*, std::size_t size) {
    (void)!::write(file, "other", 5);
    return static_cast<ssize_t>(size);
  };
  const SystemOverride override(lying);
  EXPECT_TRUE(fails(Machine(root.path()).write("/sys/knob", "new"), Errc::refused,
                    "was accepted, but it then reads \"other\""));
}

TEST(MachineFaults, RefusesPartialWrite) {
  const ScratchFolder root;
  write_text(root / "/sys/knob", "old");
  static System partial = linux_system();
  partial.write = [](int file, const void* from, std::size_t) { return ::write(file, from, 1); };
  const SystemOverride override(partial);
  EXPECT_TRUE(fails(Machine(root.path()).write("/sys/knob", "new"), Errc::refused, "only a part"));
}

TEST(Machine, OnlineCoresAreThoseAllowedToProcess) {
  const ScratchFolder root;
  const Machine machine(root.path());
  EXPECT_THAT(machine.online_cores(), ElementsAre(0)) << "with nothing known";
  write_text(root / "/sys/devices/system/cpu/online", "0-3,5\n");
  EXPECT_THAT(machine.online_cores(), ElementsAre(0, 1, 2, 3, 5));
  write_text(root / "/proc/self/status", "Name:\tx\nCpus_allowed_list:\t2-7\n");
  EXPECT_THAT(machine.online_cores(), ElementsAre(2, 3, 5));
}

TEST(Machine, DistinguishesWithheldAndIsolatedCores) {
  const ScratchFolder root;
  write_text(root / "/sys/devices/system/cpu/online", "0-3\n");
  write_text(root / "/proc/self/status", "Name:\tx\nCpus_allowed_list:\t1,3\n");
  EXPECT_THAT(Machine(root.path()).online_cores(), ElementsAre(1, 3));
  EXPECT_THAT(Machine(root.path()).withheld_cores(), ElementsAre(0, 2));
  EXPECT_TRUE(Machine(root.path()).isolated_cores().empty());
  write_text(root / "/sys/devices/system/cpu/isolated", "2-3\n");
  EXPECT_THAT(Machine(root.path()).isolated_cores(), ElementsAre(3));
}

/// With isolcpus a process begins on the other cores. It may nevertheless be pinned to the isolated ones.
TEST(Machine, UsesIsolatedCoresUnlessAffinityExcludesThem) {
  const ScratchFolder root;
  const Machine machine(root.path());
  write_text(root / "/sys/devices/system/cpu/online", "0-5\n");
  write_text(root / "/sys/devices/system/cpu/isolated", "2-5\n");
  write_text(root / "/proc/self/status", "Cpus_allowed_list:\t0-1\n");
  EXPECT_THAT(machine.online_cores(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(machine.withheld_cores(), testing::IsEmpty());
  write_text(root / "/proc/self/status", "Cpus_allowed_list:\t0\n");
  EXPECT_THAT(machine.online_cores(), ElementsAre(0)) << "taskset or a cpuset";
  write_text(root / "/proc/self/status", "Cpus_allowed_list:\t0,3\n");
  EXPECT_THAT(machine.online_cores(), ElementsAre(0, 3));
  write_text(root / "/proc/self/status", "Cpus_allowed_list:\t0-1\n");
  write_text(root / "/sys/devices/system/cpu/isolated", "0-5\n");
  EXPECT_THAT(machine.online_cores(), ElementsAre(0, 1));
}

TEST(Machine, OnlineCoresAgreeWithTheKernel) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(::getpid(), sizeof allowed, &allowed), 0);
  EXPECT_EQ(Machine().online_cores().size(), static_cast<std::size_t>(CPU_COUNT(&allowed)));
}

TEST(Machine, LocksFrequenciesAndRestoresGovernors) {
  const ScratchFolder root;
  const std::string folder = "/sys/devices/system/cpu/cpu2/cpufreq/";
  write_text(root / (folder + "scaling_governor"), "schedutil\n");
  write_text(root / (folder + "scaling_available_governors"), "conservative performance schedutil\n");
  const Machine machine(root.path());
  constexpr unsigned cores[] = {2, 3}; // core 3 shows no cpufreq: nothing to lock
  {
    const auto locked = machine.lock_frequency(cores);
    ASSERT_TRUE(locked) << locked.error().what;
    EXPECT_EQ(machine.read(folder + "scaling_governor").value(), "performance");
  }
  EXPECT_EQ(machine.read(folder + "scaling_governor").value(), "schedutil");
  write_text(root / (folder + "scaling_available_governors"), "powersave schedutil\n");
  EXPECT_TRUE(fails(machine.lock_frequency(cores), Errc::refused, "only: powersave schedutil"));
}

// ---- probe ----

Finding find(const std::vector<Finding>& findings, const std::string& subject) {
  for (const auto& each : findings) {
    if (each.subject == subject) return each;
  }
  ADD_FAILURE() << "no finding about " << subject;
  return {};
}

TEST(Probe, EveryFindingHasAdviceUnlessOk) {
  for (const auto& machine : {Machine(), recorded("server"), recorded("tuned-board"), recorded("empty")}) {
    const auto findings = machine.probe();
    EXPECT_GE(findings.size(), 20u);
    for (const auto& each : findings) {
      EXPECT_FALSE(each.subject.empty());
      EXPECT_FALSE(each.state.empty()) << each.subject;
      EXPECT_EQ(each.advice.empty(), each.grade == Grade::ok) << each.subject << ": " << each.state;
    }
  }
}

TEST(Probe, ReportsEachProblemOfUntunedServer) {
  const auto findings = recorded("server").probe();
  const auto expect = [&](const char* subject, Grade grade, const std::string& state, const std::string& advice) {
    const auto found = find(findings, subject);
    EXPECT_EQ(found.grade, grade) << subject;
    EXPECT_THAT(found.state, HasSubstr(state)) << subject;
    EXPECT_THAT(found.advice, HasSubstr(advice)) << subject;
  };
  expect("cores", Grade::ok, "0-3 (4)", "");
  expect("RT throttling", Grade::note, "950000 us of every 1000000 us", "sched_rt_runtime_us=-1");
  expect("fair server", Grade::note, "core 0: 50000000 ns, core 1: 50000000 ns", "fair_server/cpuN/runtime");
  expect("preemption", Grade::note, "voluntary", "echo full");
  expect("isolated cores", Grade::note, "isolated: none; tickless: none", "isolcpus=1-3 nohz_full=1-3 rcu_nocbs=1-3");
  expect("frequency", Grade::note, "core 0: powersave, core 1: powersave", "cpupower frequency-set -g performance");
  expect("cpusets", Grade::ok, "cgroup v2 at /sys/fs/cgroup", "");
  expect("swap", Grade::note, "on", "swapoff -a");
  expect("transparent huge pages", Grade::note, "always", "madvise");
  expect("SMT", Grade::note, "siblings: {0,2} {1,3}", "smt/control");
  expect("clock source", Grade::note, "hpet (available: hpet acpi_pm)", "clocksource=tsc");
  expect("hypervisor", Grade::note, "virtual machine", "Pin");
}

TEST(Probe, ReportsNoProblemOnTunedBoard) {
  const auto findings = recorded("tuned-board").probe();
  for (const char* subject : {"cores", "RT throttling", "fair server", "preemption", "isolated cores", "frequency",
                              "cpusets", "swap", "transparent huge pages", "SMT", "clock source", "hypervisor"}) {
    const auto found = find(findings, subject);
    EXPECT_EQ(found.grade, Grade::ok) << subject << ": " << found.state << '\n' << found.advice;
  }
  EXPECT_EQ(find(findings, "preemption").state, "PREEMPT_RT");
  EXPECT_EQ(find(findings, "cpusets").state, "cgroup v1 at /sys/fs/cgroup/cpuset");
}

TEST(Probe, DisturbancesListCausesInBrief) {
  for (const auto& finding : recorded("tuned-board").disturbances())
    EXPECT_EQ(finding.grade, Grade::ok) << finding.subject << ": " << finding.state;
  std::string briefs;
  for (const auto& finding : recorded("server").disturbances()) briefs += finding.brief + "\n";
  for (const char* brief : {"a virtual machine's host", "real-time throttling", "the kernel's fair server",
                            "a kernel without PREEMPT_RT", "cores that are not isolated", "SMT siblings"})
    EXPECT_THAT(briefs, HasSubstr(brief));
}

TEST(Probe, ReportsTimeStolenByHypervisor) {
  const ScratchFolder root;
  write_text(root / "/proc/cpuinfo", "flags\t\t: fpu hypervisor\n");
  write_text(root / "/proc/stat", "cpu  1 2 3 4 5 6 7 250 0 0\ncpu0 1 2 3 4 5 6 7 250 0 0\n");
  EXPECT_THAT(find(Machine(root.path()).probe(), "hypervisor").state, HasSubstr("which took 2.50 s so far"));
}

TEST(Probe, CountsSystemManagementInterrupts) {
  const ScratchFolder root;
  write_text(root / "/proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu\n");
  const auto smis = [&] { return find(Machine(root.path()).probe(), "SMIs"); };
  EXPECT_EQ(smis().grade, Grade::unknown);
  EXPECT_THAT(smis().advice, HasSubstr("modprobe msr"));
  const std::string before(0x34, '\xff');
  write_text(root / "/dev/cpu/0/msr", before + std::string(8, '\0'));
  EXPECT_EQ(smis().grade, Grade::ok);
  write_text(root / "/dev/cpu/0/msr", before + '\x03' + std::string(7, '\0'));
  EXPECT_EQ(smis().grade, Grade::note);
  EXPECT_EQ(smis().brief, "SMIs of the firmware (3 so far)");
}

TEST(Probe, DetectsCpusetLeftByKilledProcess) {
  const ScratchFolder root;
  write_text(root / "/proc/mounts", "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n");
  write_text(root / "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "0\n");
  const auto found = find(Machine(root.path()).probe(), "cpusets");
  EXPECT_EQ(found.grade, Grade::note);
  EXPECT_THAT(found.advice, HasSubstr("rmdir"));
}

TEST(Probe, ReportsWhyRealTimeClassIsRefused) {
  static System refusing = linux_system();
  refusing.sched_setattr = [](pid_t, const SchedulingAttributes*, unsigned) {
    errno = EPERM;
    return -1;
  };
  const SystemOverride override(refusing);
  const auto findings = Machine().probe();
  for (const char* subject : {"SCHED_FIFO", "SCHED_DEADLINE"}) {
    const auto found = find(findings, subject);
    EXPECT_EQ(found.grade, Grade::missing);
    EXPECT_THAT(found.state, HasSubstr("Operation not permitted"));
    EXPECT_THAT(found.advice, testing::AnyOf(HasSubstr("setcap cap_sys_nice"), HasSubstr("sched_rt_runtime_us=-1"),
                                             HasSubstr("which is here")));
  }
}

TEST(Probe, LeavesThreadSettingsAndResourcesUnchanged) {
  const auto state = [] {
    cpu_set_t cores;
    ::sched_getaffinity(0, sizeof cores, &cores);
    SchedulingAttributes attributes;
    linux_system().sched_getattr(0, &attributes, sizeof attributes, 0);
    return std::tuple(field(Machine().read("/proc/self/status").value_or(""), "VmLck:"), CPU_COUNT(&cores),
                      attributes.policy, attributes.priority);
  };
  (void)Machine().probe();
  const Held before = held();
  const auto was = state();
  (void)Machine().probe();
  EXPECT_EQ(state(), was);
  EXPECT_TRUE(eventually([&] { return held() == before; })) << held() << " instead of " << before;
}

} // namespace
} // namespace rtexec::hal::test
