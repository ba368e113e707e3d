// Tests the isolation experiment on a simulated machine: what it starts and when, what it holds, and its results.
#include "rtexec/studies/experiments/isolation_machine.hpp"
#include "rtexec/studies/calibration/traffic_counters.hpp"
#include "test/rtexec/studies/study_doubles.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace rtexec::study {
namespace {

using namespace std::chrono_literals;
using test::fails;
using test::MB;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

hal::CounterChoice counter(std::vector<unsigned> cores, const std::string& event = "r3", Bytes line = {64}) {
  hal::CounterChoice choice;
  choice.settings.core = cores.front();
  choice.settings.reads.name = event;
  choice.line = line;
  choice.reason = "core " + std::to_string(cores.front()) + ": " + event;
  choice.cores = std::move(cores);
  return choice;
}

/// A workload with jobs of 10 ms, and 5 ms more for each co-runner without a limit.
class Machine : public IsolatedWorkload {
 public:
  explicit Machine(std::vector<unsigned> corunners) {
    machine.event = "r3";
    machine.corunners = std::move(corunners);
    for (const unsigned core : machine.corunners) machine.counters.push_back(counter({core}));
    machine.counters.push_back(counter({0}));
    machine.workloads = {{.name = "network", .title = "Network", .unit = "jobs/s"},
                         {.name = "winograd-256p", .title = "Winograd", .unit = "jobs/s"}};
    machine.kernel = "winograd-256p";
    machine.length = 1s;
    machine.prepare = [this](const std::string& name) -> Result<IsolatedWorkload*> {
      prepared.push_back(name);
      return this;
    };
    machine.corun = memory.corun();
    machine.regulate = [this](std::span<const regulation::RegulatedDomain> given,
                              const regulation::RegulationSettings& how, BandwidthLocks&) { return start(given, how); };
    machine.now = [this] { return memory.now(); };
    machine.rest = [this](Duration length) { memory.advance(length); };
    machine.going_on = [this] { return jobs < max_jobs; };
  }

  Result<> run(BandwidthLocks& page, const std::function<bool(Duration)>& more) override {
    if (!works) return fail(Errc::device_fault, "device: a job failed");
    Duration execution;
    do {
      const BandwidthLock lock(page);
      held.insert(page.holders().locks * 10 + page.holders().busy);
      execution = 10ms + (limited ? 0ms : 5ms) * static_cast<int>(memory.running());
      memory.advance(execution);
      ++jobs;
    } while (more(execution));
    return {};
  }
  Result<> call(const std::function<Result<>()>& work) override { return work(); }

  std::unique_ptr<IsolationPlatform> platform(MachineMode mode) { return machine_platform(machine, mode, locks); }

  struct Regulated final : regulation::Regulation {
    explicit Regulated(Machine& owner) : machine(owner) { machine.memory.log.push_back("regulate"); }
    ~Regulated() override {
      machine.limited = false;
      machine.memory.log.push_back("free");
    }
    void end() override {}
    void set_limit(std::optional<Bandwidth>) noexcept override {}
    std::vector<DomainReport> report() const override {
      DomainReport report;
      report.cores = {1};
      report.counter = "core: r3";
      report.lost = machine.loses;
      return {report};
    }
    Result<> join(unsigned core) override {
      machine.memory.log.push_back("join " + std::to_string(core));
      return {};
    }
    void leave(unsigned core) noexcept override { machine.memory.log.push_back("leave " + std::to_string(core)); }
    Machine& machine;
  };

  Result<std::unique_ptr<regulation::Regulation>> start(std::span<const regulation::RegulatedDomain> given,
                                                        const regulation::RegulationSettings& how) {
    domains.assign(given.begin(), given.end());
    settings.emplace(how);
    limited = true;
    return std::make_unique<Regulated>(*this);
  }

