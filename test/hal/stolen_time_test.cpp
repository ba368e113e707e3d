// Tests the stolen time of cores, with an assembled tree, and the time that a thread had of its core.
#include "hal/stolen_time.hpp"
#include "hal/thread.hpp"
#include "test/support/test_files.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rtexec::hal::test {
namespace {

using namespace std::chrono_literals;
using rtexec::test::ScratchFolder;
using rtexec::test::write_text;

constexpr const char* stat = "/proc/stat";

TEST(StolenTime, ReadsEighthProcStatCounterOfEachCore) {
  const ScratchFolder root;
  write_text(root / stat,
             "cpu  9 9 9 9 9 9 9 999 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7 70 9 10\n"
             "cpu11 1 2 3 4 5 6 7 11 0 0\nintr 4 0 0\nctxt 1\n");
  StolenTime stolen({1, 11}, root.path());
  const auto first = stolen.read();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].core, 1u);
  EXPECT_EQ(first[0].time, 700ms);
  EXPECT_EQ(first[1].core, 11u);
  EXPECT_EQ(first[1].time, 110ms);
  write_text(root / stat, "cpu  9 9 9 9 9 9 9 999 9 9\ncpu1 1 2 3 4 5 6 7 71 9 10\n"); // core 11 is offline
  EXPECT_EQ(stolen.read()[0].time, 710ms);
  EXPECT_EQ(stolen.read()[1].time, 110ms);
}

TEST(StolenTime, IsZeroIfKernelReportsNone) {
  const ScratchFolder root;
  StolenTime without_file({0}, root.path());
  EXPECT_EQ(without_file.read()[0].time, 0ms);
  for (const char* text : {"", "cpu", "cpu0 1 2 3 4 5 6 7\n", "cpu0 1 2 3 4 5 6 7 8", "cpu0 1 2 3 x 5 6 7 8\n"}) {
    write_text(root / stat, text);
    EXPECT_EQ(StolenTime({0}, root.path()).read()[0].time, 0ms) << text;
  }
  EXPECT_TRUE(StolenTime({}, root.path()).read().empty());
}

TEST(StolenTime, ReadsManyCoresWithLongCounters) {
  const ScratchFolder root;
  const std::string most = " 18446744073709551615";
  std::string text = "cpu ";
  for (int i = 0; i < 10; ++i) text += most;
  for (int core = 0; core < 40; ++core) {
    text += "\ncpu" + std::to_string(core);
    for (int i = 0; i < 10; ++i) text += i == 7 ? " " + std::to_string(core) : most;
  }
  write_text(root / stat, text + "\nintr" + std::string(100'000, '0') + "\n");
  EXPECT_EQ(StolenTime({39}, root.path()).read()[0].time, 390ms);
}

TEST(StolenTime, NeverDecreasesOnThisMachine) {
  StolenTime stolen({0});
  const Duration before = stolen.read()[0].time;
  EXPECT_GE(stolen.read()[0].time, before);
}

// ---- a thread's time on its core ----

TEST(ThreadUse, ExcludesTimeOfOthersIfThreadNeverWaited) {
  const ThreadUse begin{.processor = 3ms, .waits = 7};
  EXPECT_EQ(used_between(begin, {.processor = 8ms, .waits = 7}, 9ms), 5ms);
  EXPECT_EQ(used_between(begin, {.processor = 8ms, .waits = 7}, 4ms), 4ms) << "never more than passed";
  EXPECT_EQ(used_between(begin, {.processor = 8ms, .waits = 8}, 9ms), 9ms) << "it waited";
}

TEST(ThreadUse, SleepCountsAsWaitAndComputingDoesNot) {
  const ThreadUse begin = thread_use();
  while (execution_time() < begin.processor + 3ms) {}
  const ThreadUse computed = thread_use();
  EXPECT_GE(computed.processor - begin.processor, 3ms);
  EXPECT_EQ(computed.waits, begin.waits);
  sleep_until(now() + 100ms); // the interval must not end before it begins
  EXPECT_GT(thread_use().waits, computed.waits);
}

} // namespace
} // namespace rtexec::hal::test
