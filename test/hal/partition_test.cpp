#include "test/hal/fake_cgroups.hpp"
#include "test/hal/hal_support.hpp"
#include "test/support/test_files.hpp"

#include "hal/machine_files.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

namespace rtexec::hal::test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Result<std::unique_ptr<CpusetPartition>> make(const FakeCgroups& fake, const std::vector<unsigned>& cores) {
  return Machine(fake.root()).partition(cores);
}

TEST(PartitionV1, GivesEachCoreADomainAndKeepsBalancingTheOthers) {
  FakeCgroups fake(1);
  const auto partition = make(fake, {1, 3});
  ASSERT_TRUE(partition) << problem(partition);
  for (const std::string core : {"1", "3"}) {
    EXPECT_EQ(fake.read("rtexec-core" + core + "/cpuset.cpus"), core);
    EXPECT_EQ(fake.read("rtexec-core" + core + "/cpuset.mems"), "0");
    EXPECT_EQ(fake.read("rtexec-core" + core + "/cpuset.cpu_exclusive"), "1");
  }
  EXPECT_EQ(fake.read("rtexec-rest/cpuset.cpus"), "0,2");
  EXPECT_EQ(fake.read("rtexec-rest/cpuset.sched_load_balance"), "1");
  EXPECT_EQ(fake.read("cpuset.sched_load_balance"), "0");
}

TEST(PartitionV1, MovesThreadsToCoreGroupAndBackAtEnd) {
  FakeCgroups fake(1, "/home");
  const auto before = fake.snapshot();
  {
    const auto partition = make(fake, {2});
    ASSERT_TRUE(partition) << problem(partition);
    EXPECT_TRUE((*partition)->add(4711, 2));
    EXPECT_EQ(fake.read("rtexec-core2/tasks"), "4711");
    EXPECT_TRUE(fails((*partition)->add(4711, 1), Errc::bad_input, "holds the cores 2, not core 1"));
    EXPECT_TRUE((*partition)->end());
    EXPECT_EQ(fake.read("home/tasks"), "4711");
    EXPECT_TRUE((*partition)->end()) << "once is enough";
  }
  auto after = fake.snapshot();
  fake.write("home/tasks", "");
  EXPECT_EQ(fake.snapshot().size(), before.size());
}

TEST(PartitionV1, MakesNoRestGroupIfAllCoresArePartitioned) {
  FakeCgroups fake(1);
  const auto partition = make(fake, {0, 1, 2, 3});
  ASSERT_TRUE(partition) << problem(partition);
  EXPECT_FALSE(fake.has("rtexec-rest"));
}

TEST(PartitionV1, KeepsLoadBalancingOffIfItWasOff) {
  FakeCgroups fake(1);
  fake.write("cpuset.sched_load_balance", "0");
  (void)make(fake, {1});
  EXPECT_EQ(fake.read("cpuset.sched_load_balance"), "0");
}

TEST(PartitionV1, ReplacesLeftoverPartitionAndRestoresBalancing) {
  FakeCgroups fake(1);
  const auto clean = fake.snapshot();
  fake.make_group("rtexec-core2");
  fake.make_group("rtexec-rest");
  fake.write("cpuset.sched_load_balance", "0");
  {
    const auto partition = make(fake, {1});
    ASSERT_TRUE(partition) << problem(partition);
    EXPECT_FALSE(fake.has("rtexec-core2"));
  }
  EXPECT_EQ(fake.snapshot(), clean);
}

/// Makes the folder of a partition's lock.
void make_lock_folder(const FakeCgroups& fake) {
  std::filesystem::create_directories(fake.root() / "run/rtexec");
  std::filesystem::permissions(fake.root() / "run/rtexec", std::filesystem::perms(0755));
}

TEST(PartitionV1, ClearLeftOverPartitionRestoresCleanState) {
  FakeCgroups fake(1);
  make_lock_folder(fake);
  const Machine machine(fake.root());
  EXPECT_EQ(machine.clear_left_over_partition().value_or(true), false);
  const auto clean = fake.snapshot();
  fake.make_group("rtexec-core2");
  fake.make_group("rtexec-rest");
  fake.write("cpuset.sched_load_balance", "0");
  EXPECT_EQ(machine.clear_left_over_partition().value_or(false), true);
  EXPECT_EQ(fake.snapshot(), clean);
}

