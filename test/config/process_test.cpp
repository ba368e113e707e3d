#include "config/base/process.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rtexec::config {
namespace {

TEST(Process, IsAliveUntilItEnds) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Process self = Process::self();
    static_cast<void>(!::write(ready[1], &self, sizeof self));
    for (;;) ::pause();
  }
  Process process;
  ASSERT_EQ(::read(ready[0], &process, sizeof process), static_cast<ssize_t>(sizeof process));
  EXPECT_EQ(process.number, static_cast<std::uint32_t>(child));
  EXPECT_GE(process.start, Process::self().start);
  EXPECT_TRUE(process.of_this_namespace());
  EXPECT_TRUE(process.alive());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(process.alive());
}

TEST(Process, IsNotAliveIfPidWasReused) {
  Process other = Process::self();
  EXPECT_TRUE(other.alive());
  --other.start;
  EXPECT_FALSE(other.alive());
}

TEST(Process, IsAssumedAliveInAnotherNamespace) {
  EXPECT_TRUE((Process{.number = 4'000'000, .start = 1, .name_space = 1}).alive());
}

} // namespace
} // namespace rtexec::config
