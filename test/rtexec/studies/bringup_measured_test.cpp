// Tests the measured items of a bring-up: the answer of each for given observations, and that each can run on this
// machine.
#include "rtexec/studies/bringup/bandwidth_items.hpp"
#include "rtexec/studies/bringup/child.hpp"
#include "rtexec/studies/bringup/counter_items.hpp"
#include "rtexec/studies/bringup/memory_items.hpp"
#include "rtexec/studies/bringup/device_rule_items.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"
#include "rtexec/studies/bringup/read.hpp"
#include "rtexec/studies/bringup/regulation_items.hpp"
#include "rtexec/studies/bringup/release_latency.hpp"
#include "hal/cuda/cuda_device.hpp"
#include "rtexec/studies/bringup/swap_store.hpp"
#include "rtexec/studies/bringup/task_set_items.hpp"
#include "rtexec/studies/bringup/trace_cost.hpp"
#include "test/hal/digest_kernel.hpp"
#include "test/hal/fake_cuda_driver.hpp"
#include "test/hal/gpu.hpp"
#include "test/rtexec/runtime/device_doubles.hpp"
#include "test/rtexec/runtime/isolated.hpp"
#include "test/rtexec/studies/study_doubles.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <csignal>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iostream>
#include <stdexcept>
#include <unistd.h>

namespace rtexec::bringup {
namespace {

using namespace std::chrono_literals;
using test::fails;
using test::ScratchFolder;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Subject subject_in(const ScratchFolder& folder) {
  Subject subject{.board = read_board("host").value(), .machine = hal::Machine(folder.path()), .folder = folder.path()};
  subject.length = 200ms;
  return subject;
}

double value_of(const Answer& answer, std::string_view name) {
  const auto found = std::ranges::find(answer.figures, name, &Figure::name);
  return found == answer.figures.end() ? -1 : found->value;
}

/// Checks the properties of every answer.
void expect_sound(const Answer& answer) {
  EXPECT_THAT(answer.state, Not(IsEmpty()));
  EXPECT_EQ(answer.outcome == Outcome::failed, !answer.advice.empty()) << answer.state << " / " << answer.advice;
}

// ---- release latency ----

std::vector<Duration> many(Duration each, Duration last) {
  std::vector<Duration> late(200, each);
  late.push_back(last);
  return late;
}

TEST(BringupLatency, PassesWithinLatencyChargedByAdmission) {
  const ScratchFolder folder;
  const Subject subject = subject_in(folder);
  const MeasuredLateness measured{.cores = {{.core = 1, .here = many(20us, 90us), .peer = many(20us, 80us)},
                                            {.core = 3, .here = many(40us, 100us), .peer = many(41us, 80us)}},
                                  .scheduling = "FIFO 90",
                                  .no_peer = {}};
  const Answer answer = judge(measured, subject);
  EXPECT_EQ(answer.outcome, Outcome::passed) << answer.state;
  EXPECT_THAT(answer.state,
              AllOf(HasSubstr("402 releases"), HasSubstr("cores 1,3"), HasSubstr("longest 100 us (core 3)")));
  EXPECT_EQ(value_of(answer, "median of core 3"), 40);
  EXPECT_EQ(value_of(answer, "longest of core 1"), 90);
  EXPECT_EQ(value_of(answer, "p99 to cyclictest's"), 1); // 41 us each, as cyclictest rounds
  expect_sound(answer);
}

TEST(BringupLatency, FailsAboveChargeAndAdvisesBoardFileValue) {
  const ScratchFolder folder;
  const Subject subject = subject_in(folder);
  const MeasuredLateness measured{
      .cores = {{.core = 1, .here = many(20us, 201us)}}, .scheduling = "FIFO 90", .no_peer = "it is not installed"};
  const Answer answer = judge(measured, subject);
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.state, HasSubstr("not compared with cyclictest: it is not installed"));
  EXPECT_THAT(answer.advice, AllOf(HasSubstr("release_latency = \"250us\""), HasSubstr("PREEMPT_RT"),
                                   HasSubstr("isolcpus"), Not(HasSubstr("keep_awake")), Not(HasSubstr("hypervisor"))));
  expect_sound(answer);
}

TEST(BringupLatency, OmitsAdviceThatTheMachineAlreadyFollows) {
  const ScratchFolder folder;
  test::write_text(folder / "/sys/kernel/realtime", "1\n");
  test::write_text(folder / "/sys/devices/system/cpu/isolated", "1\n");
  test::write_text(folder / "/sys/devices/system/cpu/online", "0-1\n");
  const Answer answer = judge(
      {.cores = {{.core = 1, .here = many(20us, 201us)}}, .scheduling = "FIFO 90", .no_peer = "x"}, subject_in(folder));
  EXPECT_THAT(answer.advice, AllOf(Not(HasSubstr("PREEMPT_RT")), Not(HasSubstr("isolcpus"))));
}

TEST(BringupLatency, ReportsTuningMissingDuringMeasurement) {
  const ScratchFolder folder;
  test::write_text(folder / "/proc/cpuinfo", "flags\t\t: fpu hypervisor sse\n");
  const MeasuredLateness measured{.cores = {{.core = 1, .here = many(20us, 201us)}},
                                  .scheduling = "FIFO 90",
                                  .no_peer = "x",
                                  .without = "deep idle states: opening /dev/cpu_dma_latency failed"};
  const Answer answer = judge(measured, subject_in(folder));
  EXPECT_THAT(answer.state, HasSubstr("different from a run without degradation: deep idle states"));
  EXPECT_THAT(answer.advice, AllOf(HasSubstr("lacks on this machine: deep idle states"), HasSubstr("keep_awake = true"),
                                   HasSubstr("platform_stall = \"130us\"")));
}

TEST(BringupLatency, FailsForCoreOfLongOrdinaryLatencyDespiteRareStallOfAnother) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.board.platform_stall = 4ms;
  const MeasuredLateness measured{.cores = {{.core = 1, .here = many(20us, 3ms)}, {.core = 2, .here = many(1ms, 2ms)}},
                                  .scheduling = "FIFO 90",
                                  .no_peer = "x"};
  const Answer answer = judge(measured, subject);
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.advice, HasSubstr("release_latency = \"2.4ms\""));
}

