// Tests the executive with a device that can be lost, that alone knows its size, and for which workloads are tuned.
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"
#include "rtexec/runtime/measuring/profiling.hpp"
#include "test/rtexec/runtime/device_doubles.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace rtexec {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Tasks with workload doubles on one device double.
struct DeviceTest : testing::Test {
  std::shared_ptr<DeviceState> device = std::make_shared<DeviceState>();
  std::map<std::string, std::shared_ptr<WorkloadState>> workloads{{"first", std::make_shared<WorkloadState>()},
                                                                  {"second", std::make_shared<WorkloadState>()}};
  TaskSet set = set_of({synthetic("first", 10ms, {.before = {}, .device = 1ms, .after = {}}),
                        synthetic("second", 15ms, {.before = {}, .device = 1ms, .after = {}})},
                       1h);

  executive::Setup setup() {
    executive::Setup made;
    made.force = true;
    made.open_device = opener(device);
    for (const auto& [name, state] : workloads) made.workloads[name] = std::make_unique<WorkloadDouble>(device, state);
    return made;
  }
  Executive created() {
    auto executive = executive::create(set, setup());
    if (!executive) throw std::runtime_error(executive.error().what);
    return std::move(*executive);
  }
};

// ---- device loss ----

TEST_F(DeviceTest, LossEndsRunAndNamesJob) {
  workloads["second"]->loses_device = 3;
  Executive executive = created();
  ASSERT_TRUE(executive.start());
  EXPECT_TRUE(executive.wait(30s)) << "the run lasts an hour";
  const Report report = executive.stop();
  EXPECT_LT(report.elapsed, 20s);
  ASSERT_TRUE(report.device_fault);
  EXPECT_EQ(report.device_fault->task, "second");
  EXPECT_EQ(report.device_fault->job, 3u);
  EXPECT_EQ(report.device_fault->what, "ILLEGAL_ADDRESS (a kernel wrote to constants)");
  EXPECT_EQ(to_string(report.stopped_by), "device fault in task 'second'");
  EXPECT_GE(report.tasks[1].failed, 1u);
  EXPECT_EQ(report.tasks[1].completed, 3u);
  EXPECT_FALSE(report.deadlines_kept());
}

TEST_F(DeviceTest, JobsAfterLossFailWithoutBeingNamedAsCause) {
  workloads["second"]->loses_device = 1;
  Executive executive = created();
  ASSERT_TRUE(executive.start());
  // The test does not wait: the jobs continue, and fail.
  const Instant until = hal::now() + 20s;
  while (executive.progress().tasks[0].failed < 3 && hal::now() < until) hal::sleep_until(hal::now() + 5ms);
  const Report report = executive.stop();
  EXPECT_GE(report.tasks[0].failed, 3u);
  const std::uint64_t ended = report.tasks[0].completed + report.tasks[0].failed;
  EXPECT_GE(report.tasks[0].released, ended);
  EXPECT_LE(report.tasks[0].released, ended + report.tasks[0].unfinished); // and releases whose job never began
  ASSERT_TRUE(report.device_fault);
  EXPECT_EQ(report.device_fault->task, "second");
  EXPECT_EQ(report.device_fault->job, 1u);
  EXPECT_EQ(to_string(report.stopped_by), "device fault in task 'second'");
}

TEST_F(DeviceTest, WorkloadFaultFailsOnlyItsJob) {
  workloads["first"]->faults = 2;
  set.executive.duration = 300ms;
  Executive executive = created();
  ASSERT_TRUE(executive.start());
  executive.wait();
  const Report report = executive.stop();
  EXPECT_EQ(to_string(report.stopped_by), "duration");
  EXPECT_FALSE(report.device_fault);
  EXPECT_EQ(report.tasks[0].failed, 1u);
  EXPECT_GT(report.tasks[0].completed, 2u) << "also after it";
  EXPECT_EQ(report.tasks[1].failed, 0u);
}

TEST_F(DeviceTest, LossIsNotAttributedToEarlierWorkloadFault) {
  workloads["first"]->faults = 1;
  workloads["second"]->loses_device = 5;
  Executive executive = created();
  ASSERT_TRUE(executive.start());
  EXPECT_TRUE(executive.wait(30s));
  const Report report = executive.stop();
  ASSERT_TRUE(report.device_fault);
  EXPECT_EQ(report.device_fault->task, "second");
  EXPECT_EQ(report.device_fault->job, 5u);
}

TEST_F(DeviceTest, RunEndsWhenJobFindsDeviceLost) {
  workloads["first"]->finds_lost = 2;
  Executive executive = created();
  ASSERT_TRUE(executive.start());
  EXPECT_TRUE(executive.wait(30s));
  const Report report = executive.stop();
  ASSERT_TRUE(report.device_fault);
  EXPECT_EQ(to_string(report.stopped_by), "device fault in task 'first'");
  EXPECT_EQ(report.tasks[1].failed, 0u);
}