TEST(PartitionV2, GivesEachCoreThreadedPartitionRoot) {
  FakeCgroups fake(2);
  const auto partition = make(fake, {1, 3});
  ASSERT_TRUE(partition) << problem(partition);
  EXPECT_EQ(fake.read("cgroup.subtree_control"), "cpuset cpu memory");
  for (const std::string core : {"1", "3"}) {
    EXPECT_EQ(fake.read("rtexec-core" + core + "/cgroup.type"), "threaded");
    EXPECT_EQ(fake.read("rtexec-core" + core + "/cpuset.cpus"), core);
    EXPECT_EQ(fake.read("rtexec-core" + core + "/cpuset.cpus.partition"), "root");
  }
  EXPECT_TRUE((*partition)->add(4711, 3));
  EXPECT_EQ(fake.read("rtexec-core3/cgroup.threads"), "4711");
}

TEST(PartitionV2, MovesProcessToRootGroupAndBackAtEnd) {
  FakeCgroups fake(2, "/user.slice");
  const std::string process = std::to_string(::getpid());
  {
    const auto partition = make(fake, {1});
    ASSERT_TRUE(partition) << problem(partition);
    EXPECT_THAT(fake.journal, Contains("cgroup.procs=" + process));
    EXPECT_THAT(fake.journal, Not(Contains("user.slice/cgroup.procs=" + process)));
  }
  EXPECT_THAT(fake.journal, Contains("user.slice/cgroup.procs=" + process));
  EXPECT_EQ(fake.journal.back(), "cgroup.subtree_control=-cpuset") << "undone in reverse order";
  EXPECT_THAT(fake.journal, Contains("rtexec-core1/cpuset.cpus.partition=member"))
      << "removing the group alone gives the core back too late";
}

TEST(PartitionV2, KeepsCpusetControllerThatWasEnabled) {
  FakeCgroups fake(2);
  fake.write("cgroup.subtree_control", "cpuset cpu memory");
  (void)make(fake, {1});
  EXPECT_EQ(fake.read("cgroup.subtree_control"), "cpuset cpu memory");
}

TEST(PartitionV2, ReportsKernelReasonOfInvalidPartition) {
  FakeCgroups fake(2);
  const auto clean = fake.snapshot();
  fake.invalid = "Parent is not a partition root";
  EXPECT_TRUE(fails(make(fake, {1}), Errc::refused, "it then reads \"root invalid (Parent is not a partition root)\""));
  EXPECT_EQ(fake.snapshot(), clean);
}

class PartitionV1AndV2 : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Cgroup, PartitionV1AndV2, testing::Values(1, 2));

// The main property: whichever step fails, everything is restored.
TEST_P(PartitionV1AndV2, UndoesEverythingWhicheverStepFails) {
  int failures = 0;
  for (int nth = 1; nth < 100; ++nth) {
    FakeCgroups fake(GetParam(), "/home");
    const auto before = fake.snapshot();
    fake.fail_at = nth;
    const auto partition = make(fake, {1, 2});
    if (partition) break; // no more steps are needed
    ++failures;
    EXPECT_THAT(problem(partition), HasSubstr("Permission denied"));
    EXPECT_EQ(fake.snapshot(), before) << "step " << nth;
  }
  EXPECT_GE(failures, 8);
}

TEST_P(PartitionV1AndV2, KeepsPartitionInUseEvenWithoutThreads) {
  FakeCgroups fake(GetParam());
  make_lock_folder(fake);
  const auto partition = make(fake, {1});
  ASSERT_TRUE(partition) << problem(partition);
  EXPECT_EQ(Machine(fake.root()).clear_left_over_partition().value_or(true), false);
  EXPECT_TRUE(fake.has("rtexec-core1"));
  EXPECT_TRUE(fails(make(fake, {2}), Errc::refused, "Another run has a partition"));
}

TEST_P(PartitionV1AndV2, ClearsNoGroupsWithoutLockFolder) {
  FakeCgroups fake(GetParam());
  fake.make_group("rtexec-core2");
  EXPECT_EQ(Machine(fake.root()).clear_left_over_partition().value_or(true), false);
  EXPECT_TRUE(fake.has("rtexec-core2"));
}