TEST(BringupLatency, ReportsTimeStolenByHypervisor) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  const MeasuredLateness measured{.cores = {{.core = 1, .here = many(20us, 3ms), .peer = {}, .stolen = 10ms}},
                                  .scheduling = "FIFO 90",
                                  .no_peer = "x"};
  const Answer failed = judge(measured, subject);
  EXPECT_EQ(failed.outcome, Outcome::failed);
  EXPECT_THAT(failed.advice,
              AllOf(HasSubstr("hypervisor took 10.0 ms of core 1"), HasSubstr("platform_stall = \"3.48ms\"")));
  MeasuredLateness own = measured;
  own.cores.front().stolen = 0ms;
  EXPECT_THAT(judge(own, subject).advice,
              AllOf(HasSubstr("release_latency = \"3.6ms\""), Not(HasSubstr("hypervisor"))));
  subject.board.platform_stall = 4ms;
  const Answer passed = judge(measured, subject);
  EXPECT_EQ(passed.outcome, Outcome::passed) << "the board's file allows for it";
  EXPECT_THAT(passed.state, AllOf(HasSubstr("4.00 ms for platform stalls"), HasSubstr("hypervisor took 10.0 ms")));
  own.cores.front().here.assign(100, 3ms);
  EXPECT_EQ(judge(own, subject).outcome, Outcome::failed) << "no stops are so frequent";
}

TEST(BringupTiming, IsSkippedOnEmulator) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.emulated = true;
  subject.going_on = []() -> bool { throw std::logic_error("it measures"); };
  for (const auto item : {release_latency, memory_bandwidth}) {
    EXPECT_EQ(item(subject).outcome, Outcome::skipped);
    EXPECT_THAT(item(subject).state, HasSubstr("emulated"));
  }
}

TEST(BringupLatency, ReadsTheHistogramOfCyclictest) {
  constexpr std::string_view text =
      "# /dev/cpu_dma_latency set to 0us\n"
      "T: 0 (10) P:90 I:1000 C: 5 Min: 3\n"
      "# Histogram\n000000 000000\t000000\n000003 000002\t000000\n000004 000000\t000001\n"
      "# Total: 000000002 000000002\n"
      "# Max Latencies: 00003 00777\n# Histogram Overflows: 00000 00001\n";
  const auto found = parse_cyclictest(text, 2);
  ASSERT_TRUE(found) << test::problem(found);
  EXPECT_THAT(found->at(0), ElementsAre(4us, 4us));
  EXPECT_THAT(found->at(1), ElementsAre(5us, 778us)) << "what is beyond the histogram counts as the longest";
  EXPECT_TRUE(fails(parse_cyclictest("Unable to change scheduling policy!\n", 2), Errc::bad_input, "Unable to change"));
}

TEST(BringupLatency, MeasuresReleaseLatencyOfThisMachine) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.machine = hal::Machine();
  const Answer answer = release_latency(subject);
  expect_sound(answer);
  if (answer.state.find("releases") == std::string::npos) GTEST_SKIP() << answer.state;
  EXPECT_FALSE(answer.figures.empty());
}

// ---- counters ----

CounterMachine counters_of(std::vector<unsigned> online, std::function<bool(const std::string&, unsigned)> counts) {
  return {.online = std::move(online),
          .is_virtual = false,
          .try_counter = [counts = std::move(counts)](const CounterFacts&, const std::string& event, unsigned core) {
            const bool good = counts(event, core);
            return study::CounterTrial{.core = core,
                                       .event = event,
                                       .counts = good,
                                       .overflows = good && event != "polled",
                                       .what = good ? "counted" : "0 counted"};
          }};
}

Subject two_clusters(const ScratchFolder& folder) {
  Subject subject = subject_in(folder);
  subject.board.core_kinds = {{.name = "big", .cores = {0, 1}, .cluster = 0},
                              {.name = "small", .cores = {2, 3}, .cluster = 1}};
  subject.board.counters = {{.event = "r17", .write_event = {}, .cores = {}}};
  return subject;
}

TEST(BringupCounters, TriesOneCoreOfEachCluster) {
  const ScratchFolder folder;
  std::vector<unsigned> tried;
  const auto machine =
      counters_of({0, 1, 2, 3}, [&](const std::string&, unsigned core) { return tried.push_back(core), true; });
  const Answer answer = prove_counters(two_clusters(folder), machine);
  EXPECT_EQ(answer.outcome, Outcome::passed);
  EXPECT_THAT(tried, ElementsAre(0, 2));
  EXPECT_THAT(answer.state, AllOf(HasSubstr("big cores, cluster 0: core 0, r17: counted"),
                                  HasSubstr("small cores, cluster 1: core 2")));
  EXPECT_EQ(value_of(answer, "counters proved"), 2);
  expect_sound(answer);
}

