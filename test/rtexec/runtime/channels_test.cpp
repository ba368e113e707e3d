// Tests inputs and outputs of tasks in runs: values pass through, missing values are handled, and the real-time rules
// hold.
#include "hal/thread.hpp"
#include "rtexec/runtime/channels/connect.hpp"
#include "tasks/backends/custom_workload.hpp"
#include "tasks/engine/models/models.hpp"
#include "test/hal/fake_camera.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "traces/analysis/analyzer.hpp"
#include "traces/reading/reader.hpp"
#include "traces/recording/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

namespace rtexec {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

/// Adds one to each of its numbers, on the core alone.
class AddOne final : public Workload {
 public:
  explicit AddOne(std::size_t count = 8) : in_(count), out_(count) {
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(count)};
    inputs_ = {
        {.name = "x", .type = ElementType::int32, .shape = shape, .bytes = std::as_writable_bytes(std::span(in_))}};
    outputs_ = {
        {.name = "y", .type = ElementType::int32, .shape = shape, .bytes = std::as_writable_bytes(std::span(out_))}};
  }
  bool uses_device() const override { return false; }
  MemoryDemand memory() const override { return {}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "add one"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  std::span<const Tensor> inputs() const override { return inputs_; }
  std::span<const Tensor> outputs() const override { return outputs_; }
  Recognition recognises() const noexcept override { return Recognition::boxes; }
  std::span<const Box> detections() const noexcept override { return {&box_, 1}; }
  Status before(std::uint64_t) noexcept override {
    for (std::size_t i = 0; i < in_.size(); ++i) out_[i] = in_[i] + 1;
    box_.score = static_cast<float>(out_[0]);
    return {};
  }
  Status execute() noexcept override { return {}; }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  std::vector<std::int32_t> in_, out_;
  std::vector<Tensor> inputs_, outputs_;
  Box box_{.left = 1, .top = 2, .right = 3, .bottom = 4, .score = 0, .label = 5};
};

Task own(const std::string& name, Duration period) {
  Task task;
  task.name = name;
  task.workload = WorkloadKind::custom;
  task.period = task.deadline = period;
  task.wcet = Wcet{.before = 200us, .device = 0us, .after = 200us};
  return task;
}

ExecutiveSetup setup_of(const TaskSet& set) {
  ExecutiveSetup setup;
  setup.force = true;
  for (const Task& task : set.tasks) setup.workloads[task.name] = std::make_unique<AddOne>();
  return setup;
}

Executive started(TaskSet set, ExecutiveSetup setup) {
  auto executive = Executive::create(std::move(set), std::move(setup));
  EXPECT_TRUE(executive) << problem(executive);
  const auto begun = executive->start();
  EXPECT_TRUE(begun) << problem(begun);
  return std::move(*executive);
}

const ChannelReport& channel(const Report& report, const std::string& name) {
  for (const ChannelReport& each : report.channels)
    if (each.name == name) return each;
  ADD_FAILURE() << "no channel " << name;
  static const ChannelReport none;
  return none;
}

/// The inputs and outputs that a program received.
struct Seen {
  std::atomic<std::uint64_t> inputs{0}, outputs{0}, wrong{0};
};

TEST(Channels, CarryProgramInputToOutputOfSameJob) {
  Seen seen;
  TaskSet set = set_of({own("a", 10ms)}, 1h);
  ExecutiveSetup setup = setup_of(set);
  setup.callbacks["a"] = {.on_input = [&](InputJob& job) -> Status {
                            for (std::int32_t& each : job.inputs[0].as<std::int32_t>())
                              each = static_cast<std::int32_t>(job.job) * 10;
                            job.sampled = job.release - 3ms;
                            ++seen.inputs;
                            return {};
                          },
                          .on_output =
                              [&](const OutputJob& job) {
                                for (const std::int32_t each : job.outputs[0].as<const std::int32_t>())
                                  seen.wrong += each != static_cast<std::int32_t>(job.job) * 10 + 1 ? 1 : 0;
                                seen.wrong += job.sampled != job.release - 3ms ? 1 : 0;
                                seen.wrong += job.detections.size() != 1 ? 1 : 0;
                                ++seen.outputs;
                              }};
  Executive executive = started(std::move(set), std::move(setup));
  EXPECT_TRUE(eventually([&] { return seen.outputs > 20; }));
  const Report report = executive.stop();
  EXPECT_EQ(report.tasks[0].completed + 1, seen.outputs.load()) << "one warm_up";
  EXPECT_EQ(seen.wrong.load(), 0u);
  EXPECT_EQ(channel(report, "on_input").moved, report.tasks[0].released);
}

/// The values 10, 11, ... go through a chain of three tasks, each of which adds one.
TEST(Channels, PassNewestOutputsAlongChainOfTasks) {
  TaskSet set = set_of({own("a", 5ms), own("b", 10ms), own("c", 20ms)}, 1h);
  set.tasks[1].inputs = {{.tensor = "x", .source = SourceKind::task, .from = "a/y"}};
  set.tasks[2].inputs = {{.tensor = {}, .source = SourceKind::task, .from = "b"}};
  Seen seen;
  std::atomic<std::int32_t> last{0};
  Instant last_sampled{};
  ExecutiveSetup setup = setup_of(set);
  setup.callbacks["a"].on_input = [](InputJob& job) -> Status {
    for (std::int32_t& each : job.inputs[0].as<std::int32_t>()) each = static_cast<std::int32_t>(job.job) + 10;
    return {};
  };
  setup.callbacks["c"].on_output = [&](const OutputJob& job) {
    const auto values = job.outputs[0].as<const std::int32_t>();
    for (const std::int32_t each : values) seen.wrong += each != values[0] ? 1 : 0;
    if (values[0] >= 13) ++seen.outputs;
    seen.wrong += values[0] < last || job.sampled < last_sampled ? 1 : 0;
    last = values[0];
    last_sampled = job.sampled;
  };
  Executive executive = started(std::move(set), std::move(setup));
  const auto enough = [&] {
    const auto outputs = static_cast<std::int32_t>(seen.outputs.load());
    return outputs >= 10 && last >= 13 + 2 * outputs && channel(executive.progress(), "x from task:b").moved >= 10;
  };
  (void)expect_real_time(executive,
                         [&] { EXPECT_TRUE(eventually(enough)) << "the newest values arrive, not the next ones"; });
  EXPECT_EQ(seen.wrong.load(), 0u);
}

void expect_told(const traces::ChainMeasure& found, const ChainReport::Measured& told) {
  EXPECT_EQ(found.times.count, told.count);
  EXPECT_EQ(found.times.min, told.times.min);
  EXPECT_EQ(found.times.max, told.times.max);
  EXPECT_EQ(found.bound, told.bound);
  EXPECT_EQ(found.above, told.violations);
}

class RecordedChain : public testing::TestWithParam<Communication> {};

/// The measurements of the run agree with its recording.
TEST_P(RecordedChain, AgreesWithReportOfRun) {
  const ScratchFolder folder;
  auto session = traces::Session::start(folder / "trace", {});
  if (!session) GTEST_SKIP() << session.error().what;
  TaskSet set = set_of({own("a", 10ms), own("b", 20ms), own("c", 5ms)}, 600ms);
  set.tasks[0].inputs = {{.tensor = "x", .source = SourceKind::program, .from = {}, .on_stale = OnStale::miss}};
  set.tasks[1].inputs = {{.tensor = "x", .source = SourceKind::task, .from = "a/y"}};
  set.tasks[2].inputs = {{.tensor = "x", .source = SourceKind::task, .from = "b"}};
  Chain& chain = set.chains.emplace_back();
  chain.name = "steer";
  chain.tasks = {"a", "b", "c"};
  chain.communicate = GetParam();
  ExecutiveSetup setup = setup_of(set);
  setup.callbacks["a"].on_input = [](InputJob& job) -> Status {
    if (job.job == 7) return Unexpected(Errc::stale);
    job.sampled = job.release - 3ms;
    return {};
  };
  Executive executive = started(std::move(set), std::move(setup));
  executive.wait();
  const Report report = executive.stop();
  const auto summary = session->stop();
  ASSERT_TRUE(summary) << problem(summary);

  traces::RunSetup recorded;
  traces::Analyzer analyzer(recorded);
  const auto read = traces::read_records(folder / "trace", recorded, analyzer);
  ASSERT_TRUE(read) << problem(read);
  const traces::Analysis analysis = analyzer.finish(*read);
  ASSERT_EQ(analysis.chains.size(), 1u);
  const traces::ChainAnalysis& found = analysis.chains[0];
  EXPECT_EQ(found.setup.communicate, GetParam());
  EXPECT_GT(report.chains.at(0).reaction.count, 2u);
  expect_told(found.reaction, report.chains[0].reaction);
  expect_told(found.age, report.chains[0].age);
  expect_told(found.reduced_age, report.chains[0].reduced_age);
  ASSERT_TRUE(found.worst);
  EXPECT_EQ(found.worst->reaction, report.chains[0].reaction.times.max);

  for (const traces::TaskAnalysis& task : analysis.tasks) {
    SCOPED_TRACE(task.setup.name);
    ASSERT_TRUE(task.inputs);
    EXPECT_EQ(task.inputs->jobs, task.released);
    EXPECT_EQ(task.dropped_results, 0u);
  }
  EXPECT_EQ(analysis.tasks[0].inputs->stale, 1u);
  EXPECT_EQ(analysis.tasks[0].inputs->failed, 1u);
  EXPECT_GE(analysis.tasks[0].inputs->age.min, 3ms);
  EXPECT_GT(analysis.tasks[2].inputs->stale, analysis.tasks[2].released / 2) << "b gives it something each 20 ms";
}

INSTANTIATE_TEST_SUITE_P(EachWay, RecordedChain, testing::Values(Communication::immediate, Communication::let),
                         [](const auto& way) { return std::string(name(way.param)); });

TEST(Channels, RejectMoreStoredValuesThanReaderLimit) {
  const auto outcome = [](Duration deadline) {
    TaskSet set = set_of({own("a", 1ms), own("b", 2s)}, 100ms);
    set.tasks[1].deadline = deadline;
    set.tasks[1].inputs = {{.tensor = "x", .source = SourceKind::task, .from = "a"}};
    Chain chain;
    chain.name = "all";
    chain.tasks = {"a", "b"};
    chain.communicate = Communication::let;
    set.chains = {chain};
    ExecutiveSetup setup = setup_of(set);
    return problem(Executive::create(std::move(set), std::move(setup)));
  };
  EXPECT_EQ(outcome(1000ms), "none");
  EXPECT_THAT(outcome(1100ms), testing::AllOf(HasSubstr("task 'a': 1102 of its values must be kept for 'b'"),
                                              HasSubstr("maximum 1024")));
}

/// A program that has a new value for every other job.
struct OnStalePolicy : testing::Test {
  std::atomic<std::uint64_t> asked{0}, executed{0};

