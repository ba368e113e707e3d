// Items of a bring-up that are measured: what each makes of what was seen, and that each can be asked of this machine.
#include "rtexec/bringup/bandwidth.hpp"
#include "rtexec/bringup/counters.hpp"
#include "rtexec/bringup/measured.hpp"
#include "rtexec/bringup/regulation.hpp"
#include "rtexec/bringup/release_latency.hpp"
#include "test/rtexec/study_doubles.hpp"
#include "test/support/files.hpp"
#include "test/support/result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::bringup {
namespace {

using namespace std::chrono_literals;
using test::fails;
using test::ScratchFolder;
using testing::AllOf;
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

/// As every answer must be.
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

TEST(BringupLatency, PassesWithinWhatAdmissionCharges) {
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

TEST(BringupLatency, FailsAboveAndSaysWhatToWriteIntoTheBoardsFile) {
  const ScratchFolder folder;
  const Subject subject = subject_in(folder);
  const MeasuredLateness measured{
      .cores = {{.core = 1, .here = many(20us, 201us)}}, .scheduling = "FIFO 90", .no_peer = "it is not installed"};
  const Answer answer = judge(measured, subject);
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.state, HasSubstr("no cyclictest beside it: it is not installed"));
  EXPECT_THAT(answer.advice, AllOf(HasSubstr("release_latency = \"250us\""), HasSubstr("PREEMPT_RT"),
                                   HasSubstr("isolcpus"), Not(HasSubstr("idle states")), Not(HasSubstr("hypervisor"))));
  expect_sound(answer);
}

TEST(BringupLatency, AdvisesNothingThatTheMachineHas) {
  const ScratchFolder folder;
  test::write_text(folder / "/sys/kernel/realtime", "1\n");
  test::write_text(folder / "/sys/devices/system/cpu/isolated", "1\n");
  test::write_text(folder / "/sys/devices/system/cpu/online", "0-1\n");
  const Answer answer = judge(
      {.cores = {{.core = 1, .here = many(20us, 201us)}}, .scheduling = "FIFO 90", .no_peer = "x"}, subject_in(folder));
  EXPECT_THAT(answer.advice, AllOf(Not(HasSubstr("PREEMPT_RT")), Not(HasSubstr("isolcpus"))));
}

TEST(BringupLatency, TellsWhatAHypervisorTook) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  const MeasuredLateness measured{.cores = {{.core = 1, .here = many(20us, 3ms), .peer = {}, .stolen = 10ms}},
                                  .scheduling = "FIFO 90",
                                  .no_peer = "x"};
  const Answer failed = judge(measured, subject);
  EXPECT_EQ(failed.outcome, Outcome::failed);
  EXPECT_THAT(failed.advice, AllOf(HasSubstr("hypervisor took 10.0 ms of core 1"), HasSubstr("hold_up = \"3.48ms\"")));
  subject.board.hold_up = 4ms;
  const Answer passed = judge(measured, subject);
  EXPECT_EQ(passed.outcome, Outcome::passed) << "the board's file allows for it";
  EXPECT_THAT(passed.state, HasSubstr("hold_up of 4.00 ms"));
  MeasuredLateness own = measured;
  own.cores.front().stolen = 0ms;
  EXPECT_EQ(judge(own, subject).outcome, Outcome::failed) << "nothing was taken: it is the machine's own";
}