TEST(BringupCounters, FailsWhenOneCounterDoesNotCount) {
  const ScratchFolder folder;
  auto machine =
      counters_of({0, 1, 2, 3}, [](const std::string& event, unsigned core) { return event == "cycles" || core < 2; });
  const Answer answer = prove_counters(two_clusters(folder), machine);
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.advice, AllOf(HasSubstr("[[counter]]"), HasSubstr("no budget")));
  machine.is_virtual = true;
  EXPECT_EQ(prove_counters(two_clusters(folder), machine).outcome, Outcome::failed) << "it has a PMU";
  expect_sound(answer);
}

TEST(BringupCounters, SkipsMissingPmuOnlyInVirtualMachine) {
  const ScratchFolder folder;
  auto machine = counters_of({0, 1}, [](const std::string&, unsigned) { return false; });
  const Answer board = prove_counters(two_clusters(folder), machine);
  EXPECT_EQ(board.outcome, Outcome::failed);
  EXPECT_THAT(board.advice, HasSubstr("CONFIG_HW_PERF_EVENTS"));
  machine.is_virtual = true;
  const Answer guest = prove_counters(two_clusters(folder), machine);
  EXPECT_EQ(guest.outcome, Outcome::skipped);
  EXPECT_THAT(guest.state, HasSubstr("no PMU in this virtual machine"));
}

TEST(BringupCounters, IsSkippedOnEmulator) {
  const ScratchFolder folder;
  Subject subject = two_clusters(folder);
  subject.emulated = true;
  const auto machine = counters_of({0, 1}, [](const std::string&, unsigned) { return true; });
  EXPECT_EQ(prove_counters(subject, machine).outcome, Outcome::skipped);
}

TEST(BringupCounters, ReportsCountersWithoutOverflowAsPolled) {
  const ScratchFolder folder;
  Subject subject = two_clusters(folder);
  subject.board.counters = {{.event = "polled", .write_event = "writes", .cores = {}}};
  const Answer answer = prove_counters(subject, counters_of({0}, [](const std::string&, unsigned) { return true; }));
  EXPECT_EQ(answer.outcome, Outcome::passed);
  EXPECT_THAT(answer.state, AllOf(HasSubstr("writes: counted"), HasSubstr("polled")));
  EXPECT_EQ(value_of(answer, "counters that report overflows"), 1);
}

// ---- bandwidth ----

Answer bandwidth_of(const Subject& subject, test::SharedMemory& memory) {
  study::CalibratedCores cores;
  cores.cores = {0, 1, 2};
  cores.corun = memory.corun();
  cores.now = [&] { return memory.now(); };
  cores.rest = [&](Duration length) { memory.advance(length); };
  return measure_bandwidth(subject, std::move(cores));
}

TEST(BringupBandwidth, ComparesMeasuredBandwidthWithBoardFile) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  test::SharedMemory memory; // 4 GB/s each, 9 GB/s together
  const Answer unsaid = bandwidth_of(subject, memory);
  EXPECT_EQ(unsaid.outcome, Outcome::skipped) << "against nothing";
  EXPECT_THAT(unsaid.state, AllOf(HasSubstr("4.00 GB/s alone"), HasSubstr("9.00 GB/s"), HasSubstr("no [memory]")));
  EXPECT_NEAR(value_of(unsaid, "core 2 alone"), 4000, 1);
  EXPECT_NEAR(value_of(unsaid, "all cores together"), 9000, 1);
  subject.board.memory = {.core_bandwidth = test::MB(4300), .saturation = test::MB(8300)};
  EXPECT_EQ(bandwidth_of(subject, memory).outcome, Outcome::passed) << "within a tenth";
  subject.board.memory.core_bandwidth = test::MB(5000);
  const Answer less = bandwidth_of(subject, memory);
  EXPECT_EQ(less.outcome, Outcome::failed);
  EXPECT_THAT(less.state,
              AllOf(HasSubstr("core_bandwidth = \"5GB/s\", and 20 % less"), Not(HasSubstr("saturation ="))));
  EXPECT_THAT(less.advice, HasSubstr("rtexec calibrate bandwidth host"));
  subject.board.memory = {.core_bandwidth = {}, .saturation = test::MB(6000)};
  EXPECT_THAT(bandwidth_of(subject, memory).state, HasSubstr("saturation = \"6GB/s\", and 50 % more"));
  for (const Answer& each : {unsaid, less}) expect_sound(each);
}

TEST(BringupBandwidth, EstimatesDurationFromSweptBytesAndCores) {
  const Bytes megabytes_600{600 << 20};
  EXPECT_NEAR(std::chrono::duration<double>(bandwidth_takes(16, megabytes_600, 2s)).count(), 59.6, 6)
      << "as it took on such a machine";
  EXPECT_LT(bandwidth_takes(2, Bytes{64 << 20}, 2s), 5s);
  EXPECT_GE(bandwidth_takes(1, Bytes{}, 2s), 4s);
}

