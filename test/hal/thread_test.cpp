#include "test/hal/failing_system.hpp"
#include "test/hal/hal_support.hpp"
#include "test/support/sanitized.hpp"

#include "hal/linux/advice.hpp"
#include "hal/machine_files.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rtexec::hal::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

ThreadSettings named(const std::string& name) {
  ThreadSettings settings;
  settings.name = name;
  return settings;
}

/// The thread's settings as the kernel shows them to another thread, not as the thread's own calls return them.
struct Observed {
  int policy = -1;
  int priority = -1;
  std::vector<unsigned> cores;
  std::string name;
};

Observed observe(int thread) {
  Observed found;
  found.policy = ::sched_getscheduler(thread);
  sched_param parameters{};
  if (::sched_getparam(thread, &parameters) == 0) found.priority = parameters.sched_priority;
  const std::string folder = "/proc/self/task/" + std::to_string(thread);
  const auto status = Machine().read(folder + "/status").value_or("");
  found.cores = parse_core_list(field(status, "Cpus_allowed_list:").value_or("")).value_or(std::vector<unsigned>{});
  found.name = Machine().read(folder + "/comm").value_or("");
  return found;
}

/// Starts a thread, observes it from outside while it runs, and ends it.
Result<Observed> start_and_observe(const ThreadSettings& settings) {
  Signal end;
  auto thread = Thread::start(settings, [&] {
    while (end.value() == 0) end.wait(0);
  });
  if (!thread) return Unexpected(thread.error());
  const auto found = observe(thread->kernel_id());
  end.raise();
  thread->join();
  return found;
}

TEST(Thread, RunsBodyOnceOnNewThread) {
  int runs = 0;
  int id = 0;
  auto thread = Thread::start(named("once"), [&] {
    ++runs;
    id = ::gettid();
  });
  ASSERT_TRUE(thread) << problem(thread);
  const int kernel_id = thread->kernel_id();
  thread->join();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(id, kernel_id);
  EXPECT_NE(id, ::gettid());
}

TEST(Thread, IsNamedAndPinned) {
  const unsigned core = Machine().online_cores().back();
  auto settings = named("a name that is longer than the kernel's");
  settings.core = core;
  const auto found = start_and_observe(settings);
  ASSERT_TRUE(found) << problem(found);
  EXPECT_EQ(found->name, "a name that is ");
  EXPECT_EQ(found->cores, std::vector<unsigned>{core});
  EXPECT_EQ(found->policy, SCHED_OTHER);
}