TEST_F(DeviceTest, LossInWarmUpRefusesStartAndNamesTaskAndCause) {
  workloads["first"]->loses_device = 0;
  Executive executive = created();
  const auto started = executive.start();
  EXPECT_TRUE(fails(started, Errc::device_fault, "task 'first': the device was lost"));
  EXPECT_THAT(problem(started), HasSubstr("ILLEGAL_ADDRESS"));
  EXPECT_THAT(problem(started), Not(HasSubstr("'second'")));
}

TEST_F(DeviceTest, FaultInWarmUpRefusesStartAndNamesItsKind) {
  workloads["second"]->faults = 0;
  Executive executive = created();
  const auto started = executive.start();
  EXPECT_TRUE(fails(started, Errc::device_fault, "task 'second': a fault was reported"));
  EXPECT_THAT(problem(started), HasSubstr("(device fault)"));
}

TEST_F(DeviceTest, StartIsRefusedWhenWorkloadCannotBeBound) {
  workloads["second"]->bind_error = "no kernels for this GPU";
  Executive executive = created();
  EXPECT_TRUE(fails(executive.start(), Errc::unsupported, "task 'second': no kernels for this GPU"));
}

// ---- the device's memory, and lifetimes ----

TEST_F(DeviceTest, ReportBreaksDownDeviceMemoryUse) {
  set.executive.duration = 50ms;
  Executive executive = created();
  EXPECT_FALSE(executive.progress().device);
  ASSERT_TRUE(executive.start());
  executive.wait();
  const Report report = executive.stop();
  ASSERT_TRUE(report.device);
  EXPECT_EQ(report.device->name, "double");
  EXPECT_EQ(report.device->used, Bytes{600 << 20});
  EXPECT_EQ(report.device->context, Bytes{400 << 20});
  EXPECT_EQ(report.device->demand, Bytes{10 << 20}) << "two constants, two states, one scratch, in chunks of 2 MiB";
  EXPECT_EQ(report.device->separate, Bytes{12 << 20});
}

TEST_F(DeviceTest, OutlivesBoundWorkloads) {
  set.executive.duration = 20ms;
  {
    Executive executive = created();
    ASSERT_TRUE(executive.start());
    executive.wait();
  }
  EXPECT_EQ(device->open.load(), 0);
  EXPECT_EQ(workloads["first"]->bound, 1);
  EXPECT_EQ(workloads["first"]->left_device_behind, 0);
}

TEST_F(DeviceTest, LayerObserverIsSetBeforeBinding) {
  set.executive.duration = 20ms;
  executive::Setup with_layers = setup();
  with_layers.trace_layers = true;
  auto executive = executive::create(set, std::move(with_layers));
  ASSERT_TRUE(executive);
  ASSERT_TRUE(executive->start());
  EXPECT_TRUE(workloads["first"]->observed_before_bind);
}

// ---- boards that leave the capacity to the device ----

struct DeviceCapacity : DeviceTest {
  ScratchFolder folder;
  DeviceCapacity() {
    write_text(folder / "gpu.toml",
               "name = 'gpu'\ndevice = 'cuda'\nchunk = '2MiB'\nmemory_policies = ['D']\ncontext_switch = '1us'\n"
               "dispatch = '1us'\nrelease_latency = '1us'\n");
    set.board = (folder / "gpu.toml").string();
    set.executive.duration = 20ms;
  }
};

TEST_F(DeviceCapacity, IsQueriedFromDeviceWhenBoardOmitsIt) {
  Executive executive = created();
  EXPECT_EQ(executive.plan().capacity, Bytes{64 << 20});
  EXPECT_EQ(executive.set().board.capacity, Bytes{64 << 20});
  EXPECT_EQ(device->open.load(), 0) << "it was only asked";
  ASSERT_TRUE(executive.start());
  EXPECT_THAT(device->asked, ElementsAre(Bytes{0}, Bytes{0})) << "what is free may have changed";
}

TEST_F(DeviceCapacity, ErrorNamesMissingSettingWhenDeviceCannotBeOpened) {
  executive::Setup without = setup();
  without.open_device = [](Bytes, Bytes) -> Result<std::unique_ptr<hal::Device>> {
    return fail(Errc::unsupported, "no NVIDIA driver");
  };
  const auto executive = executive::create(set, std::move(without));
  EXPECT_TRUE(fails(executive, Errc::unsupported, "no NVIDIA driver"));
  EXPECT_THAT(problem(executive), HasSubstr("give [device] capacity"));
}