TEST(BringupBandwidth, FailsWhenACoreMovesNothing) {
  const ScratchFolder folder;
  test::SharedMemory memory;
  memory.busy = {1};
  const Answer answer = bandwidth_of(subject_in(folder), memory);
  EXPECT_EQ(answer.outcome, Outcome::failed);
  expect_sound(answer);
}

// ---- regulation ----

RegulationTrials trials_of(double within, double accuracy = 1) {
  RegulationTrial trial{
      .cores = {2}, .freely = 2e9, .within = within, .accuracy = accuracy, .domain = {}, .lets = {"RT throttling"}};
  trial.domain.counter = "core: r17";
  trial.domain.budget = Bandwidth{static_cast<std::uint64_t>(1e9 * accuracy)};
  trial.domain.overshoot = {.p99 = 100, .max = 200};
  return {.stand_in = false, .event = "r17", .obstacle = {}, .trials = {trial}};
}

TEST(BringupRegulation, PassesWhenBudgetIsKept) {
  const ScratchFolder folder;
  const Answer answer = judge(trials_of(1.05e9), subject_in(folder));
  EXPECT_EQ(answer.outcome, Outcome::passed);
  EXPECT_THAT(answer.state, AllOf(HasSubstr("1.05 GB/s with one of 1.00 GB/s"), HasSubstr("p99 100 of 64B (3.20 us)")));
  EXPECT_EQ(judge(trials_of(1.05e9, 2), subject_in(folder)).outcome, Outcome::passed)
      << "the counter sees each line twice";
  expect_sound(answer);
}

TEST(BringupRegulation, FailsWhenBudgetIsExceededOrBarelyUsed) {
  const ScratchFolder folder;
  const Answer above = judge(trials_of(1.5e9), subject_in(folder));
  EXPECT_EQ(above.outcome, Outcome::failed);
  EXPECT_THAT(above.advice, HasSubstr("RT throttling"));
  const Answer below = judge(trials_of(0.2e9), subject_in(folder));
  EXPECT_EQ(below.outcome, Outcome::failed);
  EXPECT_THAT(below.advice, HasSubstr("[[counter]]"));
  for (const Answer& each : {above, below}) expect_sound(each);
}

TEST(BringupRegulation, NeverPassesWithStandInCounter) {
  const ScratchFolder folder;
  RegulationTrials trials = trials_of(1e9);
  trials.stand_in = true;
  trials.event = "page-faults";
  Subject subject = subject_in(folder);
  const Answer board = judge(trials, subject);
  EXPECT_EQ(board.outcome, Outcome::failed);
  EXPECT_THAT(board.state, HasSubstr("substitute event page-faults, which is not memory traffic"));
  test::write_text(folder / "/proc/cpuinfo", "flags\t\t: fpu hypervisor sse\n");
  const Answer guest = judge(trials, subject);
  EXPECT_EQ(guest.outcome, Outcome::skipped);
  EXPECT_THAT(guest.state, AllOf(HasSubstr("in this virtual machine"), HasSubstr("which is not memory traffic")));
  trials.trials.front().within = 1.9e9;
  EXPECT_EQ(judge(trials, subject).outcome, Outcome::failed) << "not even the mechanism works";
  subject.emulated = true;
  EXPECT_EQ(judge(trials_of(1e9), subject).outcome, Outcome::skipped);
  expect_sound(guest);
}

TEST(BringupRegulation, AnswersAreConsistentOnThisMachine) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.machine = hal::Machine();
  for (const auto ask : {traffic_counters, memory_bandwidth, memory_regulation}) expect_sound(ask(subject));
}

// ---- child processes ----

/// ThreadSanitizer permits no threads in a child forked by a process with threads, and LTTng starts threads in each
/// process.
class Forking : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "a child may not start threads under this sanitizer";
#endif
  }
};
class BringupChild : public Forking {};
class BringupDevice : public Forking {};
class BringupStore : public Forking {};
class BringupTaskSet : public Forking {};
class GpuBringup : public Forking {};

TEST_F(BringupChild, ReadsGpuClocksAndTemperatureInChildProcess) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  const pid_t here = ::getpid();
  subject.gpu = [here] {
    const unsigned now = ::getpid() == here ? 100 : 37;
    return hal::GpuState{.clocks = hal::DeviceClocks{}, .heat = hal::cuda::DeviceHeat{.now = now, .limit = 87}};
  };
  EXPECT_EQ(thermal_headroom(subject).outcome, Outcome::skipped) << "the board has none";
  subject.board.device = DeviceKind::cuda;
  const Answer heat = thermal_headroom(subject);
  EXPECT_EQ(heat.outcome, Outcome::passed) << "asked in a process of its own";
  EXPECT_THAT(heat.state, HasSubstr("GPU 37.0 C"));
  EXPECT_THAT(locked_clocks(subject).state, HasSubstr("GPU: cores at"));
  subject.gpu = []() -> hal::GpuState { std::abort(); };
  const Answer broken = locked_clocks(subject);
  EXPECT_EQ(broken.outcome, Outcome::failed);
  EXPECT_THAT(broken.state, HasSubstr("ended by a signal"));
  expect_sound(broken);
  subject.emulated = true;
  EXPECT_EQ(thermal_headroom(subject).outcome, Outcome::skipped);
}

const auto for_good = [] { return true; };

