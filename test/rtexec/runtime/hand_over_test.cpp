// Tests difficult cases of the data flow between tasks, sources, sinks and triggers: warm-ups, dropped jobs, late
// outputs, triggers that come while no thread waits, results written last.
#include "rtexec/runtime/channels/file_sink.hpp"
#include "rtexec/runtime/channels/task_io.hpp"
#include "rtexec/runtime/channels/task_link.hpp"
#include "rtexec/runtime/executive/trigger_inbox.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/file_size_limit.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include "hal/thread.hpp"
#include <rtexec/executive.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <pthread.h>
#include <thread>

namespace rtexec {
namespace {

using namespace test;
using channels::TaskIo;
using testing::HasSubstr;

std::unique_ptr<OwnWorkload> plus_one(std::size_t inputs = 1, std::int64_t size = 1) {
  std::vector<OwnWorkload::Values> in;
  for (std::size_t i = 0; i < inputs; ++i) in.push_back({"x" + std::to_string(i), ElementType::int32, {size}});
  return std::make_unique<OwnWorkload>(
      in, std::vector<OwnWorkload::Values>{{"y", ElementType::int32, {size}}}, [](std::uint64_t, auto from, auto to) {
        to[0].template as<std::int32_t>()[0] = from[0].template as<const std::int32_t>()[0] + 1;
      });
}

Executive started(TaskSet set, ExecutiveSetup setup) {
  setup.force = true;
  for (const Task& task : set.tasks)
    if (!setup.workloads.contains(task.name)) setup.workloads[task.name] = plus_one();
  auto executive = Executive::create(std::move(set), std::move(setup));
  EXPECT_EQ(problem(executive), "none");
  EXPECT_EQ(problem(executive->start()), "none");
  return std::move(*executive);
}

// ---- between tasks ----

/// A value of one task on its way to another.
struct TaskLinkTest : testing::TestWithParam<Communication> {
  const bool let = GetParam() == Communication::let;
  std::unique_ptr<OwnWorkload> writer = plus_one(), reader = plus_one();
  std::shared_ptr<channels::LatestMailbox> latest = std::make_shared<channels::LatestMailbox>(4, 1, 4);
  TaskIo out{"writer", *writer, {}}, in{"reader", *reader, {}};

  TaskLinkTest() {
    out.add_sink(std::make_unique<channels::TaskSink>(latest, *channels::Output::of(*writer, "y"),
                                                      let ? std::optional<Duration>(10ms) : std::nullopt),
                 "");
    in.add_source(0, std::make_unique<channels::TaskSource>(latest, 0, GetParam()), OnStale::miss, "x");
  }
  void put(std::int32_t value, Instant release, bool warming_up = false) {
    writer->outputs()[0].as<std::int32_t>()[0] = value;
    out.write(0, release, release, warming_up);
  }
  /// Returns the value read, or 0 if there is none.
  std::int32_t got(Instant release) {
    return in.read(0, release, channels::TaskIo::For::job).outcome ? reader->inputs()[0].as<const std::int32_t>()[0]
                                                                   : 0;
  }
};

INSTANTIATE_TEST_SUITE_P(Both, TaskLinkTest, testing::Values(Communication::immediate, Communication::let),
                         [](const auto& how) { return how.param == Communication::let ? "let" : "immediate"; });

TEST_P(TaskLinkTest, WarmUpOutputIsNoValue) {
  const Instant now = hal::now();
  put(7, now - 1s, true);
  EXPECT_EQ(got(now), 0);
  put(8, now - 1s);
  EXPECT_EQ(got(hal::now()), 8);
}

/// A late output appears when its job ends, as if the deadline were there. A job released before does not get it,
/// however late it reads.
TEST_P(TaskLinkTest, LateOutputAppearsWhenItsJobEnds) {
  const Instant before = hal::now();
  put(8, before - 1s);
  EXPECT_EQ(got(before), let ? 0 : 8);
  EXPECT_EQ(got(hal::now()), let ? 8 : 0) << "it is the same value: stale where it was read";
}

/// The value is written by a signal handler between any two steps of the reader, as a more urgent task on its core
/// would do.
struct PreemptedTaskLink : testing::Test {
  const std::unique_ptr<OwnWorkload> writer = plus_one(), reader = plus_one();
  const std::shared_ptr<channels::LatestMailbox> latest = std::make_shared<channels::LatestMailbox>(4, 1, 1);
  channels::TaskSink sink{latest, *channels::Output::of(*writer, "y"), std::nullopt};
  std::atomic<std::int32_t> written{0};
  std::atomic<bool> writing{false};

  void write() noexcept {
    if (writing.exchange(true)) return;
    const std::int32_t value = written + 1;
    writer->outputs()[0].as<std::int32_t>()[0] = value;
    (void)sink.put({.job = 0, .release = {}, .sampled = {}, .outputs = writer->outputs(), .detections = {}});
    written = value;
    writing = false;
  }