TEST_F(DeviceCapacity, IsTakenFromTaskSetWhenGiven) {
  set.device.capacity = Bytes{32 << 20};
  Executive executive = created();
  EXPECT_EQ(device->opened.load(), 0);
  EXPECT_EQ(executive.plan().capacity, Bytes{32 << 20});
  ASSERT_TRUE(executive.start());
  EXPECT_THAT(device->asked, ElementsAre(Bytes{32 << 20}));
}

// ---- settings for GPUs only ----

TEST(HostBoard, RejectsPrecisionAndSpinCompletion) {
  Task network;
  network.name = "net";
  network.model = __FILE__; // not read
  network.precision = Precision::fp16;
  network.period = network.deadline = 10ms;
  TaskSet set = set_of({network}, 1s);
  set.device.completion = Completion::spin;
  const auto executive = executive::create(set);
  EXPECT_TRUE(fails(executive, Errc::bad_input, "task 'net': precision = \"fp16\" is for GPUs"));
  EXPECT_THAT(problem(executive), HasSubstr("[device] completion = \"spin\" is for boards with device = \"cuda\""));
}

// ---- tuning ----

struct Tuning : DeviceTest {
  ScratchFolder folder;
  Profile profile{.file = {}, .machine = "m", .device = "double", .entries = {}};

  Tuning() {
    set.executive.profile = folder / "p.toml";
    set.executive.duration = 50ms;
    for (auto& [name, state] : workloads) {
      state->fingerprint = "print of " + name;
      state->known_tuning = {name + ".conv1 own tile=8", name + ".conv2 cudnn 1"};
      profile.entries.push_back({.task = name,
                                 .workload = executive::with_tuning(state->fingerprint, state->known_tuning),
                                 .wcet = {.before = 0ns, .device = 2ms, .after = 0ns},
                                 .observed = {.before = 0ns, .device = 1ms, .after = 0ns},
                                 .samples = 1,
                                 .margin = 2,
                                 .tuning = state->known_tuning});
    }
  }
  void need_the_wcet_of_the_first() {
    set.tasks[0].wcet.reset();
    set.tasks[0].workload = WorkloadKind::dnn;
    set.tasks[0].footprint = {};
    set.tasks[0].model = __FILE__; // not read
  }
  void write() const {
    if (const auto written = write_profile(profile, folder / "p.toml"); !written)
      throw std::runtime_error(written.error().what);
  }
};

TEST_F(Tuning, OfProfileIsUsedAndChangesMemoryDemand) {
  write();
  Executive executive = created();
  EXPECT_EQ(workloads["first"]->used, workloads["first"]->known_tuning);
  EXPECT_FALSE(executive.plan().tasks[0].tuning.empty() || executive.plan().tasks[1].tuning.empty());
  EXPECT_EQ(executive.plan().tasks[0].memory.scratch, Bytes{5 << 20}) << "as tuned";
  EXPECT_EQ(executive.plan().tasks[0].wcet.device, 1ms) << "its own";
  EXPECT_TRUE(executive.start());
}

TEST_F(Tuning, OfChangedWorkloadIsIgnored) {
  workloads["first"]->fingerprint = "changed";
  write();
  Executive executive = created();
  EXPECT_TRUE(executive.plan().tasks[0].tuning.empty());
  EXPECT_TRUE(workloads["first"]->used.empty());
  EXPECT_FALSE(executive.plan().tasks[1].tuning.empty());
}

TEST_F(Tuning, OfChangedWorkloadIsStaleWhenProfileWcetIsNeeded) {
  workloads["first"]->fingerprint = "changed";
  need_the_wcet_of_the_first();
  write();
  EXPECT_TRUE(fails(executive::create(set, setup()), Errc::bad_input, "task 'first': its measurement is out of date"));
}

TEST_F(Tuning, IsUsedTogetherWithWcetOfSameProfile) {
  need_the_wcet_of_the_first();
  write();
  Executive executive = created();
  EXPECT_FALSE(executive.plan().tasks[0].tuning.empty());
  EXPECT_EQ(executive.plan().tasks[0].wcet.device, 2ms);
  EXPECT_EQ(executive.plan().measured_on, "double, m");
  EXPECT_EQ(executive.fingerprints()[0], profile.entries[0].workload);
}

/// The WCET of one tuning must never be used for another.
TEST_F(Tuning, EditedByHandMakesWcetStale) {
  need_the_wcet_of_the_first();
  const std::vector<std::string> measured = profile.entries[0].tuning;
  const std::vector<std::vector<std::string>> changes = {
      {}, {measured[0]}, {measured[1], measured[0]}, {measured[0], measured[1] + "0"}};
  for (const auto& changed : changes) {
    profile.entries[0].tuning = changed;
    write();
    EXPECT_TRUE(
        fails(executive::create(set, setup()), Errc::bad_input, "task 'first': its measurement is out of date"));
    EXPECT_TRUE(workloads["first"]->used.empty());
  }
}

