// Tests the requirements of a run on the machine: all refusals at once, in the words of the run that refuses.
#include "rtexec/runtime/executive/requirements.hpp"
#include <rtexec/executive.hpp>

#include "hal/system.hpp"
#include "tasks/engine/models/models.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace rtexec::executive {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

TaskSet small_set() {
  TaskSet set = set_of({synthetic("a", 50ms, {.before = {}, .device = 1ms, .after = {}})}, 100ms);
  set.executive.allow_degraded = false;
  return set;
}

std::string told(const std::vector<Requirement>& needs) {
  std::string text;
  for (const Requirement& need : needs)
    if (need.refused) text += need.subject + ": " + need.state + '\n';
  return text;
}

TEST(RunRequirements, ReportAllRefusalsTogetherWithRemedies) {
  Requirement dispensable = refused("idle states", {Errc::refused, "no access\nmake a rule"});
  Requirement device = refused("device", {Errc::unsupported, "none\ninstall one"});
  device.indispensable = true;
  const std::vector<Requirement> both{given("cores", "all"), dispensable, device};
  const auto refusal = refusal_of(both, false);
  EXPECT_TRUE(fails(refusal, Errc::refused, "idle states: no access\n  make a rule\ndevice: none\n  install one"));
  EXPECT_THAT(refusal.error().what, Not(HasSubstr("allow_degraded"))) << "it would not help";
  EXPECT_TRUE(fails(refusal_of({dispensable}, false), Errc::refused, "allow_degraded = true"));
  EXPECT_TRUE(fails(refusal_of(both, true), Errc::unsupported, "device: none"));
  EXPECT_TRUE(refusal_of({dispensable}, true));
  EXPECT_TRUE(refusal_of({given("cores", "all")}, false));
  dispensable.instead = "cores may sleep";
  EXPECT_THAT(degradations({given("cores", "all"), dispensable}), testing::ElementsAre("cores may sleep: no access"));
}

TEST(RunRequirements, AreReleasedAfterCheckWithoutRun) {
  // Another program may have the cores for a while.
  EXPECT_TRUE(eventually([] {
    static_cast<void>(find_needs(small_set()));
    const auto again = find_needs(small_set());
    return again && again->size() >= 7 && !told(*again).contains("free cores");
  }));
}

/// The second compute engine begins only with the run.
TEST(RunRequirements, CheckAcceptsCoRunningTaskSet) {
  TaskSet set = small_set();
  set.device.co_run = true;
  Task executes = set.tasks[0];
  executes.workload = WorkloadKind::vector_add;
  executes.size = 1000;
  executes.footprint.reset();
  executes.memory_policy = MemoryPolicy::device;
  executes.co_run_wcet = 2ms;
  Task waits = executes;
  waits.name = "waits";
  waits.memory_policy = MemoryPolicy::managed;
  waits.co_run_wcet = 10ms;
  waits.mapping_idle = 8ms;
  set.tasks = {executes, waits};
  EXPECT_TRUE(find_needs(set));
}

TEST(RunRequirements, CheckReportsSameRefusalsAsStartOfRun) {
  static hal::System poor = hal::linux_system();
  poor.mlockall = [](int) {
    errno = ENOMEM;
    return -1;
  };
  poor.open = [](const char* path, int flags) {
    if (std::strcmp(path, "/dev/cpu_dma_latency") != 0) return hal::linux_system().open(path, flags);
    errno = EACCES;
    return -1;
  };
  const hal::SystemOverride override(poor);
  const auto needs = find_needs(small_set());
  ASSERT_TRUE(needs) << problem(needs);
  auto executive = Executive::create(small_set());
  ASSERT_TRUE(executive) << problem(executive);
  const auto started = executive->start();
  for (const char* refusal : {"locked memory: locking the memory of the process failed: Cannot allocate memory",
                              "opening /dev/cpu_dma_latency failed: Permission denied"}) {
    EXPECT_THAT(told(*needs), HasSubstr(refusal));
    EXPECT_TRUE(fails(started, Errc::refused, refusal));
  }
}

/// The messages are those with which a run would end.
TEST(RunRequirements, CheckTriesInputsAndOutputsWithoutLeavingFiles) {
  const ScratchFolder folder;
  ASSERT_EQ(problem(tasks::write_model("mobilenet_v3", {.size = 32}, folder / "net.onnx")), "none");
  write_text(folder / "file", "");
  std::filesystem::create_directories(folder / "old" / "latest");
  TaskSet set = small_set();
  const auto add = [&](const char* name, const std::string& out) {
    Task& task = set.tasks.emplace_back(synthetic(name, 500ms, {.before = 1ms, .device = 1ms, .after = 1ms}));
    task.workload = WorkloadKind::dnn;
    task.footprint.reset();
    task.swappable.reset();
    task.model = folder / "net.onnx";
    task.outputs = {{.tensor = {}, .sink = SinkKind::files, .to = (folder / out).string()}};
  };
  add("b", "file/out");
  add("c", "old");
  add("d", "new/out");
  set.tasks[1].inputs = {{.tensor = {}, .source = SourceKind::camera, .from = "/dev/no-camera"}};
  const auto needs = find_needs(set);
  ASSERT_TRUE(needs) << problem(needs);
  const std::string camera =
      "task 'b', input from v4l2:/dev/no-camera: opening the camera /dev/no-camera failed: No such";
  EXPECT_THAT(told(*needs), HasSubstr(camera));
  EXPECT_THAT(told(*needs), HasSubstr("task 'b', file:" + (folder / "file/out").string()));
  EXPECT_THAT(told(*needs), HasSubstr("old/latest: must be a link"));
  EXPECT_THAT(told(*needs), Not(HasSubstr("task 'd'")));
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
  EXPECT_THAT(refusal_of(*needs, true).error().what, HasSubstr(camera)) << "no run does without";
}

TEST(RunRequirements, IncludeMemoryThatRunWillLock) {
  static hal::System limited = hal::linux_system();
  limited.mmap = [](void* address, std::size_t size, int protection, int flags, int file, off_t offset) -> void* {
    if (protection != PROT_NONE || (flags & MAP_ANONYMOUS) == 0)
      return hal::linux_system().mmap(address, size, protection, flags, file, offset);
    errno = EAGAIN;
    return MAP_FAILED;
  };
  const hal::SystemOverride override(limited);
  const auto needs = find_needs(small_set());
  ASSERT_TRUE(needs) << problem(needs);
  EXPECT_THAT(told(*needs), HasSubstr("for the memory that the run locks failed: Resource temporarily unavailable"));
}

} // namespace
} // namespace rtexec::executive