  PreemptedTaskLink() {
    test = this;
    std::signal(SIGUSR2, [](int) {
      for (int i = 0; i < 3; ++i) test->write();
    });
  }
  ~PreemptedTaskLink() override { std::signal(SIGUSR2, SIG_DFL); }
  static inline PreemptedTaskLink* test = nullptr;
};

TEST_F(PreemptedTaskLink, ReadsPreviousOrNewerValueWhenWriterPreempts) {
  channels::TaskSource source(latest, 0, Communication::immediate);
  const Tensor& into = reader->inputs()[0];
  write();
  {
    std::jthread interrupting([reading = ::pthread_self()](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        ::pthread_kill(reading, SIGUSR2);
        std::this_thread::sleep_for(20us);
      }
    });
    for (int i = 0; i < 1'000'000; ++i) {
      write();
      const std::int32_t before = written;
      const auto fetched = source.fetch(0, {}, into);
      ASSERT_TRUE(fetched) << "there is one since " << before;
      ASSERT_GE(into.as<const std::int32_t>()[0], before);
    }
  }
}

// ---- dropped jobs ----

class Given final : public channels::Source {
 public:
  explicit Given(const bool& fresh) : fresh_(fresh) {}
  Expected<channels::Sample, Errc> fetch(std::uint64_t, Instant, const Tensor&) noexcept override {
    return channels::Sample{.sampled = hal::now(), .fresh = fresh_};
  }

 private:
  const bool& fresh_;
};

/// Two inputs have new values in turns. The next job gets the new value that the dropped job left.
TEST(DroppedJob, LeavesNewInputsForNextJob) {
  const auto workload = plus_one(2);
  TaskIo io("a", *workload, {});
  bool first = true, second = false;
  io.add_source(0, std::make_unique<Given>(first), OnStale::skip, "first");
  io.add_source(1, std::make_unique<Given>(second), OnStale::skip, "second");
  EXPECT_TRUE(io.read(0, hal::now(), channels::TaskIo::For::job).drops);
  first = false, second = true;
  EXPECT_FALSE(io.read(0, hal::now(), channels::TaskIo::For::job).drops);
  EXPECT_TRUE(io.read(1, hal::now(), channels::TaskIo::For::job).drops) << "both were taken";
}

TEST(OnInput, MayReportEarliestInstantAsSamplingTime) {
  TaskSet set = set_of({own_task("a", 10ms)}, 1h);
  set.tasks[0].input_delay = 10ms;
  ExecutiveSetup setup;
  setup.callbacks["a"].on_input = [](InputJob& job) { return job.sampled = Instant::min(), Status(); };
  Executive executive = started(std::move(set), std::move(setup));
  EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].input_delay.count > 5; }));
  const MeasuredTimes delays = executive.stop().tasks[0].input_delay;
  EXPECT_EQ(delays.violations, delays.count);
}

TEST(OnInput, StaleResultFollowsPolicyOfFirstProgramInput) {
  TaskSet set = set_of({own_task("a", 10ms)}, 1h);
  set.tasks[0].inputs = {{.tensor = "x0", .source = SourceKind::program, .from = {}, .on_stale = OnStale::miss},
                         {.tensor = "x1", .source = SourceKind::program, .from = {}, .on_stale = OnStale::reuse}};
  ExecutiveSetup setup;
  setup.workloads["a"] = plus_one(2);
  setup.callbacks["a"].on_input = [](InputJob&) -> Status { return Unexpected(Errc::stale); };
  Executive executive = started(std::move(set), std::move(setup));
  EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].released > 0; }));
  const Report report = executive.stop();
  EXPECT_EQ(report.tasks[0].completed, 0u);
}

// ---- files ----

struct FileSinkTest : testing::Test {
  ScratchFolder folder;
  TaskSet set = set_of({own_task("a", 2ms), own_task("b", 2ms)}, 1h);
  std::string results = (folder / "out").string();
  FileSinkTest() { set.tasks[0].outputs = {{.tensor = {}, .sink = SinkKind::files, .to = results}}; }

  static const ChannelReport& files(const Report& report) { return report.channels.back(); }
  /// Stops after the first task has completed `jobs` jobs.
  static Report stopped_after(Executive& executive, std::uint64_t jobs) {
    EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].completed >= jobs; }));
    return executive.stop();
  }
  static void expect_untouched(const TaskReport& other) { EXPECT_EQ(other.failed + other.aborted, 0u); }
  std::vector<std::string> lines() const {
    std::ifstream file(results + "/latest/a.jsonl");
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
};

TEST_F(FileSinkTest, WritesAllAcceptedResultsBeforeReportExceptWarmUp) {
  ExecutiveSetup setup;
  setup.workloads["a"] = plus_one(1, 1 << 18); // a megabyte each, so that the writer falls behind
  Executive executive = started(set, std::move(setup));
  const Report report = stopped_after(executive, 20);
  ASSERT_FALSE(lines().empty());
  EXPECT_EQ(lines().size(), files(report).moved);
  EXPECT_EQ(files(report).moved + files(report).dropped, report.tasks[0].completed);
  EXPECT_THAT(lines().front(), HasSubstr("\"job\":0,"));
  EXPECT_EQ(std::ranges::count_if(lines(), [](const std::string& line) { return line.contains("\"job\":0,"); }), 1);
}