TEST_F(Tuning, AddedToProfileByHandIsNotUsed) {
  need_the_wcet_of_the_first();
  profile.entries[0].workload = workloads["first"]->fingerprint; // measured without tuning
  write();
  Executive executive = created();
  EXPECT_TRUE(executive.plan().tasks[0].tuning.empty());
  EXPECT_TRUE(workloads["first"]->used.empty());
  EXPECT_EQ(executive.plan().tasks[0].wcet.device, 2ms) << "of the defaults, which run";
}

TEST_F(Tuning, RefusedByWorkloadIsReportedAsError) {
  profile.entries[1].tuning = {"conv9 gone"};
  profile.entries[1].workload = executive::with_tuning(workloads["second"]->fingerprint, profile.entries[1].tuning);
  write();
  const auto executive = executive::create(set, setup());
  EXPECT_TRUE(fails(executive, Errc::bad_input, "task 'second': the tuning in " + (folder / "p.toml").string()));
  EXPECT_THAT(problem(executive), HasSubstr("no layer 'x' here"));
  EXPECT_THAT(problem(executive), HasSubstr("rtexec profile"));
}

TEST_F(Tuning, MeasuredOnAnotherDeviceRefusesStart) {
  profile.device = "NVIDIA H100";
  write();
  Executive executive = created();
  const auto started = executive.start();
  EXPECT_TRUE(fails(started, Errc::refused, "was measured on device 'NVIDIA H100', but this device is 'double'"));
  EXPECT_THAT(problem(started), HasSubstr("rtexec profile"));
}

TEST_F(Tuning, ProfileOfAnotherDeviceIsAcceptedWithoutTuning) {
  profile.device = "NVIDIA H100";
  for (ProfileEntry& entry : profile.entries) entry.tuning.clear();
  write();
  Executive executive = created();
  EXPECT_TRUE(executive.start());
}

TEST_F(Tuning, IsMeasuredStoredInProfileAndUsedForWcet) {
  write(); // an old profile, which is ignored
  for (auto& [name, state] : workloads) state->known_tuning.push_back("new");
  std::vector<std::string> told;
  const ProfileObserver observer{.tuning =
                                     [&](const std::string& task, std::size_t done, std::size_t wanted) {
                                       told.push_back(task + " " + std::to_string(done) + "/" + std::to_string(wanted));
                                       return true;
                                     },
                                 .measuring = [](std::uint64_t, std::uint64_t) { return true; }};
  const auto measured = executive::measure(set, {.jobs = 5, .margin = 2}, observer, [&] { return setup(); });
  ASSERT_TRUE(measured) << measured.error().what;
  EXPECT_THAT(told, ElementsAre("first 0/3", "first 1/3", "first 2/3", "first 3/3", "second 0/3", "second 1/3",
                                "second 2/3", "second 3/3"));
  EXPECT_EQ(measured->device, "double");
  ASSERT_EQ(measured->entries.size(), 2u);
  for (const ProfileEntry& entry : measured->entries) {
    const WorkloadState& state = *workloads[entry.task];
    EXPECT_EQ(entry.tuning, state.known_tuning);
    EXPECT_EQ(entry.workload, executive::with_tuning(state.fingerprint, state.known_tuning));
    EXPECT_EQ(state.used, state.known_tuning) << "what was measured is what was tuned";
    EXPECT_EQ(state.tuned, 1);
    EXPECT_EQ(state.bound, 3) << "for two runs, and one that times layers";
    EXPECT_GE(entry.samples, 5u);
  }
  EXPECT_EQ(device->open.load(), 0);
  profile = *measured;
  write();
  Executive executive = created();
  EXPECT_FALSE(executive.plan().tasks[0].tuning.empty());
  EXPECT_TRUE(executive.start());
}

TEST_F(Tuning, StopsWhenCancelled) {
  const ProfileObserver observer{
      .tuning = [](const std::string& task, std::size_t, std::size_t) { return task == "first"; },
      .measuring = [](std::uint64_t, std::uint64_t) { return true; }};
  EXPECT_TRUE(fails(executive::measure(set, {}, observer, [&] { return setup(); }), Errc::cancelled,
                    "task 'second': tuning was cancelled"));
  EXPECT_EQ(device->open.load(), 0);
}

TEST_F(Tuning, ReportsCauseWhenDeviceIsLostDuringMeasurement) {
  workloads["second"]->loses_device = 1;
  const ProfileObserver observer{.tuning = [](const std::string&, std::size_t, std::size_t) { return true; },
                                 .measuring = [](std::uint64_t, std::uint64_t) { return true; }};
  EXPECT_TRUE(fails(executive::measure(set, {.jobs = 1000, .margin = 2}, observer, [&] { return setup(); }),
                    Errc::device_fault, "task 'second': the device was lost while it was measured: ILLEGAL_ADDRESS"));
}

} // namespace
} // namespace rtexec