TEST(Thread, IsRestrictedToGivenCores) {
  const std::vector<unsigned> all = Machine().online_cores();
  auto settings = named("some");
  for (const auto& cores : {all, std::vector{all.back()}}) {
    settings.among = cores;
    const auto found = start_and_observe(settings);
    ASSERT_TRUE(found) << problem(found);
    EXPECT_EQ(found->cores, cores);
  }
  settings.among = {all.back(), 100'000};
  EXPECT_THAT(problem(start_and_observe(settings)), HasSubstr("Core 100000 is not below"));
}

TEST(Thread, GetsItsFifoPriority) {
  if (const auto why = why_no_fifo(); !why.empty()) GTEST_SKIP() << why;
  for (const int priority : {1, 50, 99}) {
    auto settings = named("fifo");
    settings.fifo_priority = priority;
    const auto found = start_and_observe(settings);
    ASSERT_TRUE(found) << problem(found);
    EXPECT_EQ(found->policy, SCHED_FIFO);
    EXPECT_EQ(found->priority, priority);
  }
}

TEST(Thread, RunsUnderSchedDeadlineWithReservation) {
  if (const auto why = why_no_deadline(); !why.empty()) GTEST_SKIP() << why;
  auto settings = named("deadline");
  settings.reservation = Reservation{200us, 50ms, 100ms};
  const auto found = start_and_observe(settings);
  ASSERT_TRUE(found) << problem(found);
  EXPECT_EQ(found->policy & ~SCHED_RESET_ON_FORK, 6);
}

/// Drivers create threads inside of calls.
TEST(Thread, ThreadWithReservationCanCreateThreads) {
  if (const auto why = why_no_deadline(); !why.empty()) GTEST_SKIP() << why;
  auto settings = named("parent");
  settings.reservation = Reservation{1ms, 50ms, 100ms};
  int made = -1, policy = -1;
  auto parent = Thread::start(settings, [&] {
    const auto body = [](void* found) -> void* {
      *static_cast<int*>(found) = ::sched_getscheduler(0);
      return nullptr;
    };
    pthread_t child{};
    made = ::pthread_create(&child, nullptr, body, &policy);
    if (made == 0) ::pthread_join(child, nullptr);
  });
  ASSERT_TRUE(parent) << problem(parent);
  parent->join();
  EXPECT_EQ(made, 0);
  EXPECT_EQ(policy, SCHED_OTHER);
}

TEST(Thread, ChildDoesNotInheritRealTimeClass) {
  if (const auto why = why_no_fifo(); !why.empty()) GTEST_SKIP() << why;
  auto settings = named("parent");
  settings.fifo_priority = 10;
  Result<Observed> child;
  auto parent = Thread::start(settings, [&] { child = start_and_observe(named("child")); });
  ASSERT_TRUE(parent) << problem(parent);
  parent->join();
  ASSERT_TRUE(child) << problem(child);
  EXPECT_EQ(child->policy, SCHED_OTHER);
}

TEST(ThreadSettings, ApplyReplacesPreviousSettings) {
  if (const auto why = why_no_fifo() + why_no_deadline(); !why.empty()) GTEST_SKIP() << why;
  auto fifo = named("first");
  fifo.fifo_priority = 7;
  fifo.core = Machine().online_cores().front();
  auto deadline = named("second");
  deadline.reservation = Reservation{100us, 100ms, 100ms};
  std::vector<Observed> found;
  std::vector<std::string> errors;
  // A SCHED_DEADLINE thread cannot be pinned: apply() must leave that class first.
  auto thread = Thread::start(deadline, [&] {
    for (const auto& settings : {fifo, named("third")}) {
      if (auto applied = apply(settings); !applied) errors.push_back(applied.error().what);
      found.push_back(observe(::gettid()));
    }
  });
  ASSERT_TRUE(thread) << problem(thread);
  thread->join();
  EXPECT_THAT(errors, testing::IsEmpty());
  EXPECT_EQ(found.at(0).policy, SCHED_FIFO);
  EXPECT_EQ(found.at(0).priority, 7);
  EXPECT_EQ(found.at(0).name, "first");
  EXPECT_EQ(found.at(1).policy, SCHED_OTHER);
  EXPECT_EQ(found.at(1).name, "third");
}

TEST(Thread, RejectsInvalidSettings) {
  const auto refused = [](auto change) {
    auto settings = named("bad");
    change(settings);
    return Thread::start(settings, [] { FAIL() << "the body ran"; });
  };
  EXPECT_TRUE(fails(refused([](auto& s) { s.fifo_priority = 100; }), Errc::bad_input, "priority 100"));
  EXPECT_TRUE(fails(refused([](auto& s) { s.fifo_priority = -1; }), Errc::bad_input, "priority -1"));
  EXPECT_TRUE(fails(refused([](auto& s) { s.core = 4096; }), Errc::bad_input, "4096"));
  EXPECT_TRUE(fails(refused([](auto& s) {
                      s.reservation = Reservation{2ms, 1ms, 3ms};
                    }),
                    Errc::bad_input, "runtime <= deadline"));
  EXPECT_TRUE(fails(refused([](auto& s) {
                      s.reservation = Reservation{1ms, 4ms, 3ms};
                    }),
                    Errc::bad_input, "deadline <= period"));
  EXPECT_TRUE(fails(refused([](auto& s) { s.reservation = Reservation{1us, 1ms, 1ms}; }), Errc::bad_input, "1024ns"));
  EXPECT_TRUE(fails(refused([](auto& s) {
                      s.fifo_priority = 5;
                      s.reservation = Reservation{1ms, 2ms, 3ms};
                    }),
                    Errc::bad_input, "Both"));
}

TEST(Thread, RefusesAbsentCoreWithAdvice) {
  auto settings = named("nowhere");
  settings.core = 1000;
  const auto thread = Thread::start(settings, [] { FAIL() << "the body ran"; });
  EXPECT_TRUE(fails(thread, Errc::refused, "pinning to core 1000 for thread \"nowhere\""));
  EXPECT_TRUE(fails(thread, Errc::refused, "/sys/devices/system/cpu/online"));
}

TEST(Thread, StackIsResidentBeforeBodyRuns) {
  constexpr std::size_t size = 4 << 20;
  auto settings = named("stack");
  settings.stack = Bytes{size};
  long faults = -1;
  auto thread = Thread::start(settings, [&] {
    rusage before{}, after{};
    ::getrusage(RUSAGE_THREAD, &before);
    volatile char deep[size - (size >> 2)];
    for (std::size_t i = 0; i < sizeof deep; i += 4096) deep[i] = 1;
    ::getrusage(RUSAGE_THREAD, &after);
    faults = after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt;
  });
  ASSERT_TRUE(thread) << problem(thread);
  thread->join();
  if (sanitized) GTEST_SKIP() << "a sanitizer's shadow memory faults";
  EXPECT_LT(faults, 8) << "of 768 pages"; // code and bookkeeping of the first call
}

TEST(ThreadDeathTest, StackOverflowHitsGuardPage) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        auto thread = Thread::start(named("overflow"), [] {
          volatile std::byte* here = static_cast<std::byte*>(__builtin_frame_address(0));
          for (std::size_t depth = 0; depth <= 2 << 20; depth += 1024) *(here - depth) = std::byte{1};
        });
        (void)thread;
      },
      "");
}

