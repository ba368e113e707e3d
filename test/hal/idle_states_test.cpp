#include "hal/idle_states.hpp"

#include "test/hal/failing_system.hpp"
#include "test/hal/support.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace rtexec::hal::test {
namespace {

TEST(ShallowIdle, IsHeldOrSaysWhyNot) {
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

TEST(ShallowIdle, FailuresAreReportedAndNothingLeaks) {
  const Held before = held();
  {
    const Failing<&System::open> failing(ENOENT);
    EXPECT_TRUE(fails(ShallowIdle::hold(), Errc::unsupported, "does not exist"));
  }
  {
    const Failing<&System::open> failing(EACCES);
    EXPECT_TRUE(fails(ShallowIdle::hold(), Errc::refused, "run as root"));
  }
  static System other = linux_system();
  other.open = [](const char*, int flags) { return ::open("/dev/zero", flags & ~O_CREAT); };
  {
    const SystemOverride override(other); // takes the value, and reads back 0: in force
    EXPECT_TRUE(ShallowIdle::hold());
  }
  other.open = [](const char*, int) { return ::open("/dev/null", O_RDWR | O_CLOEXEC); };
  {
    const SystemOverride override(other); // takes the value, and reads back nothing
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

} // namespace
} // namespace rtexec::hal::test