  Report with(OnStale on_stale) {
    TaskSet set = set_of({own("a", 10ms)}, 1h);
    set.tasks[0].inputs = {{.tensor = "x", .source = SourceKind::program, .from = {}, .on_stale = on_stale}};
    set.tasks[0].on_overrun = OnOverrun::catch_up; // no release is skipped because of late jobs
    ExecutiveSetup setup = setup_of(set);
    setup.callbacks["a"] = {
        .on_input = [this](InputJob&) { return asked++ % 2 == 0 ? Status() : Unexpected(Errc::stale); },
        .on_output = [this](const OutputJob&) { ++executed; }};
    Executive executive = started(std::move(set), std::move(setup));
    EXPECT_TRUE(eventually([&] { return asked > 40; }));
    return executive.stop();
  }
};

TEST_F(OnStalePolicy, ReuseExecutesJobWithoutNewValue) {
  const Report report = with(OnStale::reuse);
  EXPECT_EQ(report.tasks[0].skipped, 0u);
  EXPECT_EQ(report.tasks[0].failed, 0u);
  EXPECT_GE(channel(report, "on_input").stale, 15u);
  EXPECT_EQ(executed.load(), report.tasks[0].completed + 1);
}

TEST_F(OnStalePolicy, SkipDropsRelease) {
  const Report report = with(OnStale::skip);
  EXPECT_GE(report.tasks[0].skipped, 15u);
  EXPECT_EQ(report.tasks[0].failed, 0u);
  EXPECT_EQ(report.tasks[0].released, report.tasks[0].completed);
  EXPECT_EQ(channel(report, "on_input").stale, report.tasks[0].skipped);
}

TEST_F(OnStalePolicy, MissFailsJob) {
  const Report report = with(OnStale::miss);
  EXPECT_GE(report.tasks[0].failed, 15u);
  EXPECT_GE(report.tasks[0].missed, report.tasks[0].failed); // including late jobs
  EXPECT_EQ(report.tasks[0].failure, Errc::stale);
  EXPECT_EQ(report.tasks[0].skipped, 0u);
}

TEST(Channels, InputFaultOfOneTaskLeavesOthersUnaffected) {
  TaskSet set = set_of({own("a", 10ms), own("b", 10ms)}, 1h);
  ExecutiveSetup setup = setup_of(set);
  std::atomic<int> jobs{0};
  setup.callbacks["a"].on_input = [&](InputJob&) { return jobs++ < 5 ? Status() : Unexpected(Errc::io_error); };
  Executive executive = started(std::move(set), std::move(setup));
  EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].failed >= 10; }));
  const Report report = executive.stop();
  EXPECT_EQ(report.tasks[0].failure, Errc::io_error);
  EXPECT_EQ(channel(report, "on_input").failure, "input/output error");
  EXPECT_EQ(report.tasks[1].failed, 0u);
  EXPECT_EQ(report.tasks[1].completed, report.tasks[1].released);
}

