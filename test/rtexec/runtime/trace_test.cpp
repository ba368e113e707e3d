// Tests the traces of runs: a set-up that can be replayed, every decision of the scheduler core, no gaps, and a
// snapshot after a miss.
#include "rtexec/studies/simulator/recorder.hpp"
#include "rtexec/studies/simulator/simulator.hpp"
#include "rtexec/studies/simulator/tracer.hpp"
#include "rtexec/studies/experiments/initialisation_machine.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"
#include "test/hal/fake_cuda_driver.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/rtexec/runtime/swap_sets.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "traces/analysis/analyzer.hpp"
#include "traces/reading/reader.hpp"
#include "traces/recording/flight_recorder.hpp"
#include "traces/recording/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec {
namespace {

using namespace test;
using policies::Action;
using policies::Event;

/// An event of a trace, with the fields that the tests check.
struct Seen {
  std::string name;
  std::map<std::string, std::int64_t> fields;
  std::int64_t operator[](const char* field) const { return fields.contains(field) ? fields.at(field) : -1; }
};

std::vector<Seen> read(const std::filesystem::path& folder) {
  std::vector<Seen> seen;
  const auto read = traces::read_trace(folder, [&](const traces::RecordedEvent& event) {
    Seen each{std::string(event.name().substr(std::string_view("rtexec:").size())), {}};
    for (const char* field : {"task", "job", "at", "nominal", "start", "deadline", "sequence", "input", "action",
                              "moved_task", "slot", "frame", "failed", "executed"})
      if (const auto value = event.integer(field)) each.fields[field] = *value;
    seen.push_back(std::move(each));
  });
  EXPECT_TRUE(read) << problem(read);
  return seen;
}

std::size_t first(const std::vector<Seen>& events, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(events, name, &Seen::name) - events.begin());
}

std::size_t last(const std::vector<Seen>& events, std::string_view name) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events[i].name == name) found = i;
  return found;
}

policies::Transfer transfer_of(const Seen& event) {
  return {static_cast<std::uint32_t>(event["moved_task"]), static_cast<std::uint32_t>(event["slot"]),
          static_cast<std::uint32_t>(event["frame"])};
}

policies::JobId job_of(const Seen& event) {
  return {static_cast<std::uint32_t>(event["task"]), static_cast<std::uint64_t>(event["job"])};
}

/// Checks that every input is recorded, and that the core repeats the recorded decisions.
void expect_decided_as_recorded(const std::vector<Seen>& events, const Plan& plan) {
  policies::DeviceScheduler scheduler(plan);
  std::span<const Action> actions; // of the previous input
  std::int64_t inputs = 0;
  std::size_t next = 0; // the next of these actions
  for (const Seen& event : events) {
    if (event.name == "scheduler_input") {
      ASSERT_EQ(next, actions.size()) << "before input " << inputs;
      ASSERT_EQ(event["sequence"], inputs++);
      next = 0;
      actions = scheduler.on({.kind = static_cast<Event::Kind>(event["input"]),
                              .job = job_of(event),
                              .now = Instant(Duration(event["at"])),
                              .deadline = Instant(Duration(event["deadline"])),
                              .transfer = transfer_of(event),
                              .failed = event["failed"] != 0});
    } else if (event.name == "scheduler_action") {
      ASSERT_LT(next, actions.size()) << "after input " << inputs;
      const Action recorded{
          .kind = static_cast<Action::Kind>(event["action"]), .job = job_of(event), .transfer = transfer_of(event)};
      EXPECT_EQ(event["sequence"], inputs - 1);
      EXPECT_EQ(recorded, actions[next++]) << "of input " << inputs - 1;
    }
  }
  EXPECT_EQ(next, actions.size());
  EXPECT_GT(inputs, 50);
}

void expect_setup_first(const std::vector<Seen>& events) {
  const std::size_t begin = first(events, "scheduler_input");
  for (const char* name : {"plan", "task_info", "task_memory", "admission_test", "swap_plan"}) {
    EXPECT_LT(first(events, name), begin) << name;
    EXPECT_LT(last(events, name), begin) << name;
  }
  EXPECT_LT(first(events, "run_begin"), first(events, "job_release"));
  EXPECT_EQ(first(events, "run_end"), events.size() - 1);
}