TEST_F(BringupChild, ReturnsItsAnswerToParent) {
  const Answer given{.outcome = Outcome::failed,
                     .state = "a \"state\"\nof two lines",
                     .advice = "do",
                     .figures = {{"x", 1.5, "us", true}, {"y", -2, "", false}}};
  const ChildEnd end = ask_in_child([&] { return given; }, 10s, for_good);
  ASSERT_TRUE(end.answer);
  EXPECT_EQ(end.answer->outcome, given.outcome);
  EXPECT_EQ(end.answer->state, given.state);
  EXPECT_EQ(end.answer->advice, given.advice);
  EXPECT_EQ(value_of(*end.answer, "x"), 1.5);
  EXPECT_TRUE(end.answer->figures[0].more_is_better);
  EXPECT_FALSE(end.hung);
}

TEST_F(BringupChild, HangOrFaultDoesNotAffectParent) {
  const ChildEnd hung = ask_in_child(
      []() -> Answer {
        for (;;) ::pause();
      },
      50ms, for_good);
  EXPECT_TRUE(hung.hung);
  EXPECT_FALSE(hung.answer);
  EXPECT_EQ(hung.signal, SIGKILL);
  const ChildEnd faulted = ask_in_child(
      []() -> Answer {
        std::signal(SIGSEGV, SIG_DFL);
        ::raise(SIGSEGV);
        return {};
      },
      10s, for_good);
  EXPECT_FALSE(faulted.answer);
  EXPECT_EQ(faulted.signal, SIGSEGV);
  const ChildEnd threw = ask_in_child([]() -> Answer { throw std::runtime_error("no more"); }, 10s, for_good);
  ASSERT_TRUE(threw.answer);
  EXPECT_THAT(threw.answer->state, HasSubstr("no more"));
}

/// A user's SIGINT may reach the parent only: only the parent calls `going_on`.
TEST_F(BringupChild, EndsWhenUserCancels) {
  const ScratchFolder folder;
  const std::filesystem::path cleaned = folder / "cleaned";
  const std::filesystem::path ready = folder / "ready"; // it exists once the child handles a request to end
  const auto ends = [&](const std::function<Answer()>& ask) {
    std::filesystem::remove(ready);
    const pid_t here = ::getpid();
    const Instant begin = hal::now();
    const ChildEnd end = ask_in_child(ask, 60s, [&] { return ::getpid() != here || !std::filesystem::exists(ready); });
    EXPECT_LT(hal::now() - begin, 30s);
    EXPECT_FALSE(end.hung);
    ASSERT_TRUE(end.answer);
    EXPECT_EQ(end.answer->outcome, Outcome::skipped);
    EXPECT_EQ(end.answer->state, "cancelled");
  };
  static volatile std::sig_atomic_t asked;
  asked = 0;
  ends([&]() -> Answer {
    std::signal(SIGTERM, [](int) { asked = 1; });
    test::write_text(ready, "");
    while (asked == 0) hal::sleep_until(hal::now() + 1ms);
    test::write_text(cleaned, "as it was");
    return {};
  });
  EXPECT_TRUE(std::filesystem::exists(cleaned)) << "it is asked, and gives back what it has changed";
  ends([&]() -> Answer {
    std::signal(SIGTERM, SIG_IGN);
    test::write_text(ready, "");
    for (;;) ::pause();
  });
}

// ---- the device ----

TEST_F(BringupDevice, HostDeviceKeepsAllDeviceRules) {
  const ScratchFolder folder;
  const Subject subject = subject_in(folder);
  const Answer answer = device_rules(subject);
  EXPECT_EQ(answer.outcome, Outcome::passed) << answer.state;
  EXPECT_THAT(answer.state, AllOf(HasSubstr("all 5 rules kept"), HasSubstr("Segmentation fault")));
  expect_sound(answer);
}

/// Opens a device that computes wrong digests, or cannot map.
executive::OpenDevice broken(int maps, bool lost) {
  return [=](Bytes capacity, Bytes chunk) -> Result<std::unique_ptr<hal::Device>> {
    auto state = std::make_shared<test::DeviceState>();
    state->failing_maps = maps;
    if (lost) state->lose("a fault of the test");
    return std::make_unique<test::DeviceDouble>(state, capacity, chunk);
  };
}

TEST_F(BringupDevice, FailsWhenDeviceBreaksARule) {
  const ScratchFolder folder;
  const Answer answer = check_rules(subject_in(folder), broken(1, false));
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.state, HasSubstr("NOT KEPT: contents follow the chunk"));
  expect_sound(answer);
}

TEST_F(BringupDevice, KillsCheckWhenDeviceHangs) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.length = -3900ms; // so that 500 ms remain
  const Answer answer = check_rules(subject, [](Bytes, Bytes) -> Result<std::unique_ptr<hal::Device>> {
    for (;;) ::pause();
  });
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.state, HasSubstr("did not answer for 500ms"));
  EXPECT_THAT(answer.advice, HasSubstr("driver"));
}

TEST_F(BringupDevice, FailsWithoutDeviceAndIsSkippedOnEmulator) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.board = read_board("rtx").value();
  const auto open = [](Bytes, Bytes) -> Result<std::unique_ptr<hal::Device>> {
    return fail(Errc::refused, "There is no NVIDIA driver\nInstall it");
  };
  for (const auto ask : {check_rules, measure_mapping, measure_copies}) {
    subject.emulated = false;
    const Answer answer = ask(subject, open);
    EXPECT_EQ(answer.outcome, Outcome::failed);
    EXPECT_EQ(answer.advice, "Install it");
    subject.emulated = true;
    EXPECT_EQ(ask(subject, open).outcome, Outcome::skipped);
  }
}