TEST(Channels, WriteResultsToFiles) {
  const ScratchFolder folder;
  TaskSet set = set_of({own("a", 10ms)}, 200ms);
  set.tasks[0].outputs = {{.tensor = "detections", .sink = SinkKind::files, .to = (folder / "out").string()}};
  ExecutiveSetup setup = setup_of(set);
  setup.callbacks["a"].on_input = [](InputJob& job) -> Status {
    std::ranges::fill(job.inputs[0].as<std::int32_t>(), static_cast<std::int32_t>(job.job));
    job.sampled = job.release - 3ms;
    return {};
  };
  std::optional<Executive> executive = started(set, std::move(setup));
  const Report report = expect_real_time(*executive, [&] { executive->wait(); });
  executive.reset();
  const ChannelReport& files = channel(report, "file:" + (folder / "out").string());
  EXPECT_EQ(files.moved + files.dropped, report.tasks[0].completed);
  std::ifstream lines(folder / "out/latest/a.jsonl");
  std::uint64_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["detections"][0]["score"], json["job"].get<float>() + 1) << line;
    EXPECT_EQ(json["detections"][0]["class"], 5);
    EXPECT_EQ(json["sampled_ns"].get<std::int64_t>(), json["release_ns"].get<std::int64_t>() - 3'000'000);
  }
  EXPECT_EQ(count, files.moved);

  const auto again = Executive::create(set, setup_of(set));
  EXPECT_TRUE(again) << "nothing is touched before the start";
}