/// Checks that parts take at least their reported CPU time, and device parts at least their reported execution time.
void expect_executed(const std::vector<Seen>& events, std::uint64_t completed) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> begun, executed;
  std::uint64_t ended = 0;
  for (const Seen& event : events) {
    const std::pair job{event["task"], event["job"]};
    if (event.name == "job_start" || event.name == "device_begin" || event.name == "after_begin")
      begun[job] = event["at"];
    if (event.name == "device_executed") executed[job] = event["executed"];
    if (event.name == "device_end" && executed.contains(job)) {
      EXPECT_LE(executed.at(job), event["at"] - begun.at(job));
    }
    if (event.name != "cpu_end" && event.name != "job_end") continue;
    EXPECT_GE(event["executed"], 0);
    EXPECT_LE(event["executed"], event["at"] - begun.at(job));
    ended += event.name == "job_end";
  }
  EXPECT_EQ(ended, completed);
}

TEST(Trace, RealRunIsReplayableWithoutLostEvents) {
  const ScratchFolder folder;
  HashingTasks hashing = two_tasks();
  auto session = traces::Session::start(folder / "trace", {});
  if (!session) GTEST_SKIP() << session.error().what;
  Executive executive =
      made(swapping_set(hashing.tasks, endless, SwapPolicy::pipelined, small_chunk * 5), hashing.setup());
  begun(executive);
  const Report report =
      expect_real_time(executive, [&] { run_until(executive, [&] { return hashing.executions() > 15; }); });
  const auto summary = session->stop();
  ASSERT_TRUE(summary) << problem(summary);
  EXPECT_EQ(summary->lost.events, 0u);

  const std::vector<Seen> events = read(session->folder());
  expect_setup_first(events);
  expect_decided_as_recorded(events, executive.plan());
  std::uint64_t completed = 0;
  for (const TaskReport& task : report.tasks) completed += task.completed;
  expect_executed(events, completed);
  const Seen& release = events.at(first(events, "job_release"));
  EXPECT_EQ(events.at(first(events, "run_begin"))["start"] +
                executive.set().tasks.tasks.at(static_cast<std::size_t>(release["task"])).offset.count(),
            release["nominal"]);
}

TEST(Trace, SimulatedRunIsInOrderOfVirtualTimeWithoutLostEvents) {
  const ScratchFolder folder;
  HashingTasks hashing = two_tasks();
  Executive executive =
      made(swapping_set(hashing.tasks, endless, SwapPolicy::pipelined, small_chunk * 5), hashing.setup());
  auto session = traces::Session::start(folder / "trace", {.buffer = Bytes{1 << 20}});
  if (!session) GTEST_SKIP() << session.error().what;
  simulator::Options options;
  options.horizon = 20s;
  simulator::Recorder recorder(executive.set().tasks, executive.plan());
  options.observe = [&](const simulator::Step& step) { recorder.see(step); };
  simulator::Tracer tracer(executive.set().tasks, executive.plan(), *session);
  tracer.watch(options);
  const auto outcome = simulator::simulate(executive.set().tasks, executive.plan(), options);
  const auto traced = tracer.end(recorder.report(outcome));
  ASSERT_TRUE(traced) << problem(traced);
  const std::uint64_t at_once = session->events_at_once();
  const auto summary = session->stop();
  ASSERT_TRUE(summary) << problem(summary);
  EXPECT_EQ(summary->lost.events, 0u);
  EXPECT_GT(summary->events, at_once * 2) << "the buffers were never full";

  const std::vector<Seen> events = read(session->folder());
  EXPECT_EQ(events.front().name, "run_begin");
  expect_setup_first(events);
  expect_decided_as_recorded(events, executive.plan());
  expect_executed(events, outcome.tasks[0].completed + outcome.tasks[1].completed);
  std::int64_t before = 0, executed = 0;
  for (const Seen& event : events) {
    if (!event.fields.contains("at")) continue;
    EXPECT_LE(before, event["at"]) << event.name;
    before = event["at"];
    if (event.name == "cpu_end") {
      EXPECT_EQ(event["executed"],
                executive.plan().tasks.at(static_cast<std::size_t>(event["task"])).wcet.before.count());
    }
    executed += event.name == "job_end" ? event["executed"] : 0;
  }
  EXPECT_EQ(executed, static_cast<std::int64_t>(outcome.tasks[0].completed + outcome.tasks[1].completed) *
                          executive.plan().tasks[0].wcet.after.count());
}

// ---- loading ----

constexpr char image[] = "an image";
const hal::cuda::KernelImage images[] = {{"kernels", 50, true, image, sizeof image}};

/// When it is bound, it fills the data of a micro-benchmark under M on a simulated GPU, in tiles of 128 KiB. It does
/// nothing else.
class FillingWorkload final : public Workload {
 public:
  static constexpr unsigned elements = 200'000; // seven tiles
  FillingWorkload() {
    driver_.accept_unknown_kernels(true);
    gpu_ = std::move(*hal::CudaDevice::open({.capacity = Bytes{1 << 20}, .chunk = Bytes{1 << 16}}));
    sum_ = std::move(*tasks::KernelWorkload::make(
        {.kind = WorkloadKind::vector_add, .size = elements, .policy = MemoryPolicy::managed, .images = images},
        DeviceKind::cuda));
    EXPECT_TRUE(sum_->use(std::vector<std::string>{"initialise tile 131072 blocks 2 threshold 0"}));
  }
  int timed() const { return driver_.calls<&hal::cuda::Driver::event_elapsed>(); }

