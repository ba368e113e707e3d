#include "hal/idle_states.hpp"
#include "hal/machine_files.hpp"

#include "test/hal/failing_system.hpp"
#include "test/hal/hal_support.hpp"
#include "test/support/thread_class.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <sched.h>
#include <string>

namespace rtexec::hal::test {
namespace {

TEST(ShallowIdle, HoldsLatencyFileOpenOrReportsFailure) {
  const Held before = held();
  {
    const auto idle = ShallowIdle::hold();
    if (idle) {
      EXPECT_EQ(held().files, before.files + 1) << "in force while the file is open";
    } else {
      EXPECT_TRUE(fails(idle, idle.error().code, "/dev/cpu_dma_latency"));
    }
  }
  EXPECT_EQ(held(), before);
}

TEST(ShallowIdle, ReportsFailuresAndLeaksNothing) {
  const Held before = held();
  {
    const Failing<&System::open> failing(ENOENT);
    EXPECT_TRUE(fails(ShallowIdle::hold(), Errc::unsupported, "does not exist"));
  }
  {
    const Failing<&System::open> failing(EACCES);
    const auto idle = ShallowIdle::hold();
    EXPECT_TRUE(fails(idle, Errc::refused, "/dev/cpu_dma_latency failed: Permission denied"));
    EXPECT_TRUE(fails(idle, Errc::refused, "/etc/udev/rules.d/99-rtexec.rules"));
  }
  static System other = linux_system();
  other.open = [](const char*, int flags) { return ::open("/dev/zero", flags & ~O_CREAT); };
  {
    const SystemOverride override(other); // the write succeeds and 0 is read back: in force
    EXPECT_TRUE(ShallowIdle::hold());
  }
  other.open = [](const char*, int) { return ::open("/dev/null", O_RDWR | O_CLOEXEC); };
  {
    const SystemOverride override(other); // the write succeeds, but nothing is read back
    EXPECT_TRUE(fails(ShallowIdle::hold(), Errc::refused, "after 0 us was written"));
  }
  other.write = [](int, const void*, std::size_t) -> ssize_t {
    errno = EIO;
    return -1;
  };
  {
    const SystemOverride override(other);
    EXPECT_TRUE(fails(ShallowIdle::hold(), Errc::refused, "writing"));
  }
  EXPECT_EQ(held(), before);
}

TEST(KeepAwake, HoldsAThreadOfTheIdleClassOnEachCoreWhileItLives) {
  const unsigned core = Machine().online_cores().back();
  const std::string name = "awake/" + std::to_string(core);
  {
    auto held = KeepAwake::hold(std::array{core}, nullptr);
    ASSERT_TRUE(held) << held.error().what;
    EXPECT_EQ(rtexec::test::class_of(name), SCHED_IDLE);
    KeepAwake moved = std::move(*held);
    EXPECT_EQ(rtexec::test::class_of(name), SCHED_IDLE);
  }
  EXPECT_TRUE(eventually([&] { return rtexec::test::class_of(name) == -1; }))
      << "/proc lists a thread for a moment after it was joined";
}

TEST(KeepAwake, RejectsAbsentCore) { EXPECT_FALSE(KeepAwake::hold(std::array{1000U}, nullptr)); }

} // namespace
} // namespace rtexec::hal::test