/// If on_input allocates, which it must not, the report shows it on its thread.
TEST(Channels, ReportAllocationsInOnInput) {
  TaskSet set = set_of({own("a", 10ms)}, 1h);
  ExecutiveSetup setup = setup_of(set);
  std::vector<std::unique_ptr<int>> kept;
  kept.reserve(1000);
  setup.callbacks["a"].on_input = [&](InputJob&) -> Status {
    kept.push_back(std::make_unique<int>(1));
    return {};
  };
  Executive executive = started(std::move(set), std::move(setup));
  testing::TestPartResultArray failures;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(&failures);
    const auto completed = [&] { return executive.progress().tasks[0].completed; };
    (void)expect_real_time(executive,
                           [&] { (void)eventually([&, before = completed()] { return completed() > before + 1; }); });
  }
  ASSERT_EQ(failures.size(), 1);
  EXPECT_THAT(failures.GetTestPartResult(0).message(), HasSubstr("allocations"));
}

TEST(Channels, RejectTwoSourcesOfOneInput) {
  TaskSet set = set_of({own("a", 10ms), own("b", 10ms)}, 200ms);
  const TaskInput unnamed{.tensor = "", .source = SourceKind::task, .from = "b"};
  set.tasks[0].inputs = {unnamed, {.tensor = "x", .source = SourceKind::task, .from = "b"}};
  ExecutiveSetup setup = setup_of(set);
  EXPECT_THAT(problem(Executive::create(std::move(set), std::move(setup))),
              HasSubstr("task 'a': inputs: 'x' has two sources: remove one of them"));
}