TEST_P(PartitionV1AndV2, DestructionRestoresEverything) {
  FakeCgroups fake(GetParam(), "/home");
  const auto before = fake.snapshot();
  {
    const auto partition = make(fake, {0, 2});
    ASSERT_TRUE(partition) << problem(partition);
    EXPECT_NE(fake.snapshot(), before);
  }
  EXPECT_EQ(fake.snapshot(), before);
}

TEST_P(PartitionV1AndV2, EndReportsFailedStepAndUndoesTheRest) {
  FakeCgroups fake(GetParam());
  const auto partition = make(fake, {1});
  ASSERT_TRUE(partition) << problem(partition);
  fake.fail_at = fake.changes + 1;
  EXPECT_TRUE(fails((*partition)->end(), Errc::refused, "Permission denied"));
  EXPECT_FALSE(fake.has("rtexec-core1"));
}

TEST_P(PartitionV1AndV2, RefusesSecondPartitionWhileOneIsInUse) {
  FakeCgroups fake(GetParam());
  const auto first = make(fake, {1});
  ASSERT_TRUE(first) << problem(first);
  ASSERT_TRUE((*first)->add(12, 1));
  const auto held = fake.snapshot();
  EXPECT_TRUE(fails(make(fake, {2}), Errc::refused, "Another partition is in use"));
  EXPECT_EQ(fake.snapshot(), held);
}

TEST_P(PartitionV1AndV2, RefusesAbsentAndRepeatedCores) {
  FakeCgroups fake(GetParam());
  EXPECT_TRUE(fails(make(fake, {1, 9}), Errc::refused, "Core 9 cannot be used"));
  EXPECT_TRUE(fails(make(fake, {1, 1}), Errc::refused, "Core 1 cannot be used")) << "asked twice";
}

TEST_P(PartitionV1AndV2, AddReportsThreadThatDidNotMove) {
  FakeCgroups fake(GetParam());
  const auto partition = make(fake, {1});
  ASSERT_TRUE(partition) << problem(partition);
  fake.threads_stay = true;
  EXPECT_TRUE(fails((*partition)->add(12, 1), Errc::refused, "but is not there"));
}

TEST(Partition, RequiresCpusetController) {
  const ScratchFolder root;
  write_text(root / "/proc/mounts", "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n");
  EXPECT_TRUE(fails(Machine(root.path()).partition({0}), Errc::unsupported, "controller cpuset"));
}

// ---- on this machine ----

TEST(RealPartition, LetsADeadlineThreadBePinned) {
  if (const auto why = why_no_deadline(); !why.empty()) GTEST_SKIP() << why;
  const Machine machine;
  const auto cores = machine.online_cores();
  if (cores.size() < 2) GTEST_SKIP() << "needs two cores";
  // The partition of another program.
  if (const auto partition = machine.partition({cores.back()}); !partition) GTEST_SKIP() << partition.error().what;
  ThreadSettings settings;
  settings.name = "pinned";
  settings.core = cores.back();
  settings.reservation = Reservation{1ms, 50ms, 100ms};
  // Without a limit for real-time threads the kernel has no admission control, and threads can be pinned anywhere.
  const bool admission = machine.read("/proc/sys/kernel/sched_rt_runtime_us").value_or("") != "-1";
  const auto refused_without_one = [&] {
    return !admission || fails(Thread::start(settings, [] {}), Errc::refused, "needs a cpuset partition");
  };
  EXPECT_TRUE(refused_without_one());
  {
    const auto partition = machine.partition({cores.back()});
    ASSERT_TRUE(partition) << problem(partition);
    settings.partition = partition->get();
    Signal end;
    auto thread = Thread::start(settings, [&] {
      while (end.value() == 0) end.wait(0);
    });
    EXPECT_TRUE(thread) << problem(thread);
    if (thread) {
      EXPECT_EQ(::sched_getscheduler(thread->kernel_id()) & ~SCHED_RESET_ON_FORK, 6);
      const auto status = machine.read("/proc/self/task/" + std::to_string(thread->kernel_id()) + "/status");
      EXPECT_EQ(field(status.value_or(""), "Cpus_allowed_list:"), std::to_string(cores.back()));
      end.raise();
      thread->join();
    }
    const auto ended = (*partition)->end();
    EXPECT_TRUE(ended) << problem(ended);
  }
  settings.partition = nullptr;
  EXPECT_TRUE(refused_without_one()) << "everything is as before";
  EXPECT_EQ(machine.online_cores(), cores);
}

} // namespace
} // namespace rtexec::hal::test