TEST(Thread, MovesAndJoins) {
  std::atomic<int> runs = 0;
  auto first = Thread::start(named("a"), [&] { ++runs; });
  auto second = Thread::start(named("b"), [&] { ++runs; });
  ASSERT_TRUE(first && second);
  Thread kept = std::move(*first);
  kept = std::move(*second); // joins the first
  kept.join();
  kept.join();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(kept.kernel_id(), 0);
}

// ---- injected faults ----

/// Starts a thread with every setting, so that every call is made.
Result<Thread> start_fully() {
  auto settings = named("full");
  settings.core = Machine().online_cores().front();
  settings.fifo_priority = 20;
  return Thread::start(settings, [] {});
}

template <auto Member>
void expect_start_fails(int error, const std::string& part, Errc code = Errc::refused, int nth = 1) {
  const Held before = held();
  {
    const Failing<Member> failing(error, nth);
    const auto thread = start_fully();
    EXPECT_TRUE(fails(thread, code, part));
  }
  EXPECT_TRUE(eventually([&] { return held() == before; })) << held() << " instead of " << before;
}

TEST(ThreadFaults, ReportsEachFailedCallAndLeaksNothing) {
  if (const auto why = why_no_fifo(); !why.empty()) GTEST_SKIP() << why;
  (void)start_fully(); // so that the C library's one-time costs are paid
  expect_start_fails<&System::mmap>(ENOMEM, "a thread's stack", Errc::out_of_memory);
  expect_start_fails<&System::mmap>(EAGAIN, "ulimit -l", Errc::out_of_memory);
  expect_start_fails<&System::mprotect>(ENOMEM, "guard page");
  expect_start_fails<&System::thread_create>(EAGAIN, "ulimit -u");
  expect_start_fails<&System::set_thread_name>(EFAULT, "naming");
  expect_start_fails<&System::get_thread_name>(EFAULT, "name back");
  expect_start_fails<&System::sched_getattr>(ESRCH, "scheduling class back", Errc::refused, 1);
  expect_start_fails<&System::sched_getattr>(ESRCH, "scheduling class back", Errc::refused, 2);
  expect_start_fails<&System::sched_setaffinity>(EINVAL, "Cpus_allowed_list");
  expect_start_fails<&System::sched_getaffinity>(EINVAL, "reading back pinning");
  expect_start_fails<&System::sched_setattr>(
      EPERM, "setting SCHED_FIFO 20 for thread \"full\" failed: Operation not permitted");
  // A thread with the capability gets a hint about kernel groups; one without it gets a hint about limits and
  // capabilities.
  const bool may = has_capability(CAP_SYS_NICE);
  expect_start_fails<&System::sched_setattr>(EPERM, may ? "kernel.sched_rt_runtime_us=-1" : "setcap cap_sys_nice");
  expect_start_fails<&System::sched_setattr>(EPERM, may ? "cpu.rt_runtime_us" : "/etc/security/limits.d/");
}