TEST(Channels, ReportAllConfigurationErrorsTogether) {
  TaskSet set = set_of({own("a", 10ms), own("b", 10ms)}, 200ms);
  set.tasks[0].inputs = {{.tensor = "z", .source = SourceKind::task, .from = "b"}};
  set.tasks[0].outputs = {{.tensor = "w", .sink = SinkKind::none, .to = {}}};
  set.tasks[1].inputs = {{.tensor = "x", .source = SourceKind::task, .from = "a/detections"}};
  ExecutiveSetup setup = setup_of(set);
  setup.callbacks["c"] = {};
  const auto refused = problem(Executive::create(std::move(set), std::move(setup)));
  EXPECT_THAT(refused, HasSubstr("task 'a': it has no input 'z'; its workload has: x"));
  EXPECT_THAT(refused, HasSubstr("task 'a': it has no output 'w'; known: detections, y"));
  EXPECT_THAT(refused,
              HasSubstr("task 'b': from = \"task:a/detections\": boxes need an input of float32 [n, 6], and 'x' "
                        "is int32 [8]"));
  EXPECT_THAT(refused, HasSubstr("callbacks were given for task 'c', but no task of the set has this name"));
}

TEST(Channels, RejectDetectionsOfNetworkWithoutDetector) {
  const ScratchFolder folder;
  ASSERT_EQ(problem(tasks::write_model("detectnet", {.size = 32}, folder / "plain.onnx")), "none");
  ASSERT_EQ(problem(tasks::write_model("mobilenet_v3", {.size = 32}, folder / "classifier.onnx")), "none");
  ASSERT_EQ(problem(tasks::write_model("yolov3-tiny", {.size = 32}, folder / "detector.onnx")), "none");
  TaskSet set =
      set_of({own("plain", 10ms), own("classifier", 10ms), own("detector", 10ms), own("reader", 10ms)}, 200ms);
  for (Task& task : std::span(set.tasks).first(3)) {
    task.workload = WorkloadKind::dnn;
    task.wcet->device = 1ms;
    task.model = folder / (task.name + ".onnx");
    task.outputs = {{.tensor = "detections", .sink = SinkKind::files, .to = (folder / "out").string()}};
  }
  set.tasks[3].inputs = {{.tensor = "boxes", .source = SourceKind::task, .from = "classifier/detections"}};
  ExecutiveSetup setup;
  setup.force = true;
  setup.workloads["reader"] =
      std::make_unique<OwnWorkload>(std::vector<OwnWorkload::Values>{{"boxes", ElementType::float32, {4, 6}}},
                                    std::vector<OwnWorkload::Values>{}, [](auto, auto, auto) {});
  const auto refused = problem(Executive::create(std::move(set), std::move(setup)));
  const std::string why =
      "it has no boxes: rtexec.task = \"detect\" is missing in its model's metadata, or its workload is not a "
      "detector; known: ";
  EXPECT_THAT(refused, HasSubstr("task 'plain': " + why));
  EXPECT_THAT(refused, HasSubstr("task 'classifier': " + why));
  EXPECT_THAT(refused, HasSubstr("task 'reader': from = \"task:classifier/detections\": " + why));
  EXPECT_THAT(refused, Not(HasSubstr("task 'detector'")));
}

