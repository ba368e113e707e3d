// Tests tasks released by inputs, calls and the ends of others, in real runs. No release is too early, none is lost,
// and a thread that waits for one never keeps a run from ending.
#include "rtexec/runtime/channels/iceoryx.hpp"
#include "rtexec/runtime/channels/iceoryx_binding.hpp"
#include "test/hal/fake_camera.hpp"
#include "test/rtexec/runtime/isolated.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/sanitized.hpp"

#include <rtexec/executive.hpp>
#include <rtexec/profiler.hpp>

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <sstream>
#include <thread>

namespace rtexec {
namespace {

using namespace test;
namespace iceoryx = channels::iceoryx;

constexpr std::int64_t side = 8;

std::unique_ptr<OwnWorkload> copier() {
  const OwnWorkload::Values picture{"x", ElementType::uint8, {1, 3, side, side}};
  return std::make_unique<OwnWorkload>(
      std::vector{picture}, std::vector{picture},
      [](std::uint64_t, auto in, auto out) { std::ranges::copy(in[0].bytes, out[0].bytes.begin()); });
}

Executive started(TaskSet set, ExecutiveSetup setup) {
  setup.force = true;
  for (const Task& task : set.tasks)
    if (!setup.workloads.contains(task.name)) setup.workloads[task.name] = copier();
  auto executive = Executive::create(std::move(set), std::move(setup));
  EXPECT_EQ(problem(executive), "none");
  EXPECT_EQ(problem(executive->start()), "none");
  return std::move(*executive);
}

/// The observations of one task's on_input and on_output, without the warm-up.
struct Seen {
  static constexpr std::size_t most = 5000;
  std::array<Instant, most> releases{}, begins{}, ends{};
  std::atomic<std::size_t> begun{0}, ended{0};
  bool warmed_up_in = false, warmed_up_out = false;

  TaskCallbacks callbacks(Duration takes = {}) {
    return {.on_input = [this, takes](InputJob& job) -> Status {
              if (!std::exchange(warmed_up_in, true)) return {};
              releases[begun] = job.release;
              begins[begun++] = hal::now();
              if (takes > Duration(0)) std::this_thread::sleep_for(takes);
              return {};
            },
            .on_output =
                [this](const OutputJob&) {
                  if (std::exchange(warmed_up_out, true)) ends[ended++] = hal::now();
                }};
  }
  [[nodiscard]] Duration min_distance() const {
    Duration least = Duration::max();
    for (std::size_t i = 1; i < begun; ++i) least = std::min(least, Duration(releases[i] - releases[i - 1]));
    return least;
  }
};

Task triggered(const std::string& name, Duration period, Trigger trigger, const std::string& after = {}) {
  Task task = own_task(name, period);
  task.trigger = trigger;
  task.after = after;
  return task;
}

/// Returns the CPU time of a thread of this process since it began.
Duration processor_time(const Report& report, const std::string& thread) {
  for (const ThreadReport& each : report.threads)
    if (each.name == thread) {
      std::int64_t ns = 0;
      std::istringstream(read_text("/proc/self/task/" + std::to_string(each.kernel_id) + "/schedstat")) >> ns;
      return Duration(ns);
    }
  return Duration::max();
}

// ---- inputs ----

/// An external program that makes frames or messages.
class Outside {
 public:
  virtual ~Outside() = default;
  virtual TaskInput input() const = 0;
  virtual void send(Instant sampled = hal::now()) = 0;
};

class Camera final : public Outside {
 public:
  TaskInput input() const override {
    TaskInput input;
    input.source = SourceKind::camera, input.from = hal::test::FakeCamera::path;
    return input;
  }
  void send(Instant sampled) override {
    camera_.set_time(sampled);
    camera_.make_frames(1);
  }

