// Tests runs whose cameras, partners and daemons fail. Each fault has its outcome and its message, and a concurrent
// task keeps its deadlines.
#include "rtexec/runtime/channels/iceoryx.hpp"
#include "rtexec/runtime/channels/iceoryx_binding.hpp"
#include "test/hal/fake_camera.hpp"
#include "test/rtexec/runtime/isolated.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/made_jpeg.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/sanitized.hpp"

#include <rtexec/executive.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>

namespace rtexec {
namespace {

using namespace test;
namespace iceoryx = channels::iceoryx;
using testing::HasSubstr;

constexpr std::int64_t side = 8;
constexpr std::size_t size = 3 * side * side;
const iceoryx::Service in{"rtexec", "faults", "in"}, out{"rtexec", "faults", "out"};

void with_own_daemon(const std::function<void()>& body) {
  if (sanitized || !channels::iceoryx::open_binding()) GTEST_SKIP() << "without iceoryx, or under a sanitizer";
  isolated(body);
}

TaskInput from(SourceKind source, OnStale on_stale = OnStale::reuse) {
  TaskInput input;
  input.source = source;
  input.from = source == SourceKind::camera ? hal::test::FakeCamera::path : "rtexec/faults/in";
  input.on_stale = on_stale;
  return input;
}

/// Makes a set with task "a", which has this input, and task "beside", which does not.
TaskSet set_with(const TaskInput& input) {
  TaskSet set = set_of({own_task("a", 10ms), own_task("beside", 10ms)}, 100s);
  set.tasks[0].inputs = {input};
  return set;
}

Result<Executive> tried(TaskSet set) {
  ExecutiveSetup setup;
  setup.force = true;
  const OwnWorkload::Values picture{"x", ElementType::uint8, {1, 3, side, side}};
  for (const Task& task : set.tasks)
    setup.workloads[task.name] = std::make_unique<OwnWorkload>(
        std::vector{picture}, std::vector{picture},
        [](std::uint64_t, auto from, auto to) { std::ranges::copy(from[0].bytes, to[0].bytes.begin()); });
  auto executive = Executive::create(std::move(set), std::move(setup));
  if (!executive) return executive;
  if (const auto begun = executive->start(); !begun) return Unexpected(begun.error());
  return executive;
}

Executive started(TaskSet set) {
  auto executive = tried(std::move(set));
  EXPECT_EQ(problem(executive), "none");
  return std::move(*executive);
}

/// Returns the report at the end of the run. Task "beside" must have kept its deadlines, except a few on a shared
/// machine.
Report ended(Executive& executive) {
  EXPECT_TRUE(eventually([&] {
    const TaskReport beside = executive.progress().tasks[1];
    return beside.completed > 5 && beside.missed <= 1 + beside.completed / 10;
  })) << executive.progress().tasks[1].missed
      << " missed";
  Report report = executive.stop();
  const TaskReport& beside = report.tasks[1];
  EXPECT_EQ(beside.failed + beside.aborted, 0u);
  EXPECT_EQ(report.stopped_by.cause, StopCause::request);
  return report;
}

const ChannelReport& channel(const Report& report, const std::string& part) {
  for (const ChannelReport& each : report.channels)
    if (each.name.contains(part)) return each;
  ADD_FAILURE() << "no channel " << part;
  return report.channels.front();
}

Status send(iceoryx::Publisher& to, std::uint8_t element = RTEXEC_ELEMENT_UINT8, std::uint64_t edge = side) {
  rtexec_message header{};
  header.element = element;
  header.rank = 4;
  std::ranges::copy(std::array<std::uint64_t, 4>{1, 3, edge, side}, header.shape);
  const std::size_t element_size = element == RTEXEC_ELEMENT_UINT8 ? 1 : 4;
  if (const auto loan = to.loan(Bytes{3 * edge * side * element_size}); !loan) return Unexpected(loan.error());
  return to.publish(header);
}

std::unique_ptr<iceoryx::Publisher> publisher(const iceoryx::Service& service = in, Bytes largest = Bytes{8 * size}) {
  auto made = iceoryx::Publisher::open(service, largest);
  EXPECT_EQ(problem(made), "none");
  return std::move(*made);
}

/// A child process that sends until it is killed.
TEST(ChannelPublisherProcess, SendsUntilKilled) {
  if (peer_argument() == nullptr) return;
  for (const auto to = publisher();; std::this_thread::sleep_for(2ms)) (void)send(*to);
}

// ---- cameras ----

TEST(CameraFault, FailsOnlyJobsOfItsTaskWhenUnplugged) {
  hal::test::FakeCamera camera;
  camera.set_time(hal::now());
  Executive executive = started(set_with(from(SourceKind::camera)));
  camera.make_frames(1);
  ASSERT_TRUE(eventually([&] { return executive.progress().tasks[0].completed >= 3; }));
  camera.unplug();
  ASSERT_TRUE(eventually([&] { return executive.progress().tasks[0].failed >= 3; }));
  const Report report = ended(executive);
  EXPECT_EQ(report.tasks[0].failure, Errc::io_error) << "no device of jobs was lost";
  EXPECT_FALSE(report.device_fault);
  EXPECT_THAT(channel(report, "v4l2").failure, HasSubstr("the camera is gone"));
}

TEST(CameraFault, FailsOneJobPerPeriodWhenUnpluggedCameraIsTrigger) {
  hal::test::FakeCamera camera;
  camera.set_time(hal::now());
  TaskSet set = set_with(from(SourceKind::camera));
  set.tasks[0].trigger = Trigger::input;
  Executive executive = started(std::move(set));
  camera.make_frames(1);
  ASSERT_TRUE(eventually([&] { return executive.progress().tasks[0].completed == 1; }));
  const Instant begin = hal::now();
  camera.unplug();
  ASSERT_TRUE(eventually([&] { return executive.progress().tasks[0].failed >= 10; }));
  EXPECT_GE(hal::now() - begin, 80ms) << "no busy loop";
  (void)ended(executive);
}

TEST(CameraFault, ReportsLostFramesAndRemedyWhenBuffersAreTooFew) {
  hal::test::FakeCamera camera;
  camera.interval = {.numerator = 1, .denominator = 1000};
  camera.max_buffers = 6;
  camera.set_time(hal::now());
  Executive executive = started(set_with(from(SourceKind::camera)));
  const auto failure = [&] { return channel(executive.progress(), "v4l2").failure; };
  ASSERT_TRUE(eventually([&] {
    camera.make_frames(10);
    return failure().contains(
               "frames lost; the driver's 6 buffers hold 4.00 ms of frames, but the task may poll only every 20.0 ms: "
               "set a longer interval to get newer frames") &&
           executive.progress().tasks[1].completed > 5;
  })) << failure();
  (void)ended(executive);
}

/// A frame truncated by a bad cable is counted, and the next one is used.
TEST(CameraFault, TruncatedFrameIsCountedAndGivesNoNewValue) {
  hal::test::FakeCamera camera;
  camera.formats = {V4L2_PIX_FMT_MJPEG};
  camera.width = camera.height = 32;
  camera.set_time(hal::now());
  const auto whole = jpeg(std::vector<std::uint8_t>(32 * 32 * 3, 200), {.width = 32, .height = 32});
  std::atomic<std::size_t> length{whole.size()};
  camera.paint = [&](std::span<std::byte> into) { std::ranges::copy(whole, into.begin()); };
  camera.spoil = [&](v4l2_buffer& buffer) { buffer.bytesused = static_cast<std::uint32_t>(length.load()); };
  Executive executive = started(set_with(from(SourceKind::camera, OnStale::skip)));
  const auto task = [&] { return executive.progress().tasks[0]; };
  camera.make_frames(1);
  ASSERT_TRUE(eventually([&] { return task().completed == 1; }));
  length = whole.size() / 2;
  camera.make_frames(1);
  ASSERT_TRUE(eventually([&] { return channel(executive.progress(), "v4l2").failure == "1 not decoded"; }));
  EXPECT_EQ(task().completed, 1u);
  length = whole.size();
  camera.make_frames(1);
  ASSERT_TRUE(eventually([&] { return task().completed == 2 && executive.progress().tasks[1].completed > 5; }));
  const Report report = ended(executive);
  EXPECT_EQ(report.tasks[0].failed, 0u);
  EXPECT_EQ(channel(report, "v4l2").moved, 2u);
}

// ---- stale inputs ----

struct StaleInput : testing::TestWithParam<std::tuple<SourceKind, OnStale>> {};
std::string spelled(const testing::TestParamInfo<StaleInput::ParamType>& info) {
  const auto [source, on_stale] = info.param;
  return std::string(source == SourceKind::camera ? "camera_" : "messages_") + (on_stale == OnStale::reuse  ? "reuse"
                                                                                : on_stale == OnStale::skip ? "skip"
                                                                                                            : "miss");
}
INSTANTIATE_TEST_SUITE_P(Inputs, StaleInput,
                         testing::Combine(testing::Values(SourceKind::camera, SourceKind::iceoryx),
                                          testing::Values(OnStale::reuse, OnStale::skip, OnStale::miss)),
                         spelled);

/// The input has nothing for a while, then one value, and nothing again.
TEST_P(StaleInput, FollowsOnStalePolicy) {
  const auto [source, on_stale] = GetParam();
  const auto run = [source, on_stale] {
    std::optional<hal::test::FakeCamera> camera;
    std::unique_ptr<iceoryx::Publisher> messages;
    if (source == SourceKind::camera) camera.emplace().set_time(hal::now());
    else messages = publisher();
    Executive executive = started(set_with(from(source, on_stale)));
    const auto task = [&] { return executive.progress().tasks[0]; };
    const bool miss = on_stale == OnStale::miss;
    ASSERT_TRUE(eventually([&] { return (miss ? task().failed : task().skipped) >= 5; }))
        << "before anything came, there is nothing to reuse";
    EXPECT_EQ(task().completed, 0u);
    if (camera) camera->make_frames(1);
    else EXPECT_TRUE(send(*messages));
    ASSERT_TRUE(eventually([&] { return task().completed >= 1; }));
    const auto looks = [&] { return task().released + task().skipped; };
    const std::uint64_t before = looks();
    const bool reuse = on_stale == OnStale::reuse;
    ASSERT_TRUE(eventually([&] { return looks() > before + 5 && (!reuse || task().completed >= 5); }));
    const Report report = ended(executive);
    const TaskReport& own = report.tasks[0];
    const ChannelReport& input = report.channels.front();
    EXPECT_EQ(input.moved, 1u);
    // Each release but one found nothing new, unless it was skipped because the previous job was late.
    EXPECT_LE(input.stale, own.released + own.skipped - 1);
    EXPECT_GE(input.stale, on_stale == OnStale::skip ? 5 : own.released - 1);
    if (on_stale == OnStale::reuse) {
      EXPECT_GE(own.completed, 5u);
    } else EXPECT_EQ(own.completed, 1u);
    EXPECT_EQ(own.failed > 0, miss);
    if (miss) { EXPECT_EQ(own.failure, Errc::stale); }
  };
  if (source == SourceKind::camera) return run();
  with_own_daemon(run);
}

// ---- messages ----

TEST(MessageFault, KeepsLastValueWhenProducerIsKilled) {
  with_own_daemon([] {
    const auto keeps_the_daemon = publisher(out);
    auto producer = std::make_unique<OtherProcess>("ChannelPublisherProcess.SendsUntilKilled", "send");
    Executive executive = started(set_with(from(SourceKind::iceoryx)));
    const auto moved = [&] { return executive.progress().channels.front().moved; };
    ASSERT_TRUE(eventually([&] { return moved() >= 5; }));
    producer->kill();
    const auto stale = [&] { return executive.progress().channels.front().stale; };
    const std::uint64_t before = moved(), old = stale();
    ASSERT_TRUE(eventually([&] { return stale() > old + 5; }));
    EXPECT_LE(moved(), before + 2);
    producer = std::make_unique<OtherProcess>("ChannelPublisherProcess.SendsUntilKilled", "send");
    ASSERT_TRUE(eventually([&] { return moved() >= before + 10; })) << "the next one is heard";
    const Report report = ended(executive);
    EXPECT_EQ(report.tasks[0].failed, 0u);
    EXPECT_GT(report.channels.front().stale, 5u);
  });
}

TEST(MessageFault, FailsJobThatReceivesWrongSizeOrType) {
  with_own_daemon([] {
    const auto other = publisher();
    Executive executive = started(set_with(from(SourceKind::iceoryx)));
    const auto failed = [&] { return executive.progress().tasks[0].failed; };
    ASSERT_TRUE(eventually([&] { return executive.progress().tasks[0].skipped > 0; }));
    std::uint64_t wrong = 0;
    for (const auto& [element, edge] :
         {std::pair(RTEXEC_ELEMENT_FLOAT32, side), std::pair(RTEXEC_ELEMENT_UINT8, side / 2)}) {
      EXPECT_TRUE(send(*other, static_cast<std::uint8_t>(element), static_cast<std::uint64_t>(edge)));
      ++wrong;
      ASSERT_TRUE(eventually([&] { return failed() == wrong; }));
    }
    EXPECT_EQ(executive.progress().tasks[0].completed, 0u) << "nothing that fits has come yet";
    EXPECT_TRUE(send(*other));
    ASSERT_TRUE(eventually([&] { return executive.progress().tasks[0].completed >= 3; }));
    const Report report = ended(executive);
    EXPECT_EQ(report.tasks[0].failed, wrong);
    EXPECT_EQ(report.tasks[0].failure, Errc::bad_input);
    EXPECT_THAT(report.channels.front().failure,
                HasSubstr("2 messages were not uint8 [1, 3, 8, 8], and not a picture of uint8 [height, width, 3]"));
  });
}

/// Invalid messages during the start do not prevent a run from starting.
TEST(MessageFault, DoesNotPreventStartWhenTypeIsWrong) {
  with_own_daemon([] {
    const auto other = publisher();
    std::atomic<bool> ends{false};
    std::thread sends([&] {
      for (; !ends; std::this_thread::sleep_for(1ms)) (void)send(*other, RTEXEC_ELEMENT_FLOAT32);
    });
    auto executive = tried(set_with(from(SourceKind::iceoryx)));
    EXPECT_EQ(problem(executive), "none");
    if (executive) {
      EXPECT_TRUE(eventually([&] { return executive->progress().tasks[1].completed > 10; }));
      (void)ended(*executive);
    }
    ends = true;
    sends.join();
  });
}

TEST(MessageFault, OfSlowSubscriberLosesMessagesButDelaysNoJob) {
  with_own_daemon([] {
    TaskSet set = set_with({});
    set.tasks[0].outputs = {{.tensor = "x", .sink = SinkKind::iceoryx, .to = "rtexec/faults/out"}};
    Executive executive = started(std::move(set));
    auto slow = std::move(*iceoryx::Subscriber::open(out));
    ASSERT_TRUE(eventually([&] { return *slow->newest(); })) << "it is heard";
    const auto completed = [&] { return executive.progress().tasks[0].completed; };
    const auto kept = [&] { return slow->counts().messages + slow->counts().passed_over; };
    const std::uint64_t jobs = completed(), before = kept();
    ASSERT_TRUE(eventually([&] { return completed() >= jobs + 30; }));
    EXPECT_TRUE(*slow->newest());
    EXPECT_EQ(kept(), before + 2);
    const Report report = ended(executive);
    EXPECT_EQ(channel(report, "iceoryx").moved, report.tasks[0].completed);
  });
}

TEST(MessageFault, DropsAndReportsResultsWhenDaemonMemoryIsFull) {
  with_own_daemon([] {
    constexpr Bytes large{4'000'000};
    TaskSet set = set_with({});
    set.tasks[0].outputs = {{.tensor = "y", .sink = SinkKind::iceoryx, .to = "rtexec/faults/out"}};
    set.tasks[0].period = set.tasks[0].deadline = 50ms;
    ExecutiveSetup setup;
    setup.force = true;
    const OwnWorkload::Values number{"x", ElementType::uint8, {1}};
    setup.workloads["a"] = std::make_unique<OwnWorkload>(
        std::vector{number}, std::vector<OwnWorkload::Values>{{"y", ElementType::uint8, {4'000'000}}},
        [](std::uint64_t, auto, auto) {});
    setup.workloads["beside"] =
        std::make_unique<OwnWorkload>(std::vector{number}, std::vector{number}, [](std::uint64_t, auto, auto) {});
    std::vector<std::unique_ptr<iceoryx::Publisher>> greedy; // ten chunks exist
    for (int i = 0; i < 10; ++i) greedy.push_back(publisher({"rtexec", "greedy", std::to_string(i)}, large));
    auto executive = Executive::create(std::move(set), std::move(setup));
    ASSERT_EQ(problem(executive), "none");
    ASSERT_EQ(problem(executive->start()), "none");
    const auto slow = std::move(*iceoryx::Subscriber::open(out)); // keeps a sample that the publisher would reuse
    ASSERT_TRUE(eventually([&] { return *slow->newest(); }));
    const auto dropped = [&] { return executive->progress().channels.front().dropped; };
    ASSERT_TRUE(eventually([&] {
      for (const auto& each : greedy) (void)each->loan(large);
      return dropped() > 0;
    }));
    ASSERT_TRUE(eventually([&] { return executive->progress().tasks[1].completed > 10; }));
    const Report report = ended(*executive);
    EXPECT_EQ(report.tasks[0].failed, 0u);
    EXPECT_THAT(report.channels.front().failure, HasSubstr("all of iceoryx's chunks of this size were in use"));
  });
}

TEST(MessageFault, RefusesStartWhenDaemonCannotBeStarted) {
  with_own_daemon([] {
    ::setenv("PATH", "/nonexistent", 1);
    const std::string refused = problem(tried(set_with(from(SourceKind::iceoryx))));
    EXPECT_THAT(refused, HasSubstr("task 'a': x from iceoryx:rtexec/faults/in: "));
    EXPECT_THAT(refused, HasSubstr("apt-get install iceoryx"));
  });
}

/// Kills the daemon that this process started, a child of this thread.
void kill_own_daemon() {
  std::istringstream children(read_text("/proc/self/task/" + std::to_string(::gettid()) + "/children"));
  pid_t child = 0, daemon = 0;
  while (children >> child)
    if (read_text("/proc/" + std::to_string(child) + "/comm") == "iox-roudi\n") daemon = child;
  ASSERT_GT(daemon, 0);
  ASSERT_EQ(::kill(daemon, SIGKILL), 0);
}

TEST(MessageFault, KeepsExistingConnectionsWhenDaemonIsKilled) {
  with_own_daemon([] {
    const auto other = publisher();
    Executive executive = started(set_with(from(SourceKind::iceoryx)));
    const auto moved = [&] { return executive.progress().channels.front().moved; };
    ASSERT_TRUE(eventually([&] { return send(*other) && moved() >= 1; }));
    kill_own_daemon();
    const std::uint64_t before = moved();
    ASSERT_TRUE(eventually([&] { return send(*other) && moved() >= before + 3; }));
    ASSERT_TRUE(eventually([&] { return executive.progress().tasks[1].completed > 10; }));
    EXPECT_EQ(ended(executive).tasks[0].failed, 0u);
  });
}

} // namespace
} // namespace rtexec