  bool uses_device() const override { return false; }
  MemoryDemand memory() const override { return {}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "filling"; }
  void observe_contents(const tasks::initialise::Observer& observer) override { sum_->observe_contents(observer); }
  Result<> bind(Device&, const Memory&) override { return sum_->bind(*gpu_, {}); }
  Status before(std::uint64_t) noexcept override { return {}; }
  Status execute() noexcept override { return {}; }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  hal::test::FakeCudaDriver driver_;
  std::unique_ptr<hal::CudaDevice> gpu_;
  std::unique_ptr<tasks::KernelWorkload> sum_;
};

/// Runs for 100 ms. Returns how often a tile's time was queried.
int run_filling() {
  auto workload = std::make_unique<FillingWorkload>();
  const FillingWorkload& filling = *workload;
  executive::Setup setup;
  setup.workloads["sum"] = std::move(workload);
  Executive executive = made(set_of({own_task("sum", 20ms)}, 100ms), std::move(setup));
  const int before = filling.timed();
  begun(executive);
  const int timed = filling.timed() - before;
  executive.wait();
  executive.stop();
  return timed;
}

bool within(const traces::TimeInterval& inner, const traces::TimeInterval& outer) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

/// Stops the session and returns its analysis.
traces::Analysis analysed(traces::Session& session) {
  const auto summary = session.stop();
  EXPECT_TRUE(summary) << problem(summary);
  traces::RunSetup setup;
  traces::Analyzer analyzer(setup);
  const auto read = traces::read_records(session.folder(), setup, analyzer);
  EXPECT_TRUE(read) << problem(read);
  return analyzer.finish(read.value_or(traces::ReadSummary{}));
}

/// RTEXEC_TRACE names a folder for the trace, for inspection on the command line.
TEST(Trace, LoadingIsRecordedTileByTile) {
  const ScratchFolder folder;
  const char* const given = std::getenv("RTEXEC_TRACE");
  auto session = traces::Session::start(given ? given : folder / "trace", {});
  if (!session) GTEST_SKIP() << session.error().what;
  run_filling();
  const traces::Analysis analysis = analysed(*session);
  ASSERT_EQ(analysis.tasks.size(), 1u);
  const traces::TaskSetup& task = analysis.tasks[0].setup;
  ASSERT_TRUE(task.loaded);
  EXPECT_LT(task.loaded->end, analysis.setup.start);
  ASSERT_EQ(task.contents.size(), 2u) << "both summands";
  for (const traces::ContentsSetup& contents : task.contents) {
    EXPECT_EQ(contents.size, Bytes{FillingWorkload::elements * 4});
    EXPECT_FALSE(contents.on_host);
    EXPECT_TRUE(within(contents.made, *task.loaded));
    ASSERT_EQ(contents.tiles.size(), 7u);
    Bytes size;
    for (const traces::TileSetup& tile : contents.tiles) {
      EXPECT_TRUE(within(tile.prefetched, contents.made) && within(tile.made, contents.made));
      EXPECT_LE(tile.prefetched.end, tile.made.begin);
      size += tile.size;
    }
    EXPECT_EQ(size, contents.size);
  }
  EXPECT_EQ(analysis.tasks[0].contents.tiles, 14u);
  EXPECT_EQ(analysis.tasks[0].contents.overlapped, 0ns) << "this GPU does one after the other";
}

TEST(Trace, LoadingIsRecordedForExperiment) {
  const ScratchFolder folder;
  hal::test::FakeCudaDriver driver;
  driver.accept_unknown_kernels(true);
  const auto gpu = std::move(*hal::CudaDevice::open({.capacity = Bytes{1 << 20}, .chunk = Bytes{1 << 16}}));
  const auto plant = study::initialisation_platform(*gpu, images).value();
  auto session = traces::Session::start(folder / "trace", {});
  if (!session) GTEST_SKIP() << session.error().what;
  const auto shown = plant->timeline({.workload = "needleman-wunsch",
                                      .size = Bytes{1 << 20},
                                      .method = study::InitialisationMethod::tiles,
                                      .tiles = 4});
  ASSERT_TRUE(shown) << problem(shown);
  const traces::Analysis analysis = analysed(*session);
  ASSERT_EQ(analysis.tasks.size(), 1u);
  ASSERT_EQ(analysis.tasks[0].setup.contents.size(), 1u);
  const auto& tiles = analysis.tasks[0].setup.contents[0].tiles;
  ASSERT_EQ(tiles.size(), shown->size());
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    EXPECT_EQ(tiles[i].prefetched.end - tiles[0].prefetched.begin, shown->at(i).prefetch_end);
    EXPECT_EQ(tiles[i].made.end - tiles[0].prefetched.begin, shown->at(i).make_end);
  }
}