TEST_F(BringupDevice, MappingIsSkippedWithoutGpu) {
  const ScratchFolder folder;
  const Answer answer = device_mapping(subject_in(folder));
  EXPECT_EQ(answer.outcome, Outcome::skipped);
  EXPECT_THAT(answer.state, HasSubstr("host device"));
}

TEST_F(BringupDevice, MeasuresMappingOfGpu) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.board.device = DeviceKind::cuda;
  const auto open = [](Bytes, Bytes chunk) -> Result<std::unique_ptr<hal::Device>> {
    return std::make_unique<test::DeviceDouble>(std::make_shared<test::DeviceState>(), chunk * 8, chunk);
  };
  const Answer answer = measure_mapping(subject, open);
  EXPECT_EQ(answer.outcome, Outcome::passed) << answer.state;
  EXPECT_GT(value_of(answer, "map, longest"), 0);
  const Answer refused = measure_mapping(subject, [&](Bytes, Bytes chunk) -> Result<std::unique_ptr<hal::Device>> {
    auto state = std::make_shared<test::DeviceState>();
    state->failing_unmaps = 1;
    return std::make_unique<test::DeviceDouble>(state, chunk * 8, chunk);
  });
  EXPECT_EQ(refused.outcome, Outcome::failed);
  expect_sound(refused);
}

TEST_F(BringupDevice, ComparesCopyTimesWithSwapCostsOfBoard) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.board.swap_costs.clear();
  const Answer unsaid = device_copies(subject);
  EXPECT_EQ(unsaid.outcome, Outcome::passed);
  EXPECT_THAT(unsaid.state, HasSubstr("no [[swap_cost]]"));
  for (const auto* name : {"in", "out", "in, during copies out", "out, during copies in"})
    EXPECT_GT(value_of(unsaid, name), 0);
  subject.board.swap_costs = {{.chunk = subject.board.chunk, .in_per_chunk = 1h, .out_per_chunk = 1h}};
  EXPECT_EQ(device_copies(subject).outcome, Outcome::passed);
  subject.board.swap_costs.front().out_per_chunk = 1ns;
  const Answer slow = device_copies(subject);
  EXPECT_EQ(slow.outcome, Outcome::failed);
  EXPECT_THAT(slow.state,
              AllOf(HasSubstr(" out, but the board's swap costs allow at most 1 ns"), Not(HasSubstr(" in, and the"))));
  EXPECT_THAT(slow.advice, HasSubstr("rtexec calibrate host"));
  subject.emulated = true;
  EXPECT_EQ(device_copies(subject).outcome, Outcome::skipped);
}

/// Opens the simulated driver. Its device breaks in the `breaking`-th process that opens it; 0: in none.
executive::OpenDevice fake_gpu(hal::test::FakeCudaDriver& driver, const ScratchFolder& folder, int breaking) {
  return [&driver, &folder, breaking](Bytes, Bytes chunk) -> Result<std::unique_ptr<hal::Device>> {
    int opened = 1;
    while (std::filesystem::exists(folder / std::to_string(opened))) ++opened;
    test::write_text(folder / std::to_string(opened), "");
    auto device = hal::CudaDevice::open({.capacity = chunk * 8, .chunk = chunk, .kernels = hal::test::digest_images});
    if (!device) return Unexpected(device.error());
    if (opened == breaking) driver.break_device(hal::cuda::Code::illegal_address);
    return std::move(*device);
  };
}

class BringupDeviceDouble : public Forking {
 protected:
  BringupDeviceDouble() { subject.board.device = DeviceKind::cuda; }
  ScratchFolder folder;
  Subject subject = subject_in(folder);
};

TEST_F(BringupDeviceDouble, PassesWhenRulesHoldAndFaultIsSurvived) {
  hal::test::FakeCudaDriver driver;
  hal::test::add_digest_kernel(driver);
  const Answer answer = check_rules(subject, fake_gpu(driver, folder, 2));
  EXPECT_EQ(answer.outcome, Outcome::passed) << answer.state;
  EXPECT_THAT(answer.state,
              AllOf(HasSubstr("Fake GPU"), HasSubstr("all 5 rules kept"), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS")));
}

TEST_F(BringupDeviceDouble, FailsWhenFaultPersistsInNextProcess) {
  hal::test::FakeCudaDriver driver;
  hal::test::add_digest_kernel(driver);
  const Answer answer = check_rules(subject, fake_gpu(driver, folder, 3));
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.state, HasSubstr("after another process's fault"));
  expect_sound(answer);
}

TEST_F(BringupDeviceDouble, FailsWhenKernelGivesWrongDigest) {
  hal::test::FakeCudaDriver driver;
  hal::test::add_digest_kernel(driver, 1);
  const Answer answer = check_rules(subject, fake_gpu(driver, folder, 0));
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.state, HasSubstr("NOT KEPT: no kernel of this program runs"))
      << "the device found that out itself";
}

