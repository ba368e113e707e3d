// Tests the heartbeat of a run for its service manager: it is sent only while the real-time threads make progress.
#include "rtexec/runtime/watches/heartbeat.hpp"

#include "rtexec/runtime/planning/executive_setup.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/swap_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace rtexec::executive {
namespace {

using namespace test;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// The manager's end of the socket, and the environment variable that names it.
class Manager {
 public:
  explicit Manager(std::string name = "", int type = SOCK_DGRAM) : socket_(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)) {
    if (name.empty()) name = (folder_ / "notify").string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0) << std::strerror(errno);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  ~Manager() { forget(); }
  static void forget() {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  }
  void watch(Duration timeout) const {
    ::setenv("WATCHDOG_USEC", std::to_string(timeout / std::chrono::microseconds(1)).c_str(), 1);
  }
  void gone() { socket_.reset(); }
  /// Returns the next message, or nullopt if there is none.
  std::optional<std::string> heard() const {
    std::string text(4096, '\0');
    const ssize_t got = ::recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
    if (got < 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(got));
    return text;
  }
  std::vector<std::string> all_heard() const {
    std::vector<std::string> all;
    while (auto one = heard()) all.push_back(*one);
    return all;
  }

 private:
  ScratchFolder folder_;
  config::Descriptor socket_;
};

ServiceManager connected() {
  auto manager = ServiceManager::of_environment();
  if (!manager || !*manager) throw std::runtime_error(manager ? "nobody" : manager.error().what);
  return std::move(**manager);
}

// ---- stuck threads ----

/// Checks one subject at random intervals. The oracle evaluates the whole history shown to it.
TEST(Heartbeat, DetectsDueThreadWithoutProgressAfterTimeout) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const Duration timeout = 1ms * (1 + random() % 40);
    Progress shown;
    const Manager manager;
    Heartbeat heartbeat(connected(), timeout);
    heartbeat.watch("it", [&](Instant) { return shown; });
    std::vector<std::pair<Instant, Progress>> history;
    Instant now{};
    for (int look = 0; look < 100; ++look) {
      now += 1ms * (random() % 10);
      if (random() % 6 == 0) ++shown.steps;
      shown.due = random() % 12 != 0;
      history.emplace_back(now, shown);
      auto first = history.rbegin();
      while (first != history.rend() && first->second.due && first->second.steps == shown.steps) ++first;
      const bool stuck = shown.due && now - std::prev(first)->first > timeout;
      ASSERT_EQ(heartbeat.stuck(now) != nullptr, stuck) << round << "/" << look;
    }
  }
}

TEST(Heartbeat, NamesFirstStuckThreadAndWatchesAll) {
  const Manager manager;
  Progress a{.steps = 1, .due = true}, b{.steps = 1, .due = true};
  Heartbeat heartbeat(connected(), 10ms);
  heartbeat.watch("a", [&](Instant) { return a; });
  heartbeat.watch("b", [&](Instant) { return b; });
  const Instant begin{};
  EXPECT_EQ(heartbeat.stuck(begin), nullptr);
  ASSERT_NE(heartbeat.stuck(begin + 11ms), nullptr);
  EXPECT_EQ(*heartbeat.stuck(begin + 11ms), "a");
  ++a.steps;
  EXPECT_EQ(*heartbeat.stuck(begin + 12ms), "b");
  ++b.steps;
  EXPECT_EQ(heartbeat.stuck(begin + 13ms), nullptr);
}

TEST(ProgressCounter, IsDueWhileThreadWorksAndNotWhileItWaits) {
  ProgressCounter counter = ProgressCounter::of_thread();
  hal::Signal signal;
  std::atomic<bool> works{true}, ends{false};
  EXPECT_TRUE(counter.progress(hal::now()).due) << "it has not waited yet";
  std::thread thread([&] {
    while (works.load()) std::this_thread::yield();
    counter.wait(signal, 0);
    while (!ends.load()) std::this_thread::yield();
  });
  works.store(false);
  ASSERT_TRUE(eventually([&] { return !counter.progress(hal::now()).due; }));
  EXPECT_FALSE(counter.progress(hal::now() + std::chrono::hours(1000)).due) << "nothing is to come";
  const auto steps = counter.progress(hal::now()).steps;
  signal.raise();
  ASSERT_TRUE(eventually([&] { return counter.progress(hal::now()).steps > steps; }));
  EXPECT_TRUE(counter.progress(hal::now()).due);
  ends.store(true);
  thread.join();
}