TEST(BringupLatency, OfAnEmulatorIsSkippedWithTheNumber) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.emulated = true;
  for (const Duration longest : {Duration(50us), Duration(5ms)}) {
    const Answer answer =
        judge({.cores = {{.core = 1, .here = many(20us, longest)}}, .scheduling = "FIFO 90", .no_peer = "x"}, subject);
    EXPECT_EQ(answer.outcome, Outcome::skipped);
    EXPECT_THAT(answer.state, HasSubstr(readable(longest)));
    expect_sound(answer);
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

TEST(BringupLatency, IsMeasuredHere) {
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

TEST(BringupCounters, AreProvedOnEachCluster) {
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

TEST(BringupCounters, OfWhichOneDoesNotCountFail) {
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

TEST(BringupCounters, WithoutAPmuAreSkippedInAVirtualMachineAlone) {
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

TEST(BringupCounters, OfAnEmulatorNeverPass) {
  const ScratchFolder folder;
  Subject subject = two_clusters(folder);
  subject.emulated = true;
  const auto machine = counters_of({0, 1}, [](const std::string&, unsigned) { return true; });
  EXPECT_EQ(prove_counters(subject, machine).outcome, Outcome::skipped);
}

TEST(BringupCounters, ThatTellOfNoOverflowArePolled) {
  const ScratchFolder folder;
  Subject subject = two_clusters(folder);
  subject.board.counters = {{.event = "polled", .write_event = "writes", .cores = {}}};
  const Answer answer = prove_counters(subject, counters_of({0}, [](const std::string&, unsigned) { return true; }));
  EXPECT_EQ(answer.outcome, Outcome::passed);
  EXPECT_THAT(answer.state, AllOf(HasSubstr("writes: counted"), HasSubstr("polled")));
  EXPECT_EQ(value_of(answer, "counters that tell of overflows"), 1);
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

TEST(BringupBandwidth, IsHeldAgainstTheBoardsFile) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  test::SharedMemory memory; // 4 GB/s each, 9 GB/s together
  const Answer unsaid = bandwidth_of(subject, memory);
  EXPECT_EQ(unsaid.outcome, Outcome::passed);
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
  subject.emulated = true;
  EXPECT_EQ(bandwidth_of(subject, memory).outcome, Outcome::skipped);
}

TEST(BringupBandwidth, OfACoreThatMovesNothingFails) {
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

TEST(BringupRegulation, PassesWhereTheBudgetIsKept) {
  const ScratchFolder folder;
  const Answer answer = judge(trials_of(1.05e9), subject_in(folder));
  EXPECT_EQ(answer.outcome, Outcome::passed);
  EXPECT_THAT(answer.state, AllOf(HasSubstr("1.05 GB/s with one of 1.00 GB/s"), HasSubstr("p99 100 of 64B (3.20 us)")));
  EXPECT_EQ(judge(trials_of(1.05e9, 2), subject_in(folder)).outcome, Outcome::passed)
      << "the counter sees each line twice";
  expect_sound(answer);
}

TEST(BringupRegulation, FailsWhereItIsExceededOrFarFromUsed) {
  const ScratchFolder folder;
  const Answer above = judge(trials_of(1.5e9), subject_in(folder));
  EXPECT_EQ(above.outcome, Outcome::failed);
  EXPECT_THAT(above.advice, HasSubstr("RT throttling"));
  const Answer below = judge(trials_of(0.2e9), subject_in(folder));
  EXPECT_EQ(below.outcome, Outcome::failed);
  EXPECT_THAT(below.advice, HasSubstr("[[counter]]"));
  for (const Answer& each : {above, below}) expect_sound(each);
}

TEST(BringupRegulation, ByAStandInNeverPasses) {
  const ScratchFolder folder;
  RegulationTrials trials = trials_of(1e9);
  trials.stand_in = true;
  trials.event = "page-faults";
  Subject subject = subject_in(folder);
  const Answer board = judge(trials, subject);
  EXPECT_EQ(board.outcome, Outcome::failed);
  EXPECT_THAT(board.state, HasSubstr("stand-in event page-faults, which is no memory traffic"));
  test::write_text(folder / "/proc/cpuinfo", "flags\t\t: fpu hypervisor sse\n");
  const Answer guest = judge(trials, subject);
  EXPECT_EQ(guest.outcome, Outcome::skipped);
  EXPECT_THAT(guest.state, AllOf(HasSubstr("in this virtual machine"), HasSubstr("which is no memory traffic")));
  trials.trials.front().within = 1.9e9;
  EXPECT_EQ(judge(trials, subject).outcome, Outcome::failed) << "not even the mechanism works";
  subject.emulated = true;
  EXPECT_EQ(judge(trials_of(1e9), subject).outcome, Outcome::skipped);
  expect_sound(guest);
}

TEST(BringupRegulation, IsTriedHere) {
  const ScratchFolder folder;
  Subject subject = subject_in(folder);
  subject.machine = hal::Machine();
  for (const auto ask : {traffic_counters, memory_bandwidth, memory_regulation}) expect_sound(ask(subject));
}

} // namespace
} // namespace rtexec::bringup