TEST_F(FileSinkTest, ReportsFullDiskMetByLastJob) {
  ExecutiveSetup setup;
  setup.workloads["a"] = plus_one(1, 1 << 18);
  set.tasks[0].trigger = Trigger::call;
  Executive executive = started(set, std::move(setup));
  const FileSizeLimit limit(1 << 19);
  EXPECT_TRUE(executive.trigger("a"));
  const Report report = stopped_after(executive, 1);
  EXPECT_THAT(files(report).failure, HasSubstr("File too large"));
  EXPECT_EQ(files(report).moved, 0u) << "taken, and then not written";
  EXPECT_EQ(files(report).dropped, report.tasks[0].completed);
  expect_untouched(report.tasks[1]);
}

TEST_F(FileSinkTest, FullDiskDropsResultsButNoJob) {
  Executive executive = started(set, {});
  const FileSizeLimit limit(1 << 10);
  EXPECT_TRUE(eventually([&] {
    const Report so_far = executive.progress();
    return !files(so_far).failure.empty() && files(so_far).dropped > 10;
  }));
  const Report report = executive.stop();
  EXPECT_THAT(files(report).failure, HasSubstr("a.jsonl: File too large: results of later jobs are not written"));
  EXPECT_EQ(files(report).moved + files(report).dropped, report.tasks[0].completed);
  EXPECT_EQ(report.tasks[0].failed, 0u);
  expect_untouched(report.tasks[1]);
}

std::vector<std::string> entries_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST_F(FileSinkTest, WritesEachRunToNewFolderAndKeepsOlderOnes) {
  write_text(folder / "out/a.jsonl", "kept");
  set.tasks[1].outputs = set.tasks[0].outputs;
  for (int run = 0; run < 2; ++run) {
    ExecutiveSetup setup;
    Executive executive = started(set, std::move(setup));
    static_cast<void>(stopped_after(executive, 1));
    EXPECT_FALSE(lines().empty());
    EXPECT_TRUE(std::filesystem::exists(folder / "out/latest/b.jsonl")) << "tasks of a run share its folder";
  }
  EXPECT_EQ(entries_of(folder / "out").size(), 4u) << "what was there, two runs, and the link";
  EXPECT_EQ(read_text(folder / "out/a.jsonl"), "kept");
}

TEST_F(FileSinkTest, RefusesStartWhenFolderCannotBeCreated) {
  const auto refusal = [&] {
    ExecutiveSetup setup;
    setup.force = true;
    for (const Task& task : set.tasks) setup.workloads[task.name] = plus_one();
    auto executive = Executive::create(set, std::move(setup));
    EXPECT_EQ(problem(executive), "none");
    return problem(executive->start());
  };
  std::filesystem::create_directories(folder / "out/latest");
  EXPECT_THAT(refusal(), HasSubstr("latest: must be a link"));
  EXPECT_EQ(entries_of(folder / "out").size(), 1u) << "nothing was made";
  write_text(folder / "file", "");
  set.tasks[0].outputs[0].to = (folder / "file/out").string();
  const std::string refused = refusal();
  EXPECT_THAT(refused, HasSubstr("Not a directory"));
  EXPECT_THAT(refused, testing::Not(HasSubstr("later jobs"))) << "there are none";
}

// ---- triggers ----

TEST(Triggers, PendingTriggersKeepCountAndFirstTime) {
  executive::TriggerInbox inbox;
  const Instant first(1s), second(2s);
  Instant at{};
  inbox.add(first);
  inbox.add(second);
  EXPECT_EQ(inbox.take(at), 2u);
  EXPECT_EQ(at, first) << "a job may begin then";
  inbox.add(second);
  EXPECT_EQ(inbox.take(at), 1u);
  EXPECT_EQ(at, second);
}

/// For a job that the gate delays, the trigger is the event of the reaction (policies/proofs/chains.md).
TEST(Triggers, DelayedByMinimumPeriodStartReactionTime) {
  constexpr Duration period = 1s;
  Task called = own_task("called", period), behind = own_task("behind", period);
  called.trigger = Trigger::call;
  behind.trigger = Trigger::after;
  behind.after = "called";
  TaskSet set = set_of({called, behind}, 1h);
  set.chains = {{.name = "both", .tasks = {"called", "behind"}, .max_reaction = {}, .max_age = {}}};
  Executive executive = started(std::move(set), {});
  const auto completed = [&] { return executive.progress().tasks[1].completed; };
  const Instant first = hal::now();
  executive.trigger("called");
  ASSERT_TRUE(eventually([&] { return completed() == 1; }));
  executive.trigger("called"); // waits for the rest of the period
  const Duration left = first + period - hal::now();
  ASSERT_TRUE(eventually([&] { return completed() == 2; }));
  const Report report = executive.stop();
  ASSERT_EQ(report.chains[0].reaction.count, 1u);
  EXPECT_GE(report.chains[0].reaction.times.max, left);
}

} // namespace
} // namespace rtexec