TEST(ProgressCounter, IsDueOnceTimedWaitHasExpired) {
  ProgressCounter counter = ProgressCounter::of_thread();
  hal::Signal signal;
  const Instant until = hal::now() + std::chrono::hours(1);
  std::thread thread([&] { counter.wait_until(signal, 0, until); });
  ASSERT_TRUE(eventually([&] { return !counter.progress(Instant{}).due; }));
  EXPECT_FALSE(counter.progress(until - 1ns).due);
  EXPECT_TRUE(counter.progress(until).due) << "as if its core were somebody else's";
  signal.raise();
  thread.join();
  EXPECT_EQ(counter.wait_elsewhere([&] { return counter.progress(until).due; }), false);
}

TEST(ProgressCounter, IsDueUntilAllSubmittedWorkIsCompleted) {
  ProgressCounter count;
  EXPECT_FALSE(count.progress(Instant{}).due);
  count.submitted();
  count.submitted();
  count.completed();
  EXPECT_TRUE(count.progress(Instant{}).due);
  EXPECT_EQ(count.progress(Instant{}).steps, 1U);
  count.completed();
  EXPECT_FALSE(count.progress(Instant{}).due);
}

// ---- recipients ----

TEST(ServiceManager, IsAbsentWhenEnvironmentNamesNone) {
  Manager::forget();
  const auto manager = ServiceManager::of_environment();
  ASSERT_TRUE(manager);
  EXPECT_FALSE(*manager);
}

TEST(ServiceManager, ReceivesMessagesByPathOrAbstractName) {
  for (const std::string& name : {std::string(), "@rtexec-test-" + std::to_string(::getpid())}) {
    Manager manager(name);
    const ServiceManager told = connected();
    EXPECT_TRUE(told.tell("READY=1"));
    EXPECT_THAT(manager.all_heard(), ElementsAre("STATUS=Setting up", "READY=1"));
    EXPECT_FALSE(told.timeout());
  }
}

TEST(ServiceManager, IsRefusedWhenNobodyListens) {
  for (const char* name : {"relative", "/", "@", "/no/such/socket", "@nobody-has-this-name", "vsock:2:1"}) {
    ::setenv("NOTIFY_SOCKET", name, 1);
    const auto manager = ServiceManager::of_environment();
    ASSERT_FALSE(manager) << name;
    EXPECT_EQ(manager.error().code, Errc::refused);
    EXPECT_THAT(manager.error().what, HasSubstr("NOTIFY_SOCKET: "));
  }
  ::setenv("NOTIFY_SOCKET", ("/" + std::string(200, 'x')).c_str(), 1);
  EXPECT_FALSE(ServiceManager::of_environment());
  Manager stream("", SOCK_STREAM);
  EXPECT_FALSE(ServiceManager::of_environment());
}

TEST(ServiceManager, TimeoutAppliesOnlyToNamedProcess) {
  Manager manager;
  manager.watch(3s);
  EXPECT_EQ(connected().timeout(), 3s);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_EQ(connected().timeout(), 3s);
  ::setenv("WATCHDOG_PID", std::to_string(::getppid()).c_str(), 1);
  EXPECT_EQ(connected().timeout(), std::nullopt);
  ::unsetenv("WATCHDOG_PID");
  for (const char* wrong : {"", "0", "-5", "3s", "99999999999999999999"}) {
    ::setenv("WATCHDOG_USEC", wrong, 1);
    EXPECT_EQ(connected().timeout(), std::nullopt) << wrong;
  }
}