  test::SharedMemory memory;
  test::ScratchFolder folder;
  BandwidthLocks locks = BandwidthLocks::open(folder.path()).value();
  IsolationMachine machine;
  std::vector<std::string> prepared;
  std::vector<regulation::RegulatedDomain> domains;
  std::optional<regulation::RegulationSettings> settings;
  std::set<std::uint32_t> held; // while jobs execute: ten times bw_lock, and gpu_busy
  bool limited = false, loses = false, works = true;
  std::size_t jobs = 0, max_jobs = SIZE_MAX;
};

const IsolationCase beside_two{.workload = "network", .corunners = 2, .limit = {}};
const IsolationCase limited_beside_two{.workload = "network", .corunners = 2, .limit = MB(100)};

TEST(MachinePlatform, MeasuresPerformanceWithCorunners) {
  Machine machine({1, 2});
  const auto platform = machine.platform(MachineMode::rtexec);
  const auto measured = platform->measure(beside_two);
  ASSERT_TRUE(measured) << measured.error().what;
  EXPECT_DOUBLE_EQ(measured->performance, 50);
  EXPECT_EQ(measured->mean, 20ms);
  EXPECT_EQ(measured->worst, 20ms);
  EXPECT_EQ(measured->corunners, MB(8000));
  EXPECT_THAT(machine.memory.log, ElementsAre("start 1", "start 2", "end 1", "end 2"))
      << "without a limit nothing regulates";
  EXPECT_DOUBLE_EQ(platform->measure({.workload = "network", .corunners = 0, .limit = {}})->performance, 100);
}

TEST(MachinePlatform, LimitsCorunnersWhileTheDeviceWorks) {
  Machine machine({1, 2});
  const auto measured = machine.platform(MachineMode::rtexec)->measure(limited_beside_two);
  ASSERT_TRUE(measured) << measured.error().what;
  EXPECT_DOUBLE_EQ(measured->performance, 100);
  ASSERT_EQ(machine.domains.size(), 2u) << "and not the feeder";
  for (const unsigned core : {1u, 2u}) {
    EXPECT_THAT(machine.domains[core - 1].cores, ElementsAre(core));
    EXPECT_EQ(machine.domains[core - 1].budget, MB(100));
    EXPECT_EQ(machine.domains[core - 1].counter.period, 1ms);
    EXPECT_FALSE(machine.domains[core - 1].always);
  }
  EXPECT_EQ(machine.settings->regulate_while, RegulateWhile::device_works);
  EXPECT_EQ(machine.settings->rules.overshoot, Overshoot::carry);
  EXPECT_THAT(machine.held, ElementsAre(10)) << "bw_lock";
  EXPECT_EQ(machine.locks.holders().locks, 0u);
  EXPECT_THAT(machine.memory.log, ElementsAre("regulate", "join 1", "start 1", "join 2", "start 2", "end 1", "leave 1",
                                              "end 2", "leave 2", "free"));
}

TEST(MachinePlatform, LimitsEveryCoreInTheThesisMode) {
  Machine machine({1});
  const auto measured =
      machine.platform(MachineMode::thesis)->measure({.workload = "network", .corunners = 1, .limit = MB(100)});
  ASSERT_TRUE(measured) << measured.error().what;
  ASSERT_EQ(machine.domains.size(), 2u);
  EXPECT_THAT(machine.domains[1].cores, ElementsAre(0u));
  EXPECT_EQ(machine.settings->regulate_while, RegulateWhile::device_busy);
  EXPECT_EQ(machine.settings->rules.overshoot, Overshoot::forgive);
  EXPECT_THAT(machine.held, ElementsAre(11)) << "gpu_busy as well";
  EXPECT_EQ(machine.locks.holders().busy, 0u);
  EXPECT_THAT(machine.memory.log,
              ElementsAre("regulate", "join 0", "join 1", "start 1", "end 1", "leave 1", "leave 0", "free"));
}

TEST(MachinePlatform, SweepMeasuresCorunnersWithoutWorkloadOrLimit) {
  Machine machine({1, 2, 3});
  const auto platform = machine.platform(MachineMode::rtexec);
  EXPECT_EQ(platform->max_corunners(), 3u);
  EXPECT_EQ(platform->sweep(1).value(), MB(4000));
  EXPECT_EQ(platform->sweep(3).value(), MB(9000));
  EXPECT_THAT(machine.prepared, IsEmpty());
}

TEST(MachinePlatform, MeasuresExecutionTimesOfKernelWithoutCorunners) {
  Machine machine({1});
  const auto platform = machine.platform(MachineMode::rtexec);
  EXPECT_EQ(platform->executions(7, {}).value(), std::vector<Duration>(7, 10ms));
  EXPECT_EQ(platform->executions(5, MB(100)).value().size(), 5u);
  EXPECT_THAT(machine.prepared, ElementsAre("winograd-256p", "winograd-256p"));
  EXPECT_THAT(machine.memory.log, ElementsAre("regulate", "free"));
}

TEST(MachinePlatform, MarksStandInCounterInNameAndDescription) {
  Machine machine({1});
  EXPECT_EQ(machine.platform(MachineMode::rtexec)->name(), "rtexec");
  machine.machine.stand_in = true;
  machine.machine.event = "page-faults";
  machine.machine.device_on_cores = true;
  EXPECT_EQ(machine.platform(MachineMode::rtexec)->name(), "rtexec-stand-in");
  EXPECT_EQ(machine.platform(MachineMode::rtexec)->description(),
            "core 1 is limited while the device works; core 0, which is the device, is not; limited by page-faults, a "
            "substitute for tests: no memory traffic is counted");
}

TEST(MachinePlatform, ReportsCauseOfFailedMeasurement) {
  Machine machine({1, 2});
  const auto platform = machine.platform(MachineMode::rtexec);
  EXPECT_TRUE(fails(platform->measure({.workload = "network", .corunners = 1, .limit = Bandwidth{63'000}}),
                    Errc::bad_input, "less than one line of 64B (r3)"));
  machine.loses = true;
  EXPECT_TRUE(fails(platform->measure(limited_beside_two), Errc::io_error, "core 1: its counter (core: r3) stopped"));
  EXPECT_TRUE(fails(platform->executions(3, MB(100)), Errc::io_error, "stopped"));
  machine.memory.broken = 2;
  EXPECT_TRUE(fails(platform->measure(beside_two), Errc::refused, "core 2: no generator"));
  machine.works = false;
  EXPECT_TRUE(fails(platform->measure({.workload = "network", .corunners = 0, .limit = {}}), Errc::device_fault,
                    "a job failed"));
  EXPECT_EQ(machine.memory.running(), 0u);
}

TEST(MachinePlatform, CancelsMeasurementWhenUserStopsIt) {
  Machine machine({1, 2});
  machine.max_jobs = 5;
  const auto platform = machine.platform(MachineMode::rtexec);
  EXPECT_TRUE(fails(platform->executions(1'000'000, {}), Errc::cancelled, "cancelled"));
  EXPECT_TRUE(fails(platform->measure(limited_beside_two), Errc::cancelled, "cancelled"));
  EXPECT_LT(machine.jobs, 10u);
}

TEST(MachinePlatform, StopsSweepPromptlyWhenCancelled) {
  Machine machine({1, 2});
  machine.machine.length = 60s;
  const Instant begin = machine.memory.now();
  machine.machine.going_on = [&] { return machine.memory.now() - begin < 10s; };
  EXPECT_TRUE(fails(machine.platform(MachineMode::rtexec)->sweep(2), Errc::cancelled, "cancelled"));
  EXPECT_LE(machine.memory.now() - begin, 10s + 100ms);
  EXPECT_EQ(machine.memory.running(), 0u);
  EXPECT_TRUE(fails(machine.platform(MachineMode::rtexec)->measure(beside_two), Errc::cancelled, "cancelled"));
  EXPECT_EQ(machine.jobs, 0u);
}

TEST(MachineModes, ThesisModeRequiresCountedFeederCoreApartFromDevice) {
  Machine machine({1});
  EXPECT_THAT(modes_of(machine.machine), ElementsAre(MachineMode::thesis, MachineMode::rtexec));
  machine.machine.device_on_cores = true;
  EXPECT_THAT(modes_of(machine.machine), ElementsAre(MachineMode::rtexec));
  machine.machine.device_on_cores = false;
  machine.machine.counters.pop_back();
  EXPECT_THAT(modes_of(machine.machine), ElementsAre(MachineMode::rtexec));
}

// ---- counters and their machine ----

/// Returns a machine on which the events `counting` count, on clusters of `width` cores.
regulation::RegulatedMachine cores_that_count(std::vector<unsigned> online, std::set<std::string> counting,
                                              unsigned width = 1) {
  regulation::RegulatedMachine machine;
  machine.online = std::move(online);
  machine.holds = true;
  machine.choose = [=](const Board& board, const BandwidthOptions& options, std::span<const unsigned> cores,
                       bool) -> Result<std::vector<hal::CounterChoice>> {
    std::vector<hal::CounterChoice> choices;
    for (const unsigned core : cores) {
      const CounterFacts facts = counter_of(core, board, options.event);
      if (facts.event == "typo") return fail(Errc::bad_input, "event \"typo\" is not known");
      if (!counting.contains(facts.event))
        return fail(Errc::unsupported,
                    "core " + std::to_string(core) + ": " + facts.event + " counts nothing\n  advice");
      if (!choices.empty() && choices.back().cores.back() >= core) continue;
      std::vector<unsigned> domain;
      for (unsigned each = core / width * width; each < (core / width + 1) * width; ++each) domain.push_back(each);
      choices.push_back(counter(domain, facts.event, facts.line));
    }
    return choices;
  };
  return machine;
}

Board board_with(const std::string& event) {
  Board board;
  board.name = "b";
  if (!event.empty()) board.counters = {{.event = event, .write_event = {}, .cores = {}}};
  return board;
}

const std::vector<unsigned> two_cores = {1, 2};

TEST(TrafficCounters, EventOfBoardFileIsPreferred) {
  const auto found =
      find_counters(board_with("r17"), "", two_cores, cores_that_count({0, 1, 2}, {"r17", "cache-misses"}));
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->event, "r17");
  EXPECT_FALSE(found->stand_in);
  EXPECT_EQ(found->corunners, CorunnerKind::lines);
  EXPECT_EQ(found->choices.size(), 2u);
}

TEST(TrafficCounters, CacheMissesReplaceBoardEventThatDoesNotCount) {
  EXPECT_EQ(find_counters(board_with("r17"), "", two_cores, cores_that_count({0, 1, 2}, {"cache-misses"}))->event,
            "cache-misses");
  EXPECT_TRUE(fails(find_counters(board_with("r17"), "r17", two_cores, cores_that_count({0, 1, 2}, {"cache-misses"})),
                    Errc::refused, "r17 counts nothing"));
}

TEST(TrafficCounters, RefusalListsEachTriedEvent) {
  const auto none = find_counters(board_with("r17"), "", two_cores, cores_that_count({0, 1, 2}, {"page-faults"}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::refused);
  EXPECT_THAT(none.error().what, AllOf(HasSubstr("\n  core 1: r17 counts nothing"),
                                       HasSubstr("\n  core 1: cache-misses counts nothing"), Not(HasSubstr("advice"))));
}

TEST(TrafficCounters, StandInEventsAreDistinguishedFromMemoryTraffic) {
  const auto machine = cores_that_count({0, 1, 2}, {"page-faults", "cycles"});
  const auto faults = find_counters(board_with(""), "page-faults", two_cores, machine);
  EXPECT_TRUE(faults->stand_in);
  EXPECT_EQ(faults->corunners, CorunnerKind::pages);
  EXPECT_EQ(faults->line(), Bytes{4096});
  EXPECT_TRUE(find_counters(board_with("cycles"), "", two_cores, machine)->stand_in);
  EXPECT_EQ(find_counters(board_with("cycles"), "", two_cores, machine)->corunners, CorunnerKind::lines);
  EXPECT_TRUE(fails(find_counters(board_with(""), "context-switches", two_cores, machine), Errc::bad_input,
                    "a traffic generator causes none"));
  EXPECT_TRUE(fails(find_counters(board_with(""), "typo", two_cores, machine), Errc::bad_input, "not known"));
}

Result<IsolationMachine> machine_of(const Board& board, const regulation::RegulatedMachine& regulated,
                                    const std::string& event = "") {
  return isolation_machine(
      {.board = board, .event = event, .models = {"/x/tiny.onnx"}, .length = 1s, .going_on = [] { return true; }},
      regulated);
}

TEST(IsolationMachine, PlacesCorunnersOnCoresOtherThanFeeder) {
  const auto machine = machine_of(board_with("r3"), cores_that_count({0, 1, 4}, {"r3"}));
  ASSERT_TRUE(machine) << machine.error().what;
  EXPECT_EQ(machine->feeder, 0u);
  EXPECT_THAT(machine->corunners, ElementsAre(1, 4));
  EXPECT_TRUE(machine->device_on_cores);
  EXPECT_EQ(machine->counters.size(), 2u);
  EXPECT_EQ(machine->workloads.front().name, "winograd-256p");
  EXPECT_EQ(machine->workloads.back().name, "tiny");
  Board other_core = board_with("r3");
  other_core.compute_core = 4;
  EXPECT_THAT(machine_of(other_core, cores_that_count({0, 1, 4}, {"r3"}))->corunners, ElementsAre(0, 1));
}

TEST(IsolationMachine, NotesRefusalOfSchedFifo) {
  auto cores = cores_that_count({0, 1}, {"r3"});
  cores.holds = false;
  EXPECT_THAT(machine_of(board_with("r3"), cores)->notes, testing::Contains(HasSubstr("SCHED_FIFO is refused")));
}

TEST(IsolationMachine, CountsTrafficOfFeederCoreOfGpu) {
  Board board = board_with("r3");
  board.device = DeviceKind::cuda;
  const auto machine = machine_of(board, cores_that_count({0, 1, 2}, {"r3"}));
  ASSERT_TRUE(machine) << machine.error().what;
  EXPECT_THAT(modes_of(*machine), ElementsAre(MachineMode::thesis, MachineMode::rtexec));
  EXPECT_THAT(machine->counters.back().cores, ElementsAre(0u));
}

TEST(IsolationMachine, ExcludesCoresThatShareCounterWithFeeder) {
  const auto machine = machine_of(board_with("r3"), cores_that_count({0, 1, 2, 3}, {"r3"}, 2));
  ASSERT_TRUE(machine) << machine.error().what;
  EXPECT_THAT(machine->corunners, ElementsAre(2, 3));
  EXPECT_THAT(machine->notes, testing::Contains(HasSubstr("core 1 is left out: it shares a counter")));
  EXPECT_TRUE(fails(machine_of(board_with("r3"), cores_that_count({0, 1}, {"r3"}, 2)), Errc::refused,
                    "no core is left for a co-runner"));
}

TEST(IsolationMachine, IsRefusedWithoutSpareCoreOrCounter) {
  EXPECT_TRUE(
      fails(machine_of(board_with("r3"), cores_that_count({3}, {"r3"})), Errc::refused, "no other than core 3"));
  EXPECT_TRUE(fails(machine_of(board_with("r3"), cores_that_count({0, 1}, {})), Errc::refused,
                    "tried:\n  core 1: r3 counts nothing\n  core 1: cache-misses"));
}

} // namespace
} // namespace rtexec::study
