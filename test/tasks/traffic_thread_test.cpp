// Tests generators on their own threads.
#include "tasks/loads/traffic/generator_thread.hpp"

#include "hal/machine_files.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <sched.h>

namespace rtexec::tasks {
namespace {

using namespace std::chrono_literals;

constexpr Bytes line{64};

std::unique_ptr<Generator> lines_of(TrafficPattern pattern) {
  return std::move(*LineGenerator::make(pattern, Bytes{1 << 16}, line));
}

hal::ThreadSettings settings() {
  hal::ThreadSettings settings;
  settings.name = "traffic";
  settings.core = hal::Machine().online_cores().back();
  return settings;
}

/// Waits until the other thread has moved more than `than`.
Traffic wait_for_more(const GeneratorThread& thread, Bytes than) {
  while (thread.so_far().moved <= than) ::sched_yield();
  return thread.so_far();
}

TEST(TrafficThread, RunsUntilItIsStopped) {
  for (const auto pattern :
       {TrafficPattern::write, TrafficPattern::read, TrafficPattern::copy, TrafficPattern::latency}) {
    auto thread = GeneratorThread::start(lines_of(pattern), settings());
    ASSERT_EQ(test::problem(thread), "none");
    EXPECT_GT(thread->kernel_id(), 0);
    const auto early = wait_for_more(*thread, Bytes{0});
    const auto later = wait_for_more(*thread, early.moved);
    EXPECT_GT(later.elapsed, Duration(0));
    const auto all = thread->stop();
    EXPECT_GE(all.moved, later.moved);
    EXPECT_GE(all.elapsed, early.elapsed);
    EXPECT_EQ(all.moved.count % line.count, 0U);
    EXPECT_GT(all.bandwidth(), Bandwidth{0});
    EXPECT_FALSE(all.failed);
    EXPECT_EQ(thread->stop().moved, all.moved) << "twice is nothing more";
    EXPECT_EQ(thread->so_far().moved, all.moved);
    EXPECT_EQ(thread->so_far().elapsed, all.elapsed);
  }
}

TEST(TrafficThread, TouchesPages) {
  auto thread = GeneratorThread::start(std::move(*PageGenerator::make()), settings());
  ASSERT_EQ(test::problem(thread), "none");
  (void)wait_for_more(*thread, hal::page_size() * 1000);
  const auto all = thread->stop();
  EXPECT_EQ(all.moved.count % hal::page_size().count, 0U);
  EXPECT_FALSE(all.failed);
}

TEST(TrafficThread, DoesNotAllocateWhileItRuns) {
  auto thread = GeneratorThread::start(lines_of(TrafficPattern::write), settings(), Bandwidth{100'000'000});
  ASSERT_EQ(test::problem(thread), "none");
  const auto early = wait_for_more(*thread, Bytes{0});
  const auto before = test::counts_of(thread->kernel_id());
  (void)wait_for_more(*thread, early.moved + Bytes{1 << 18});
  const auto after = test::counts_of(thread->kernel_id());
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.locks, before.locks);
}

TEST(TrafficThread, StopsDuringSleep) {
  // The first line is due after a minute.
  auto thread = GeneratorThread::start(lines_of(TrafficPattern::write), settings(), Bandwidth{1});
  ASSERT_EQ(test::problem(thread), "none");
  EXPECT_EQ(thread->stop().moved, Bytes{0});
}

TEST(TrafficThread, PacedThreadStaysBelowItsRate) {
  auto thread = GeneratorThread::start(lines_of(TrafficPattern::copy), settings(), Bandwidth{2'000'000});
  ASSERT_EQ(test::problem(thread), "none");
  (void)wait_for_more(*thread, Bytes{20'000});
  const auto all = thread->stop();
  const double most = 2e6 * std::chrono::duration<double>(all.elapsed + 100us).count();
  EXPECT_LE(static_cast<double>(all.moved.count), most);
}

TEST(TrafficThread, HooksRunOnTheThread) {
  int begin = 0, end = 0, order = 0;
  GeneratorHooks hooks;
  hooks.begin = [&]() -> Result<> {
    begin = ++order;
    cpu_set_t cores;
    if (::sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) != 1)
      return fail(Errc::refused, "it is not pinned yet");
    return {};
  };
  hooks.end = [&] { end = ++order; };
  auto thread = GeneratorThread::start(lines_of(TrafficPattern::read), settings(), {}, hooks);
  ASSERT_EQ(test::problem(thread), "none");
  EXPECT_EQ(begin, 1);
  (void)thread->stop();
  EXPECT_EQ(end, 2);
}

TEST(TrafficThread, FailedBeginHookFailsStart) {
  bool ended = false;
  GeneratorHooks hooks;
  hooks.begin = []() -> Result<> { return fail(Errc::unsupported, "no counter here"); };
  hooks.end = [&] { ended = true; };
  EXPECT_TRUE(test::fails(GeneratorThread::start(lines_of(TrafficPattern::read), settings(), {}, hooks),
                          Errc::unsupported, "no counter"));
  EXPECT_FALSE(ended);
}

TEST(TrafficThread, RejectsInvalidSettings) {
  auto impossible = settings();
  impossible.core = 1000;
  EXPECT_FALSE(GeneratorThread::start(lines_of(TrafficPattern::read), impossible));
  EXPECT_TRUE(test::fails(GeneratorThread::start(lines_of(TrafficPattern::read), settings(), Bandwidth{0}),
                          Errc::bad_input, "0B/s"));
}

TEST(TrafficThread, SupportsMoveConstructionAndAssignment) {
  auto first = GeneratorThread::start(lines_of(TrafficPattern::write), settings());
  auto second = GeneratorThread::start(lines_of(TrafficPattern::read), settings());
  ASSERT_TRUE(first && second);
  GeneratorThread thread = std::move(*first);
  thread = std::move(*second);
  (void)wait_for_more(thread, Bytes{0});
}

} // namespace
} // namespace rtexec::tasks