TEST(ThreadFaults, RefusedReservationReportsRemedy) {
  auto settings = named("dl");
  settings.reservation = Reservation{1ms, 10ms, 10ms};
  const auto refusal = [&](int error) {
    const Failing<&System::sched_setattr> failing(error);
    return problem(Thread::start(settings, [] {}));
  };
  EXPECT_THAT(refusal(EBUSY), HasSubstr("sched_rt_runtime_us"));
  EXPECT_THAT(refusal(EBUSY), HasSubstr("SCHED_DEADLINE 1ms in 10ms every 10ms"));
  EXPECT_THAT(refusal(EINVAL), HasSubstr("sched_deadline_period"));
  EXPECT_THAT(refusal(EPERM), HasSubstr("CAP_SYS_NICE (no limit replaces it)"));
  EXPECT_THAT(refusal(EPERM), testing::Not(HasSubstr("partition")));
  settings.core = Machine().online_cores().front();
  EXPECT_THAT(refusal(EPERM), HasSubstr("cpuset partition"));
}

// copper-rs#1286: an executive that trusted sched_setattr ran as an ordinary thread.
TEST(ThreadFaults, RefusesSettingAcceptedButNotInForce) {
  static System lying = linux_system();
  lying.sched_setattr = [](pid_t, const SchedulingAttributes*, unsigned) { return 0; };
  auto settings = named("lie");
  settings.fifo_priority = 30;
  {
    const SystemOverride override(lying);
    EXPECT_TRUE(fails(Thread::start(settings, [] {}), Errc::refused,
                      "SCHED_FIFO 30 was accepted for thread \"lie\" but the kernel reports SCHED_OTHER"));
  }
  lying = linux_system();
  lying.sched_setaffinity = [](pid_t, std::size_t, const cpu_set_t*) { return 0; };
  settings = named("lie");
  settings.core = Machine().online_cores().front();
  if (Machine().online_cores().size() > 1) {
    const SystemOverride override(lying);
    EXPECT_TRUE(fails(Thread::start(settings, [] {}), Errc::refused, "the kernel reports other cores"));
  }
  lying = linux_system();
  lying.set_thread_name = [](const char*) { return 0; };
  const SystemOverride override(lying);
  EXPECT_TRUE(fails(Thread::start(named("lie"), [] {}), Errc::refused, "The kernel reports the name"));
}

TEST(SleepUntil, RestartsWhenTheCallIsInterrupted) {
  const Failing<&System::clock_nanosleep> interrupted(EINTR);
  const Instant when = now() + 2ms;
  sleep_until(when);
  EXPECT_GE(now(), when);
  EXPECT_EQ(interrupted.calls(), 2);
}

// ---- memory lock ----

TEST(LockMemoryDeathTest, LocksMemoryOrReportsFailure) { // in a child process: the lock persists
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto attempt = [] {
    const auto locked = lock_memory();
    std::fputs(("outcome: " + problem(locked) + "\n" +
                field(Machine().read("/proc/self/status").value_or(""), "VmLck:").value_or(""))
                   .c_str(),
               stderr);
    std::exit(0);
  };
  const char* expected = sanitized ? "mlockall was accepted, but memory is not locked.*0 kB"
                                   : "outcome: (none\n *[1-9][0-9]* kB|locking the memory)";
  EXPECT_EXIT(attempt(), testing::ExitedWithCode(0), expected);
}

TEST(LockMemory, RefusalReportsRemedy) {
  const Failing<&System::mlockall> failing(EPERM);
  const auto locked = lock_memory();
  EXPECT_TRUE(fails(locked, Errc::refused, "locking the memory of the process failed: Operation not permitted"));
  EXPECT_TRUE(fails(locked, Errc::refused, "CAP_IPC_LOCK"));
  EXPECT_TRUE(fails(locked, Errc::refused, "memlock unlimited' >> /etc/security/limits.d/rtexec.conf"));
}

TEST(LockMemory, DetectsMlockallWithoutEffect) {
  static System lying = linux_system();
  lying.mlockall = [](int) { return 0; };
  const SystemOverride override(lying);
  EXPECT_TRUE(fails(lock_memory(), Errc::refused, "mlockall was accepted, but memory is not locked"));
}

} // namespace
} // namespace rtexec::hal::test
