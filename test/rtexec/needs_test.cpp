// What a run asks of the machine: all refusals at once, in the words of the run that refuses.
#include "rtexec/executive/needs.hpp"
#include <rtexec/executive.hpp>

#include "hal/system.hpp"
#include "test/rtexec/sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace rtexec::executive {
namespace {

using namespace test;
using testing::HasSubstr;

TaskSet small_set() {
  TaskSet set = set_of({synthetic("a", 50ms, {.before = {}, .device = 1ms, .after = {}})}, 100ms);
  set.executive.allow_degraded = false;
  return set;
}

std::string told(const std::vector<Need>& needs) {
  std::string text;
  for (const Need& need : needs)
    if (need.refused) text += need.subject + ": " + need.state + '\n';
  return text;
}

TEST(Needs, AreRefusedAllAtOnceWithWhatMendsThem) {
  Need dispensable = refused("idle states", {Errc::refused, "no access\nmake a rule"});
  Need device = refused("device", {Errc::unsupported, "none\ninstall one"});
  device.indispensable = true;
  const std::vector<Need> both{given("cores", "all"), dispensable, device};
  const auto refusal = refusal_of(both, false);
  EXPECT_TRUE(fails(refusal, Errc::refused, "idle states: no access\n  make a rule\ndevice: none\n  install one"));
  EXPECT_THAT(refusal.error().what, testing::Not(HasSubstr("allow_degraded"))) << "it would not help";
  EXPECT_TRUE(fails(refusal_of({dispensable}, false), Errc::refused, "allow_degraded = true"));
  EXPECT_TRUE(fails(refusal_of(both, true), Errc::unsupported, "device: none"));
  EXPECT_TRUE(refusal_of({dispensable}, true));
  EXPECT_TRUE(refusal_of({given("cores", "all")}, false));
  dispensable.instead = "cores may sleep";
  EXPECT_THAT(degradations({given("cores", "all"), dispensable}), testing::ElementsAre("cores may sleep: no access"));
}

TEST(Needs, AreGivenBackWhereTheyWereOnlyAskedFor) {
  // Another program may have the cores for a while.
  EXPECT_TRUE(eventually([] {
    static_cast<void>(find_needs(small_set()));
    const auto again = find_needs(small_set());
    return again && again->size() >= 7 && !told(*again).contains("free cores");
  }));
}

TEST(Needs, OfARunAreThoseThatItIsRefusedBy) {
  static hal::System poor = hal::linux_system();
  poor.mlockall = [](int) {
    errno = ENOMEM;
    return -1;
  };
  poor.open = [](const char* path, int flags) {
    if (std::strcmp(path, "/dev/cpu_dma_latency") != 0) return hal::linux_system().open(path, flags);
    errno = EACCES;
    return -1;
  };
  const hal::SystemOverride override(poor);
  const auto needs = find_needs(small_set());
  ASSERT_TRUE(needs) << problem(needs);
  auto executive = Executive::create(small_set());
  ASSERT_TRUE(executive) << problem(executive);
  const auto started = executive->start();
  for (const char* refusal : {"locked memory: locking the memory of the process failed: Cannot allocate memory",
                              "opening /dev/cpu_dma_latency failed: Permission denied"}) {
    EXPECT_THAT(told(*needs), HasSubstr(refusal));
    EXPECT_TRUE(fails(started, Errc::refused, refusal));
  }
}

TEST(Needs, CountLockedMemoryThatIsStillToCome) {
  static hal::System limited = hal::linux_system();
  limited.mmap = [](void* address, std::size_t size, int protection, int flags, int file, off_t offset) -> void* {
    if (protection != PROT_NONE || (flags & MAP_ANONYMOUS) == 0)
      return hal::linux_system().mmap(address, size, protection, flags, file, offset);
    errno = EAGAIN;
    return MAP_FAILED;
  };
  const hal::SystemOverride override(limited);
  const auto needs = find_needs(small_set());
  ASSERT_TRUE(needs) << problem(needs);
  EXPECT_THAT(told(*needs), HasSubstr("for what the run will lock failed: Resource temporarily unavailable"));
}

} // namespace
} // namespace rtexec::executive