 private:
  hal::test::FakeCamera camera_;
};

class Messages final : public Outside {
 public:
  Messages() {
    auto made = iceoryx::Publisher::open({"rtexec", "test", "in"}, Bytes{3 * side * side});
    EXPECT_EQ(problem(made), "none");
    publisher_ = std::move(*made);
  }
  TaskInput input() const override {
    TaskInput input;
    input.source = SourceKind::iceoryx, input.from = "rtexec/test/in";
    return input;
  }
  void send(Instant sampled) override {
    if (!publisher_->loan(Bytes{3 * side * side})) return;
    rtexec_message header{};
    header.element = RTEXEC_ELEMENT_UINT8;
    header.rank = 4;
    header.sampled_ns = sampled.time_since_epoch().count();
    std::ranges::copy(std::array<std::uint64_t, 4>{1, 3, side, side}, header.shape);
    EXPECT_TRUE(publisher_->publish(header));
  }

 private:
  std::unique_ptr<iceoryx::Publisher> publisher_;
};

enum class Kind { camera, messages };
struct InputTrigger : testing::TestWithParam<Kind> {
  /// Calls `body` with an external source of inputs.
  void with_outside(const std::function<void(Outside&)>& body) {
    if (GetParam() == Kind::camera) {
      Camera camera;
      return body(camera);
    }
    if (sanitized || !channels::iceoryx::open_binding()) GTEST_SKIP() << "without iceoryx, or under a sanitizer";
    isolated([&] {
      Messages messages;
      body(messages);
    });
  }
  static TaskSet set(const Outside& outside, Duration period) {
    TaskSet set = set_of({triggered("a", period, Trigger::input)}, 100s);
    set.tasks[0].inputs = {outside.input()};
    return set;
  }
};

/// Returns the number of triggers with a known outcome.
std::uint64_t answered(const TaskReport& task) { return task.released + task.skipped + task.dropped_triggers; }

/// Sends until there is a job, and returns how often. Inputs that come before the release thread has noticed the start
/// release no job.
std::uint64_t send_until_heard(Outside& outside, const Seen& seen, Duration delay = {}) {
  std::uint64_t sent = 0;
  EXPECT_TRUE(eventually([&, again = Instant{}]() mutable {
    if (seen.begun == 0 && hal::now() >= again) {
      outside.send(hal::now() - delay);
      ++sent;
      again = hal::now() + 2s;
    }
    return seen.begun > 0;
  }));
  return sent;
}

INSTANTIATE_TEST_SUITE_P(Kinds, InputTrigger, testing::Values(Kind::camera, Kind::messages),
                         [](const auto& kind) { return kind.param == Kind::camera ? "camera" : "messages"; });

TEST_P(InputTrigger, ReleasesJobForEachInputAndWaitsWithoutPolling) {
  with_outside([&](Outside& outside) {
    Seen seen;
    ExecutiveSetup setup;
    setup.callbacks["a"] = seen.callbacks();
    Executive executive = started(set(outside, 20ms), std::move(setup));
    std::this_thread::sleep_for(20ms);
    const auto completed = [&] { return executive.progress().tasks[0].completed; };
    (void)send_until_heard(outside, seen);
    ASSERT_TRUE(eventually([&] { return completed() == 1; }));
    const Instant begin = hal::now();
    const Duration before = processor_time(executive.progress(), "a");
    for (std::size_t i = 1; i < 20; ++i) {
      std::this_thread::sleep_for(33ms);
      outside.send();
      ASSERT_TRUE(eventually([&] { return completed() == i + 1; })) << i;
    }
    const Duration took = processor_time(executive.progress(), "a") - before, passed = hal::now() - begin;
    EXPECT_LT(took, passed / 5);
    const Report report = executive.stop();
    EXPECT_EQ(report.tasks[0].completed, 20u);
    EXPECT_EQ(report.tasks[0].failed + report.tasks[0].skipped, 0u);
    EXPECT_GE(seen.min_distance(), 20ms);
  });
}

TEST_P(InputTrigger, DelaysEarlyInputAndCountsReplacedOnes) {
  with_outside([&](Outside& outside) {
    Seen seen;
    ExecutiveSetup setup;
    setup.callbacks["a"] = seen.callbacks();
    Executive executive = started(set(outside, 20ms), std::move(setup));
    std::this_thread::sleep_for(20ms);
    std::uint64_t sent = send_until_heard(outside, seen); // messages lost before the first received one are unknown
    for (int i = 0; i < 200; ++i, ++sent, std::this_thread::sleep_for(2ms)) outside.send();
    std::this_thread::sleep_for(60ms);
    outside.send(), ++sent; // a lost message is noticed when the next one comes
    EXPECT_TRUE(eventually([&] { return answered(executive.progress().tasks[0]) == sent; }));
    const Report report = executive.stop();
    EXPECT_GE(seen.min_distance(), 20ms);
    EXPECT_GE(seen.begun, 5u);
    EXPECT_EQ(report.channels.front().moved, report.tasks[0].released);
    EXPECT_EQ(answered(report.tasks[0]), sent);
  });
}

TEST_P(InputTrigger, ReportsDelayFromSamplingToRelease) {
  with_outside([&](Outside& outside) {
    Seen seen;
    ExecutiveSetup setup;
    setup.force = true;
    setup.callbacks["a"] = seen.callbacks();
    TaskSet tasks = set(outside, 20ms);
    tasks.tasks[0].input_delay = 200ms;
    tasks.chains = {
        {.name = "see", .tasks = {"a"}, .communicate = Communication::immediate, .max_reaction = {}, .max_age = {}}};
    Executive executive = started(std::move(tasks), std::move(setup));
    std::size_t sent = 0;
    for (const Duration delay : {30ms, 10ms, 60ms, 10ms, 300ms}) {
      std::this_thread::sleep_for(delay + 20ms); // keeps samples in order
      if (sent == 0) (void)send_until_heard(outside, seen, delay);
      else outside.send(hal::now() - delay);
      ASSERT_TRUE(eventually([&] { return executive.progress().tasks[0].completed == sent + 1; })) << sent;
      ++sent;
    }
    const Report report = executive.stop();
    const MeasuredTimes& delay = report.tasks[0].input_delay;
    EXPECT_EQ(delay.count, sent);
    EXPECT_EQ(delay.bound, 200ms);
    EXPECT_GE(delay.violations, 1u);
    EXPECT_LT(delay.violations, sent);
    EXPECT_GE(delay.times.min, 10ms - 1us); // the driver reports microseconds
    EXPECT_LT(delay.times.min, 60ms);
    EXPECT_GE(delay.times.max, 300ms - 1us);
    const ChainReport& chain = report.chains.at(0);
    EXPECT_TRUE(chain.from_sampling);
    EXPECT_EQ(chain.reaction.count, sent - 1); // counted from the first output
    EXPECT_GE(chain.reaction.times.max, delay.times.max);
    EXPECT_GE(chain.reaction.times.min, delay.times.min);
  });
}

TEST_P(InputTrigger, ProfileNamesInputWithoutData) {
  with_outside([&](Outside& outside) {
    const auto unfed = [&](bool feed) {
      const std::jthread feeder([&](const std::stop_token& stop) {
        for (; feed && !stop.stop_requested(); std::this_thread::sleep_for(5ms)) outside.send();
      });
      const auto measured = profile(set(outside, 20ms), {.jobs = 5}, {}, []() -> Result<ExecutiveSetup> {
        ExecutiveSetup setup;
        setup.workloads["a"] = copier();
        return setup;
      });
      EXPECT_EQ(problem(measured), "none");
      return measured ? measured->unfed : std::vector<std::string>{};
    };
    const auto alone = unfed(false);
    ASSERT_EQ(alone.size(), 1u);
    EXPECT_TRUE(alone[0].starts_with("task 'a': x from ")) << alone[0];
    EXPECT_EQ(unfed(true), std::vector<std::string>{});
  });
}

// ---- calls ----

TEST(CallTrigger, FromManyThreadsKeepsMinimumPeriodAndLosesNoCall) {
  constexpr Duration period = 5ms;
  Seen seen;
  ExecutiveSetup setup;
  setup.callbacks["a"] = seen.callbacks();
  Executive executive = started(set_of({triggered("a", period, Trigger::call)}, 100s), std::move(setup));
  std::atomic<std::uint64_t> calls{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 150; ++i) {
        EXPECT_TRUE(executive.trigger("a"));
        ++calls;
        std::this_thread::sleep_for(std::chrono::microseconds(random() % (random() % 4 == 0 ? 20000 : 500)));
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::this_thread::sleep_for(50ms);
  // One at a time, without waiting: each has its job.
  for (int i = 0; i < 20; ++i) {
    const std::size_t begun = seen.begun;
    executive.trigger("a");
    ++calls;
    ASSERT_TRUE(eventually([&] { return seen.begun > begun; }));
    ASSERT_TRUE(eventually([&] {
      const TaskReport now = executive.progress().tasks[0];
      return now.completed == now.released; // a late job would make the next one skipped
    }));
    std::this_thread::sleep_for(period);
  }
  EXPECT_FALSE(executive.trigger("b"));
  EXPECT_TRUE(eventually([&] { return answered(executive.progress().tasks[0]) == calls; }));
  const Report report = executive.stop();
  const TaskReport& task = report.tasks[0];
  EXPECT_EQ(answered(task), calls.load());
  EXPECT_GE(seen.min_distance(), period);
  EXPECT_GT(task.dropped_triggers, 0u);
}

std::string spelled(const testing::TestParamInfo<OnOverrun>& policy) {
  return std::array{"skip", "catch_up", "re_phase", "abort_job", "stop"}[static_cast<std::size_t>(policy.param)];
}
struct CallTriggerOverrun : testing::TestWithParam<OnOverrun> {};
INSTANTIATE_TEST_SUITE_P(Policies, CallTriggerOverrun,
                         testing::Values(OnOverrun::skip, OnOverrun::catch_up, OnOverrun::re_phase, OnOverrun::stop),
                         spelled);

/// Calls come every 3 ms for a task of 10 ms, whose jobs take 25 ms.
TEST_P(CallTriggerOverrun, FollowsOverrunPolicy) {
  Seen seen;
  Task task = triggered("a", 10ms, Trigger::call);
  task.on_overrun = GetParam();
  const bool refused =
      GetParam() != OnOverrun::skip && GetParam() != OnOverrun::stop && !Executive::create(set_of({task}, 1s), [] {
        ExecutiveSetup setup;
        setup.workloads["a"] = copier();
        return setup;
      }());
  if (refused) GTEST_SKIP() << "not for tasks that no timer releases";
  ExecutiveSetup setup;
  setup.callbacks["a"] = seen.callbacks(25ms);
  Executive executive = started(set_of({task}, 100s), std::move(setup));
  std::uint64_t calls = 0;
  const auto task_now = [&] { return executive.progress().tasks[0]; };
  for (; (calls < 100 || task_now().completed < 5) && !executive.wait(3ms); ++calls) executive.trigger("a");
  if (GetParam() != OnOverrun::stop) {
    EXPECT_TRUE(eventually([&] { return answered(task_now()) == calls; }));
  }
  const Report report = executive.stop();
  if (GetParam() == OnOverrun::stop) {
    EXPECT_EQ(report.stopped_by.cause, StopCause::overrun);
    EXPECT_LE(report.tasks[0].released, 1u);
    return;
  }
  EXPECT_EQ(answered(report.tasks[0]), calls);
  EXPECT_GE(seen.min_distance(), 10ms);
  EXPECT_GE(report.tasks[0].completed, 5u);
  EXPECT_EQ(report.tasks[0].skipped > 0, GetParam() == OnOverrun::skip);
}

// ---- ends of others ----

TEST(AfterTrigger, ReleasesFollowersAtEachEndInOrder) {
  std::array<Seen, 3> seen;
  const std::array<std::string, 3> names{"a", "b", "c"};
  TaskSet set = set_of(
      {own_task("a", 20ms), triggered("b", 20ms, Trigger::after, "a"), triggered("c", 20ms, Trigger::after, "b")}, 1h);
  ExecutiveSetup setup;
  for (std::size_t i = 0; i < 3; ++i) setup.callbacks[names[i]] = seen[i].callbacks();
  Executive executive = started(std::move(set), std::move(setup));
  const auto answers = [&](const Report& report, std::size_t task) {
    return seen[task].begun + report.tasks[task].dropped_triggers + report.tasks[task].skipped;
  };
  // Also checks that no thread is delayed just then: it would not serve a trigger that ended meanwhile.
  EXPECT_TRUE(eventually([&] {
    const Report now = executive.progress();
    return now.tasks[0].completed >= 10 && answers(now, 1) >= seen[0].ended && answers(now, 2) >= seen[1].ended;
  }));
  const Report report = executive.stop();
  for (std::size_t task = 1; task < 3; ++task) {
    const Seen &before = seen[task - 1], &own = seen[task];
    const std::uint64_t answered = answers(report, task);
    EXPECT_LE(answered, before.ended.load());
    EXPECT_GE(answered + 1, before.ended.load()) << "the end of the run may cut the last one off";
    EXPECT_GE(own.min_distance(), 20ms);
    if (own.begun != before.ended) continue; // delayed: not one at a time any more
    for (std::size_t job = 0; job < own.begun; ++job) EXPECT_GE(own.releases[job], before.ends[job]) << job;
  }
}

// ---- the end ----

enum class End { duration, request, policy };
std::string name_of(const testing::TestParamInfo<End>& end) {
  return std::array{"duration", "request", "policy"}[static_cast<std::size_t>(end.param)];
}
struct EndOfRun : testing::TestWithParam<End> {};
INSTANTIATE_TEST_SUITE_P(Ways, EndOfRun, testing::Values(End::duration, End::request, End::policy), name_of);

/// One run has a task that is never called, one that follows it, and one whose camera is silent.
TEST_P(EndOfRun, ComesWhileAllTasksWaitForTriggers) {
  const auto run = [&](bool messages) {
    Camera camera;
    std::unique_ptr<Messages> silent = messages ? std::make_unique<Messages>() : nullptr;
    TaskSet set = set_of({triggered("called", 10ms, Trigger::call), triggered("behind", 10ms, Trigger::after, "called"),
                          triggered("seen", 10ms, Trigger::input), own_task("timer", 10ms)},
                         GetParam() == End::duration ? Duration(100ms) : Duration(100s));
    set.tasks[2].inputs = {camera.input()};
    if (messages) {
      set.tasks.push_back(triggered("told", 10ms, Trigger::input));
      set.tasks.back().inputs = {silent->input()};
    }
    Seen late;
    ExecutiveSetup setup;
    if (GetParam() == End::policy) {
      set.tasks[3].on_overrun = OnOverrun::stop;
      setup.callbacks["timer"] = late.callbacks(25ms);
    }
    Executive executive = started(std::move(set), std::move(setup));
    std::thread stops([&] {
      std::this_thread::sleep_for(100ms);
      if (GetParam() == End::request) executive.request_stop();
    });
    EXPECT_TRUE(executive.wait(50s));
    stops.join();
    const Instant begin = hal::now();
    const Report report = executive.stop();
    EXPECT_LT(hal::now() - begin, 20s);
    EXPECT_EQ(report.stopped_by.cause, GetParam() == End::duration  ? StopCause::duration
                                       : GetParam() == End::request ? StopCause::request
                                                                    : StopCause::overrun);
    EXPECT_EQ(report.tasks[0].released + report.tasks[1].released + report.tasks[2].released, 0u);
  };
  if (sanitized || !channels::iceoryx::open_binding()) return run(false);
  isolated([&] { run(true); });
}

} // namespace
} // namespace rtexec