/// The workload would pass no boxes, so each job would have none.
TEST(Channels, RejectDetectionsOfWorkloadInC) {
  rtexec_workload none{};
  none.size = sizeof none;
  none.fingerprint = "none";
  auto workload = tasks::CustomWorkload::adopt(&none);
  ASSERT_EQ(problem(workload), "none");
  TaskSet set = set_of({own("a", 10ms)}, 200ms);
  set.tasks[0].outputs = {{.tensor = "detections", .sink = SinkKind::iceoryx, .to = "a/b/c"}};
  ExecutiveSetup setup;
  setup.workloads["a"] = std::move(*workload);
  EXPECT_TRUE(fails(Executive::create(std::move(set), std::move(setup)), Errc::bad_input,
                    "its workload is not a detector; known: none"));
}

Task pictured(const std::string& name, SourceKind source, const Preprocessing& preprocessing) {
  Task task = own(name, 10ms);
  const bool message = source == SourceKind::iceoryx;
  task.inputs = {{.tensor = "x", .source = source, .from = message ? "a/b/c" : "/dev/video0"}};
  task.inputs[0].preprocessing = preprocessing;
  return task;
}

TEST(Channels, RejectPreprocessingThatInputCannotTake) {
  const auto made = [](ElementType type, const std::vector<std::int64_t>& shape) {
    const std::vector<OwnWorkload::Values> values{{"x", type, shape}};
    return std::make_unique<OwnWorkload>(values, values, [](auto...) {});
  };
  TaskSet set = set_of({pictured("a", SourceKind::camera, {.layout = TensorLayout::nhwc}),
                        pictured("b", SourceKind::iceoryx, {.channels = ChannelOrder::bgr}),
                        pictured("c", SourceKind::camera, {.mean = {1}}), pictured("d", SourceKind::iceoryx, {})},
                       200ms);
  ExecutiveSetup setup;
  setup.force = true;
  setup.workloads["a"] = made(ElementType::float32, {1, 3, 8, 8});
  setup.workloads["b"] = made(ElementType::float32, {8});
  setup.workloads["c"] = made(ElementType::uint8, {1, 3, 8, 8});
  setup.workloads["d"] = made(ElementType::float32, {8}); // accepts messages of its own shape
  EXPECT_EQ(problem(Executive::create(std::move(set), std::move(setup))),
            "task 'a': from = \"v4l2:/dev/video0\": layout = \"NHWC\" needs an input of shape [1, height, width, 3], "
            "but the network's is 1x3x8x8\n"
            "task 'b': from = \"iceoryx:a/b/c\": pictures need an input of shape [1, 3, height, width] or [1, height, "
            "width, 3], but the network's is 8\n"
            "task 'c': from = \"v4l2:/dev/video0\": mean, std and scale need an input of floats, but the network needs "
            "pictures as uint8");
}

/// Ten frames arrive between two jobs, and the driver has a free buffer for each.
TEST(Channels, GiveSlowTaskNewestCameraFrame) {
  hal::test::FakeCamera camera;
  camera.formats = {V4L2_PIX_FMT_RGB24};
  camera.interval = {.numerator = 1, .denominator = 100};
  camera.set_time(hal::now());
  Task slow = pictured("a", SourceKind::camera, {});
  slow.inputs[0].from = hal::test::FakeCamera::path;
  slow.period = slow.deadline = 100ms;
  TaskSet set = set_of({slow}, 1500ms);
  const std::vector<OwnWorkload::Values> picture{{"x", ElementType::uint8, {1, 3, 8, 8}}};
  ExecutiveSetup setup;
  setup.force = true;
  setup.workloads["a"] = std::make_unique<OwnWorkload>(picture, picture, [](auto...) {});
  std::atomic<unsigned> made{0};
  std::atomic<std::uint64_t> jobs{0}, old{0};
  setup.callbacks["a"].on_input = [&](InputJob& job) -> Status {
    const auto number = static_cast<std::uint8_t>(job.inputs[0].as<std::uint8_t>()[0] + 1);
    const auto behind = static_cast<std::uint8_t>(made.load() - number);
    if (job.job > 0) ++jobs, old += behind > 2 ? 1 : 0; // one frame may have come since, and one is being made
    return {};
  };
  Executive executive = started(std::move(set), std::move(setup));
  std::thread maker([&] {
    for (unsigned number = 1; number <= 180; ++number) {
      camera.make_frames(1);
      made.store(number);
      std::this_thread::sleep_for(10ms);
    }
  });
  executive.wait();
  const Report report = executive.stop();
  maker.join();
  EXPECT_GE(jobs.load(), 5u);
  EXPECT_LE(old.load(), jobs.load() / 2)
      << "the first one, since nobody looked before it, and where the job was held up";
  EXPECT_EQ(channel(report, "x from v4l2:/dev/video7").moved, report.tasks[0].released);
}