TEST(ServiceManager, NeverBlocks) {
  Manager deaf;
  const ServiceManager manager = connected();
  Result<> told;
  for (int i = 0; i < 100'000 && told; ++i) told = manager.tell("WATCHDOG=1");
  ASSERT_FALSE(told) << "its queue has an end";
  EXPECT_EQ(told.error().code, Errc::refused);
  static_cast<void>(deaf.all_heard());
  EXPECT_TRUE(manager.tell("WATCHDOG=1"));
  deaf.gone();
  EXPECT_FALSE(manager.tell("WATCHDOG=1"));
}

// ---- the heartbeat of a run ----

enum class Where { nowhere, before, device, after };

/// A workload of which one part can block, for at most a minute, so that a failing test ends.
class HeldUp final : public Workload {
 public:
  explicit HeldUp(std::atomic<Where>& where) : where_(where) {}
  bool uses_device() const override { return true; }
  MemoryDemand memory() const override { return {}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "held up"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  Status before(std::uint64_t) noexcept override { return hold(Where::before); }
  Status execute() noexcept override { return hold(Where::device); }
  Status after(std::uint64_t) noexcept override { return hold(Where::after); }

 private:
  Status hold(Where here) noexcept {
    const Instant end = hal::now() + 60s;
    while (where_.load() == here && hal::now() < end) hal::sleep_until(hal::now() + 1ms);
    return {};
  }
  std::atomic<Where>& where_;
};

struct HeartbeatTest : testing::Test {
  std::optional<Executive> made(std::vector<Task> tasks) {
    executive::Setup setup;
    setup.force = true;
    setup.workloads["task"] = std::make_unique<HeldUp>(where);
    auto found = ServiceManager::of_environment();
    if (found) setup.service_manager = std::move(*found);
    auto executive = create(set_of(std::move(tasks), 120s), std::move(setup));
    EXPECT_TRUE(executive) << executive.error().what;
    if (!executive) return std::nullopt;
    return std::move(*executive);
  }
  static Task task(Duration period) {
    Task task = own_task("task", period);
    task.wcet->device = 200us;
    return task;
  }
  bool hears(const std::string& what) const {
    const auto heard = manager.all_heard();
    return std::ranges::any_of(heard, [&](const std::string& one) { return one.find(what) != std::string::npos; });
  }
  std::atomic<Where> where{Where::nowhere};
  Manager manager;
};

TEST_F(HeartbeatTest, BeatsFromStartToStop) {
  manager.watch(200ms);
  auto executive = made({task(10ms)});
  ASSERT_TRUE(executive);
  EXPECT_THAT(manager.all_heard(), ElementsAre("STATUS=Setting up"));
  const auto started = executive->start();
  ASSERT_TRUE(started) << started.error().what;
  std::vector<std::string> heard;
  const Instant begin = hal::now();
  ASSERT_TRUE(eventually([&] {
    for (auto& one : manager.all_heard()) heard.push_back(std::move(one));
    return std::ranges::count(heard, "WATCHDOG=1") >= 30;
  }));
  EXPECT_GE(hal::now() - begin, 1000ms) << "not oftener than it must be: each 50 ms";
  EXPECT_THAT(heard.front(), StartsWith("READY=1\nSTATUS=Runs "));
  EXPECT_EQ(std::ranges::count(heard, heard.front()), 1);
  static_cast<void>(executive->stop());
  heard = manager.all_heard();
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.back(), "STOPPING=1\nSTATUS=Stopped by request");
  static_cast<void>(executive->stop());
  executive.reset();
  EXPECT_THAT(manager.all_heard(), IsEmpty()) << "a run stops once";
}

TEST_F(HeartbeatTest, ContinuesWhileNoJobIsReleased) {
  manager.watch(100ms);
  auto executive = made({task(60s)});
  ASSERT_TRUE(executive && executive->start());
  int beats = 0;
  ASSERT_TRUE(eventually([&] {
    for (const auto& one : manager.all_heard()) beats += one.find("WATCHDOG=1") != std::string::npos;
    return beats >= 20;
  }));
  EXPECT_THAT(executive->stop().degraded, Not(Contains(HasSubstr("stuck"))));
}

TEST_F(HeartbeatTest, StopsWhileThreadIsStuckAndResumesAfterwards) {
  manager.watch(400ms);
  auto executive = made({task(10ms), synthetic("other", 20ms, {.before = 100us, .device = 100us, .after = 100us})});
  ASSERT_TRUE(executive && executive->start());
  const std::pair<Where, const char*> cases[] = {
      {Where::before, "STATUS=the release thread of task 'task' is stuck"},
      {Where::device, "STATUS=the compute engine is stuck"},
      {Where::after, "STATUS=the completion thread of task 'task' is stuck"}};
  for (const auto& [part, told] : cases) {
    ASSERT_TRUE(eventually([&] { return hears("WATCHDOG=1"); })) << told;
    where.store(part);
    ASSERT_TRUE(eventually([&] { return hears(told); })) << told;
    static_cast<void>(manager.all_heard());
    std::this_thread::sleep_for(600ms);
    EXPECT_FALSE(hears("WATCHDOG=1")) << told; // another thread delayed by the machine may be reported instead
    where.store(Where::nowhere);
    EXPECT_TRUE(eventually([&] { return hears("WATCHDOG=1\nSTATUS=Running"); })) << told;
  }
  // The first stuck thread: one that the machine delayed, or the first case.
  EXPECT_THAT(executive->stop().degraded,
              Contains(testing::EndsWith(" was stuck: no heartbeat was sent to the service manager")));
}

TEST_F(HeartbeatTest, ReportsRootCauseFoundLater) {
  manager.watch(80ms);
  std::atomic<bool> engine{false}, job{false};
  Heartbeat heartbeat(connected(), 20ms);
  heartbeat.watch("an engine", [&](Instant) { return Progress{.due = engine.load()}; });
  heartbeat.watch("its job", [&](Instant) { return Progress{.due = job.load()}; });
  ASSERT_TRUE(heartbeat.start("Runs"));
  job.store(true);
  EXPECT_TRUE(eventually([&] { return hears("STATUS=its job is stuck"); }));
  engine.store(true);
  EXPECT_TRUE(eventually([&] { return hears("STATUS=an engine is stuck"); }));
  engine.store(false);
  job.store(false);
  EXPECT_TRUE(eventually([&] { return hears("STATUS=Running"); }));
}

TEST_F(HeartbeatTest, ReportsStuckCopyEngineUntilItContinues) {
  manager.watch(400ms);
  const HashingTasks hashing = two_tasks();
  const auto orders = std::make_shared<StoreOrders>();
  executive::Setup setup = hashing.setup();
  setup.open_store = store_opener(orders);
  setup.service_manager = connected();
  auto executive =
      test::made(swapping_set(hashing.tasks, endless, SwapPolicy::pipelined, small_chunk * 6), std::move(setup));
  begun(executive);
  ASSERT_TRUE(eventually([&] { return hears("WATCHDOG=1"); }));
  orders->each.store(Duration(700ms).count());
  EXPECT_TRUE(eventually([&] { return hears("engine is stuck"); }));
  orders->each.store(0);
  EXPECT_TRUE(eventually([&] { return hears("STATUS=Running"); }));
  static_cast<void>(executive.stop());
}

TEST_F(HeartbeatTest, IgnoresStuckBestEffortTask) {
  manager.watch(100ms);
  Task best_effort = task(10ms);
  best_effort.criticality = Criticality::best_effort;
  auto executive = made({best_effort, synthetic("other", 20ms, {.before = 100us, .device = 100us, .after = 100us})});
  ASSERT_TRUE(executive && executive->start());
  where.store(Where::before);
  std::this_thread::sleep_for(300ms);
  static_cast<void>(manager.all_heard());
  EXPECT_TRUE(eventually([&] { return hears("WATCHDOG=1"); }));
  where.store(Where::nowhere);
  static_cast<void>(executive->stop());
}

TEST_F(HeartbeatTest, ReportsThatServiceManagerIsGone) {
  manager.watch(50ms);
  auto executive = made({task(10ms)});
  ASSERT_TRUE(executive && executive->start());
  manager.gone();
  EXPECT_TRUE(eventually([&] {
    const auto degraded = executive->progress().degraded;
    return std::ranges::any_of(degraded, [](const auto& line) { return line.starts_with("NOTIFY_SOCKET: "); });
  }));
}

TEST_F(HeartbeatTest, FailsStartWhenServiceManagerIsGone) {
  auto executive = made({task(10ms)});
  ASSERT_TRUE(executive);
  manager.gone();
  const auto started = executive->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::refused);
}

TEST_F(HeartbeatTest, MakesNoRealTimeThreadAllocateLockOrFault) {
  manager.watch(20ms);
  auto executive = made({task(5ms), synthetic("other", 20ms, {.before = 100us, .device = 100us, .after = 100us})});
  ASSERT_TRUE(executive && executive->start());
  expect_real_time(*executive, [] { std::this_thread::sleep_for(500ms); });
}

} // namespace
} // namespace rtexec::executive
