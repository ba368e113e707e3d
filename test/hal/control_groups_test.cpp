// Tests limits of control groups with fake trees of both versions.
#include "hal/control_groups.hpp"

#include "hal/open/available_memory.hpp"
#include "test/support/test_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::hal {
namespace {

using namespace test;
using testing::HasSubstr;

struct ControlGroups : testing::Test {
  ScratchFolder root;
  Machine machine{root.path()};

  void write(const std::string& file, const std::string& text) const { write_text(root / file, text + "\n"); }
  Finding probed(const std::string& subject) const {
    for (const Finding& each : machine.probe())
      if (each.subject == subject) return each;
    return {};
  }
};

TEST_F(ControlGroups, ReportNoLimitIfNoneIsSet) {
  EXPECT_FALSE(memory_limit(machine));
  EXPECT_FALSE(cpu_quota(machine));
  write("/proc/self/cgroup", "0::/a");
  write("/sys/fs/cgroup/a/memory.max", "max");
  write("/sys/fs/cgroup/a/memory.current", "4096");
  write("/sys/fs/cgroup/a/cpu.max", "max 100000");
  EXPECT_FALSE(memory_limit(machine));
  EXPECT_FALSE(cpu_quota(machine));
  EXPECT_EQ(probed("memory limit").grade, Finding::Grade::ok);
}

TEST_F(ControlGroups, ReportMemoryLimitAndCpuQuotaOfVersion2) {
  write("/proc/self/cgroup", "0::/a/b");
  write("/sys/fs/cgroup/a/memory.max", "62914560");
  write("/sys/fs/cgroup/a/memory.current", "20971520");
  write("/sys/fs/cgroup/a/cpu.max", "50000 100000");
  write("/sys/fs/cgroup/a/b/cpu.max", "150000 100000");
  ASSERT_TRUE(memory_limit(machine));
  EXPECT_EQ(memory_limit(machine)->limit, Bytes{60 << 20});
  EXPECT_EQ(memory_limit(machine)->left, Bytes{40 << 20});
  EXPECT_EQ(memory_limit(machine)->file, "/sys/fs/cgroup/a/memory.max");
  ASSERT_TRUE(cpu_quota(machine));
  EXPECT_EQ(cpu_quota(machine)->cores, 0.5) << "the group above is tighter";
  EXPECT_THAT(probed("memory limit").state, HasSubstr("60.0 MiB, of which 40.0 MiB are left"));
  EXPECT_THAT(probed("cpu quota").state, HasSubstr("0.5 cores (/sys/fs/cgroup/a/cpu.max)"));
}

TEST_F(ControlGroups, ReportMemoryLimitAndCpuQuotaOfVersion1) {
  write("/proc/self/cgroup", "5:cpuset,memory:/m\n3:cpu,cpuacct:/c\n0::/");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"); // no limit
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "4096");
  write("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "8192");
  write("/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "4096");
  write("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "20000");
  write("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "10000");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "10000");
  ASSERT_TRUE(memory_limit(machine));
  EXPECT_EQ(memory_limit(machine)->left, Bytes{4096});
  ASSERT_TRUE(cpu_quota(machine));
  EXPECT_EQ(cpu_quota(machine)->cores, 2);
}

TEST_F(ControlGroups, UnlockedMemoryExcludesResidentAndInaccessiblePages) {
  write("/proc/self/smaps",
        "1000-9000 r-xp 00000000 00:00 1 /usr/lib/a.so\n"
        "Size:                 32 kB\nRss:                  12 kB\nVmFlags: rd ex\n"
        "a000-b000 ---p 00000000 00:00 0 \n"
        "Size:               4096 kB\nRss:                   0 kB\nVmFlags: mr mw me\n"
        "c000-d000 rw-p 00000000 00:00 0 [heap]\n"
        "Size:                  8 kB\nRss:                   8 kB\nVmFlags: rd wr mr mw me\n"
        "e000-f000 rw-p 00000000 00:00 0 \n" // shadow memory of a sanitizer
        "Size:         1048576000 kB\nRss:                  16 kB\nVmFlags: rd wr mr mw me nr dd nh\n");
  EXPECT_EQ(unlocked_memory(machine), Bytes{20 << 10});
  EXPECT_GT(unlocked_memory(Machine()), Bytes{0}) << "of this process";
}

} // namespace
} // namespace rtexec::hal