/// Another task warms up for longer than the camera's buffers last.
TEST(Channels, GiveFirstJobNewestCameraFrameAfterLongWarmUp) {
  constexpr Duration delay = 50ms; // frames are 10 ms apart, on a shared machine
  // The number of frames during another task's warm-up: many more than there are buffers.
  constexpr unsigned meanwhile = 60;
  hal::test::FakeCamera camera;
  camera.formats = {V4L2_PIX_FMT_RGB24};
  camera.interval = {.numerator = 1, .denominator = 100};
  camera.set_time(hal::now());
  Task seeing = pictured("a", SourceKind::camera, {});
  seeing.inputs[0].from = hal::test::FakeCamera::path;
  seeing.period = seeing.deadline = 20ms;
  seeing.input_delay = delay;
  TaskSet set = set_of({seeing, own_task("b", 20ms)}, 1h);
  set.chains = {{.name = "all", .tasks = {"a"}, .communicate = {}, .max_reaction = {}, .max_age = {}}};
  const std::vector<OwnWorkload::Values> picture{{"x", ElementType::uint8, {1, 3, 8, 8}}};
  ExecutiveSetup setup;
  setup.force = true;
  setup.workloads["a"] = std::make_unique<OwnWorkload>(picture, picture, [](auto...) {});
  std::atomic<unsigned> made{0};
  std::atomic<int> behind{-1}; // the number of frames newer than the first job's
  setup.callbacks["a"].on_input = [&, calls = 0](InputJob& job) mutable -> Status {
    if (++calls == 2) // the first call is the warm-up
      behind = static_cast<std::uint8_t>(made.load() - 1U - job.inputs[0].as<std::uint8_t>()[0]);
    return {};
  };
  setup.workloads["b"] = std::make_unique<OwnWorkload>(picture, picture, [&, first = true](auto...) mutable {
    if (!std::exchange(first, false)) return;
    (void)eventually([&, before = made.load()] { return made >= before + meanwhile; });
  });
  std::jthread maker([&](const std::stop_token& stop) {
    for (; !stop.stop_requested(); std::this_thread::sleep_for(10ms)) {
      ++made;
      camera.set_time(hal::now());
      camera.make_frames(1);
    }
  });
  Executive executive = started(std::move(set), std::move(setup));
  EXPECT_TRUE(eventually([&] { return executive.progress().tasks[0].completed >= 10; }));
  const Report report = executive.stop();
  EXPECT_GE(behind, 0);
  EXPECT_LT(behind, static_cast<int>(meanwhile / 2)) << "some more may come while the machine holds the job up";
  EXPECT_LE(report.tasks[0].input_delay.times.p50, delay + 50ms);
  EXPECT_LE(report.chains[0].age.times.p50, delay + 100ms);
}

TEST(Channels, FingerprintChangesWithPreprocessing) {
  const AddOne workload;
  const auto print = [&](const Preprocessing& preprocessing) {
    TaskSet set;
    set.tasks.push_back(pictured("a", SourceKind::camera, preprocessing));
    return channels::fingerprint(set, 0, workload, {});
  };
  std::vector<std::string> prints{print({}),
                                  print({.channels = ChannelOrder::bgr}),
                                  print({.layout = TensorLayout::nchw}),
                                  print({.layout = TensorLayout::nhwc}),
                                  print({.fit = PictureFit::stretch}),
                                  print({.mean = {1}}),
                                  print({.mean = {1, 1, 2}}),
                                  print({.deviation = {1}}),
                                  print({.scale = {1}})};
  EXPECT_EQ(prints[0], print(Preprocessing{.channels = ChannelOrder::rgb, .fit = PictureFit::letterbox}));
  std::ranges::sort(prints);
  EXPECT_EQ(std::ranges::adjacent_find(prints), prints.end());
}

} // namespace
} // namespace rtexec