TEST_F(BringupDeviceDouble, MeasuresMappingAndCopies) {
  hal::test::FakeCudaDriver driver;
  const Answer mapped = measure_mapping(subject, fake_gpu(driver, folder, 0));
  EXPECT_EQ(mapped.outcome, Outcome::passed) << mapped.state;
  subject.board.chunk = Bytes{16 << 20};
  subject.board.swap_costs.clear();
  const Answer copied = measure_copies(subject, fake_gpu(driver, folder, 0));
  EXPECT_EQ(copied.outcome, Outcome::passed) << copied.state;
  EXPECT_GT(value_of(copied, "in, during copies out"), 0);
}

/// Runs in a process of its own: after using the GPU, a process cannot fork one that uses it.
TEST_F(GpuBringup, AnswersOfARealDeviceAreSound) {
  if (test::peer_argument() == nullptr) {
    if (const std::string why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
    EXPECT_EQ(test::OtherProcess("GpuBringup.AnswersOfARealDeviceAreSound", "bringup").wait(), 0);
    return;
  }
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.machine = hal::Machine();
  subject.board = read_board("rtx").value();
  subject.gpu = [board = subject.board] { return hal::read_gpu(board); };
  EXPECT_THAT(locked_clocks(subject).state, HasSubstr("GPU: cores at"));
  EXPECT_GT(value_of(thermal_headroom(subject), "headroom of GPU"), 0);
  const Answer rules = device_rules(subject); // the GPU is still usable
  EXPECT_EQ(rules.outcome, Outcome::passed) << rules.state;
  for (const auto ask : {device_mapping, device_copies, swap_store, task_set}) {
    const Answer answer = ask(subject);
    std::cout << answer.state << '\n';
    expect_sound(answer);
    EXPECT_NE(answer.outcome, Outcome::skipped) << answer.state;
    EXPECT_FALSE(answer.figures.empty()) << answer.state;
  }
}

// ---- the swap store ----

StoreRates rates_of(double out, double in, std::string fallback = {}) {
  return {.saved = out * 1e9,
          .loaded = in * 1e9,
          .written = 1e9,
          .read = 1e9,
          .out_ratio = out,
          .in_ratio = in,
          .store = "/swap, unlinked, by io_uring with O_DIRECT",
          .fallback = std::move(fallback),
          .direct = true,
          .chunk = Bytes{2 << 20}};
}

TEST_F(BringupStore, PassesWhenAboutAsFastAsPlainTransfers) {
  const ScratchFolder folder;
  const Answer answer = judge(rates_of(0.85, 1.2), subject_in(folder));
  EXPECT_EQ(answer.outcome, Outcome::passed);
  EXPECT_THAT(answer.state, AllOf(HasSubstr("by io_uring"), HasSubstr("0.85 and 1.20 times plain")));
  EXPECT_EQ(value_of(answer, "in to plain reads"), 1.2);
  expect_sound(answer);
}

TEST_F(BringupStore, FailsWhenSlowerAndReportsMissingIoUring) {
  const ScratchFolder folder;
  for (const auto& rates : {rates_of(0.5, 1), rates_of(1, 0.5)}) {
    const Answer answer = judge(rates, subject_in(folder));
    EXPECT_EQ(answer.outcome, Outcome::failed);
    expect_sound(answer);
  }
  const Answer without = judge(rates_of(0.5, 1, "the kernel has no io_uring (ENOSYS)"), subject_in(folder));
  EXPECT_THAT(without.advice, HasSubstr("the kernel has no io_uring"));
  Subject subject = subject_in(folder);
  subject.emulated = true;
  EXPECT_EQ(judge(rates_of(0.5, 1), subject).outcome, Outcome::skipped);
}

TEST_F(BringupStore, MeasuresThisMachineAndLeavesNoFiles) {
  const ScratchFolder folder;
  const Subject subject = subject_in(folder);
  const Answer answer = swap_store(subject);
  EXPECT_THAT(answer.state, HasSubstr("times plain"));
  expect_sound(answer);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(BringupStore, IsSkippedWithoutEnoughSpace) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.board.chunk = Bytes{std::uint64_t{1} << 50};
  const Answer answer = swap_store(subject);
  EXPECT_EQ(answer.outcome, Outcome::skipped);
  EXPECT_THAT(answer.state, HasSubstr("are needed"));
}

// ---- tracing ----

TEST(BringupTrace, FailsWhenEventsAreLost) {
  const ScratchFolder folder;
  TraceCost cost{.off_ns = 1, .on_ns = 200, .emitted = 1000, .recorded = 1000, .lost = 0};
  const Answer good = judge(cost, subject_in(folder));
  EXPECT_EQ(good.outcome, Outcome::passed);
  EXPECT_THAT(good.state, HasSubstr("200 ns"));
  cost.recorded = 990;
  cost.lost = 10;
  const Answer lost = judge(cost, subject_in(folder));
  EXPECT_EQ(lost.outcome, Outcome::failed);
  expect_sound(good);
  expect_sound(lost);
  Subject subject = subject_in(folder);
  subject.emulated = true;
  cost = {.off_ns = 1, .on_ns = 200, .emitted = 1, .recorded = 1};
  EXPECT_EQ(judge(cost, subject).outcome, Outcome::skipped);
}

TEST(BringupTrace, IsSkippedWithFullReasonWhenRecordingFails) {
  const ScratchFolder folder;
  const Error error{Errc::refused, "lttng-sessiond ended, having printed:\nError: no permission\nError: bye\n"};
  const Answer answer = judge(Unexpected(error), subject_in(folder));
  EXPECT_EQ(answer.outcome, Outcome::skipped);
  EXPECT_THAT(answer.state, testing::EndsWith("having printed: Error: no permission Error: bye"));
  expect_sound(answer);
}

TEST(BringupTrace, MeasuresTraceCostOfThisMachine) {
  const ScratchFolder folder;
  const Answer answer = trace_cost(subject_in(folder));
  expect_sound(answer);
  if (answer.outcome == Outcome::skipped) GTEST_SKIP() << answer.state;
  EXPECT_THAT(answer.state, HasSubstr("40000 of 40000"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// ---- the task set ----

ShortRun short_run(std::uint64_t missed) {
  ShortRun run;
  run.plan.proved = true;
  TaskReport task;
  task.name = "control";
  task.released = task.completed = 200;
  task.missed = missed;
  task.response.max = 12ms;
  task.release_latency.max = 90us;
  task.deadline = 10ms;
  task.bound = 15ms;
  run.report.tasks = {task};
  run.report.elapsed = 2s;
  return run;
}

TEST_F(BringupTaskSet, PassesWhenPromisedDeadlinesAreKept) {
  const ScratchFolder folder;
  const Answer answer = judge(short_run(0), subject_in(folder));
  EXPECT_EQ(answer.outcome, Outcome::passed);
  EXPECT_THAT(answer.state, HasSubstr("every deadline and every promised response was kept"));
  Subject subject = subject_in(folder);
  subject.emulated = true;
  EXPECT_EQ(judge(short_run(0), subject).outcome, Outcome::skipped);
  expect_sound(answer);
}

TEST_F(BringupTaskSet, FailsOnMissesAndReportsTheirCauses) {
  const ScratchFolder folder;
  const Subject subject = subject_in(folder);
  const Answer plain = judge(short_run(3), subject);
  EXPECT_EQ(plain.outcome, Outcome::failed);
  EXPECT_THAT(plain.state, HasSubstr("3 of 200 jobs of control missed their deadlines"));
  expect_sound(plain);
  ShortRun run = short_run(3);
  run.report.tasks.front().above_wcet.before = 2;
  run.report.tasks.front().above_wcet_stolen.before = 1;
  run.report.tasks.front().release_latency.max = 1ms;
  run.report.stolen = {{.core = 1, .time = 20ms}};
  const Answer told = judge(run, subject);
  EXPECT_THAT(told.state, AllOf(HasSubstr("2 parts took longer"), HasSubstr("(1 of them when a hypervisor"),
                                HasSubstr("took 20.0 ms of core 1")));
  EXPECT_THAT(told.advice,
              AllOf(HasSubstr("platform_stall"), HasSubstr("latency/release"), HasSubstr("lock the clocks")));
}

TEST_F(BringupTaskSet, FailsWhenNothingIsPromisedOrRunIsDegraded) {
  const ScratchFolder folder;
  const Subject subject = subject_in(folder);
  ShortRun unproved = short_run(0);
  unproved.plan.proved = false;
  unproved.plan.end_to_end.explanation = "3 ms <= 2 ms";
  const Answer answer = judge(unproved, subject);
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.state, HasSubstr("3 ms <= 2 ms"));
  expect_sound(answer);
  ShortRun degraded = short_run(0);
  degraded.report.degraded = {"SCHED_FIFO: refused"};
  const Answer without = judge(degraded, subject);
  EXPECT_EQ(without.outcome, Outcome::failed);
  EXPECT_THAT(without.advice, HasSubstr("SCHED_FIFO: refused"));
}

TEST_F(BringupTaskSet, FailsWhenPromisedResponseTimeIsExceeded) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  ShortRun run = short_run(0);
  run.report.tasks.front().bound = 9ms;
  const Answer answer = judge(run, subject);
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.state, HasSubstr("control took 12.0 ms where 9.00 ms were promised"));
  EXPECT_THAT(answer.advice, AllOf(HasSubstr("rtexec profile"), HasSubstr("release_latency or platform_stall")));
  expect_sound(answer);
  run.report.tasks.front().bound = 12ms;
  EXPECT_EQ(judge(run, subject).outcome, Outcome::passed) << "it is kept to the last";
  run.report.tasks.front().bound = 9ms;
  subject.emulated = true;
  EXPECT_EQ(judge(run, subject).outcome, Outcome::skipped);
}

TEST_F(BringupTaskSet, LengthensPeriodsToFitWcets) {
  const ScratchFolder folder;
  TaskSet set = short_task_set(subject_in(folder));
  for (Task& task : set.tasks) task.wcet = Wcet{.before = 10us, .device = 20us, .after = 10us};
  lengthen_periods(set);
  EXPECT_EQ(set.tasks.front().period, 10ms) << "no longer than it needs";
  set.tasks.front().wcet->before = 9ms;
  lengthen_periods(set);
  EXPECT_GE(set.tasks.front().period, 72ms);
  for (const Task& task : set.tasks) EXPECT_EQ(task.period, task.deadline);
}

TEST_F(BringupTaskSet, RunsToItsEndOnThisMachine) {
  const ScratchFolder folder;
  const Answer answer = task_set(subject_in(folder)); // the deadlines kept on a busy machine are unknown
  expect_sound(answer);
  EXPECT_THAT(answer.state, Not(AnyOf(HasSubstr("ended early"), HasSubstr("did not end"))));
}

} // namespace
} // namespace rtexec::bringup