/// A late job is abandoned. Its remaining part, of no length, gets its core at the instant at which the job is gone.
TEST(Trace, AbortedJobBeginsNoPartAfterItsEnd) {
  const ScratchFolder folder;
  auto session = traces::Session::start(folder / "trace", {});
  if (!session) GTEST_SKIP() << session.error().what;
  TaskSet tasks = set_of({synthetic("urgent", 1000ms, {.before = 30ms, .device = 0ms, .after = 0ms}),
                          synthetic("late", 40ms, {.before = 10ms, .device = 19ms, .after = 0ms})},
                         1s);
  tasks.tasks[0].offset = 15ms;
  tasks.tasks[1].on_overrun = OnOverrun::abort_job;
  tasks.tasks[1].on_wcet_exceeded = OnWcetExceeded::skip_next;
  Plan plan;
  for (const Task& task : tasks.tasks) {
    PlannedTask& planned = plan.tasks.emplace_back();
    planned.wcet = *task.wcet;
    planned.core_rank = static_cast<unsigned>(plan.tasks.size());
  }
  simulator::Options options;
  options.horizon = 200ms;
  options.execution = [&](policies::JobId job, Part part) {
    return part == Part::device ? Duration(20ms) : simulator::of(plan.tasks[job.task].wcet, part);
  };
  simulator::Recorder recorder(tasks, plan);
  options.observe = [&](const simulator::Step& step) { recorder.see(step); };
  simulator::Tracer tracer(tasks, plan, *session);
  tracer.watch(options);
  const auto outcome = simulator::simulate(tasks, plan, options);
  const auto traced = tracer.end(recorder.report(outcome));
  ASSERT_TRUE(traced) << problem(traced);
  EXPECT_EQ(outcome.tasks[1].aborted, 1u);
  const traces::Analysis analysis = analysed(*session);
  ASSERT_EQ(analysis.tasks.size(), 2u);
  EXPECT_EQ(analysis.tasks[1].aborted, 1u);
  EXPECT_EQ(analysis.tasks[1].invalid, "");
}

TEST(DisabledTrace, TimesNoTile) { EXPECT_EQ(run_filling(), 0); }

TEST(Trace, MissLeavesSnapshotOfItsJob) {
  const ScratchFolder folder;
  auto recorder = traces::FlightRecorder::start(folder / "flight", {});
  if (!recorder) GTEST_SKIP() << recorder.error().what;
  Task slow = synthetic("slow", 40ms, {.before = 1ms, .device = 30ms, .after = 1ms});
  Task late = synthetic("late", 40ms, {.before = 1ms, .device = 30ms, .after = 1ms});
  late.on_overrun = OnOverrun::catch_up;
  std::vector<Miss> misses; // used on the callbacks' thread
  executive::Setup setup;
  setup.on_miss = [&](const Miss& miss) {
    misses.push_back(miss);
    recorder->take("miss " + std::to_string(misses.size()));
  };
  Executive executive = made(set_of({slow, late}, 600ms), std::move(setup));
  begun(executive);
  executive.wait();
  executive.stop();
  const auto snapshots = recorder->stop();
  ASSERT_TRUE(snapshots.outcome) << problem(snapshots.outcome);
  ASSERT_FALSE(misses.empty()) << "the device was quicker than real";
  ASSERT_FALSE(snapshots.written.empty());
  EXPECT_THAT(snapshots.written.front().reason, testing::StartsWith("miss 1"));

  const std::vector<Seen> events = read(snapshots.written.front().folder);
  for (const char* name : {"run_begin", "plan", "task_info", "admission_test", "probe"})
    EXPECT_LT(first(events, name), events.size()) << name;
  const Miss& miss = misses.front();
  const auto of_the_job = [&](std::string_view name) {
    return std::ranges::any_of(events, [&](const Seen& event) {
      return event.name == name && job_of(event) == policies::JobId{static_cast<std::uint32_t>(miss.task), miss.job};
    });
  };
  for (const char* name : {"job_release", "cpu_end", "device_end", "job_end", "job_miss"})
    EXPECT_TRUE(of_the_job(name)) << name;
}

} // namespace
} // namespace rtexec
