// Tests how execution times are attributed to concurrent activity.
#include "test/traces/recording_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::traces {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t before = 0, device = 1, after = 2;

const FactorAnalysis* find(const StageAnalysis& part, Factor factor) {
  const auto found = std::ranges::find(part.factors, factor, &FactorAnalysis::factor);
  return found == part.factors.end() ? nullptr : &*found;
}

const FactorAnalysis& of(const Analysis& analysis, std::size_t task, std::size_t part, Factor factor) {
  return *find(analysis.tasks[task].stages[part], factor);
}

using Counts = std::map<std::string, std::uint64_t>;

Counts counts(const FactorAnalysis& factor) {
  Counts found;
  for (const FactorGroup& group : factor.groups) found[group.name] = group.count;
  return found;
}

FactorGroup group(const FactorAnalysis& factor, const std::string& name) {
  const auto found = std::ranges::find(factor.groups, name, &FactorGroup::name);
  return found == factor.groups.end() ? FactorGroup{} : *found;
}

/// Returns a script in which every tenth job comes after a pause of 100 ms instead of 3 ms, and takes twice as long.
Script often_after_a_pause() {
  Script script({task("front", 1ms, 0)});
  std::int64_t now = 0;
  for (std::uint64_t job = 0; job < 401; ++job) {
    const bool late = job % 10 == 0 && job > 0;
    now += late ? 100'000 : 3'000;
    script.run({0, job}, now, 5, late ? 20 : 10, 1);
  }
  return script;
}

TEST(Interference, GroupsExecutionsByPauseInDoublingClasses) {
  const auto analysis = often_after_a_pause().analyze();
  const FactorAnalysis& pause = of(analysis, 0, device, Factor::pause);
  EXPECT_EQ(counts(pause), (Counts{{"2.00 ms to 4.00 ms", 360}, {"64.0 ms to 128 ms", 40}}));
  EXPECT_EQ(group(pause, "2.00 ms to 4.00 ms").max, 10us);
  EXPECT_EQ(group(pause, "64.0 ms to 128 ms").p50, 20us);
  EXPECT_NEAR(pause.ratio, 2, 0.02);
  EXPECT_EQ(analysis.tasks[0].stages[device].factors.front().factor, Factor::pause); // the strongest
  EXPECT_EQ(of(analysis, 0, before, Factor::pause).ratio, 1);
}

TEST(Interference, IgnoresGroupsWithTooFewExecutionsInComparison) {
  Script script({task("front", 1ms, 0)});
  for (std::uint64_t job = 0; job < 100; ++job) script.run({0, job}, static_cast<std::int64_t>(job) * 3'000, 5, 10, 1);
  script.run({0, 100}, 400'000, 5, 90, 1);
  const auto analysis = script.analyze();
  EXPECT_EQ(group(of(analysis, 0, device, Factor::pause), "64.0 ms to 128 ms").max, 90us);
  EXPECT_EQ(of(analysis, 0, device, Factor::pause).ratio, 1);
}

TEST(Interference, GroupsExecutionsByPreviousUserOfCoreOrDevice) {
  Script script({task("front", 1ms, 0, 1), task("rear", 1ms, 1, 1)});
  script.run({0, 0}, 0, 5, 10, 1);
  script.run({1, 0}, 100, 5, 10, 1);
  script.run({1, 1}, 200, 5, 10, 1);
  script.run({0, 1}, 300, 5, 10, 1);
  script.run({0, 2}, 50'000, 5, 10, 1); // after a long pause
  const auto analysis = script.analyze();
  EXPECT_EQ(counts(of(analysis, 0, device, Factor::neighbour)), (Counts{{"idle for 10.0 ms", 2}, {"rear", 1}}));
  EXPECT_EQ(counts(of(analysis, 1, device, Factor::neighbour)), (Counts{{"front", 1}, {"rear", 1}}));
  EXPECT_EQ(counts(of(analysis, 1, before, Factor::neighbour)),
            (Counts{{"last part of front", 1}, {"last part of rear", 1}}));
  EXPECT_EQ(counts(of(analysis, 1, after, Factor::neighbour)), (Counts{{"first part of rear", 2}}));
}

TEST(Interference, ReportsPartPreemptedByAnotherJob) {
  Script script({task("front", 1ms, 0), task("rear", 1ms, 1)});
  script.release({1, 0}, 0, 0);
  script.run({0, 0}, 10, 5, 10, 1);
  script.ready({1, 0}, 40, 20);
  script.begin({1, 0}, 41);
  script.end({1, 0}, 42);
  script.finish({1, 0}, 42, 43, 1);
  const auto analysis = script.analyze();
  EXPECT_EQ(counts(of(analysis, 1, before, Factor::neighbour)), (Counts{{"preempted", 1}}));
}

TEST(Interference, GroupsExecutionsByConcurrentCopies) {
  Script script({task("front", 1ms, 0, 1), task("rear", 1ms, 1, 2)});
  script.setup.swap =
      SwapSetup{.policy = SwapPolicy::pipelined, .frames = 8, .copy_engines = 2, .chunk = {4096}, .store = {}};
  constexpr std::int64_t step = 1000;
  for (std::uint64_t job = 0; job < 4; ++job) script.run({0, job}, static_cast<std::int64_t>(job) * step, 5, 100, 10);
  script.move(true, {1, 0}, {1, 0, 0}, step + 50, step + 60);           // in, during its execution
  script.move(false, {1, 0}, {0, 0, 0}, 2 * step + 90, 2 * step + 200); // out, from its execution on
  script.move(true, {1, 0}, {1, 1, 1}, 3 * step - 10, 3 * step + 10);   // both
  script.move(false, {1, 0}, {0, 1, 1}, 3 * step + 1, 3 * step + 20);
  const auto analysis = script.analyze();
  EXPECT_EQ(counts(of(analysis, 0, device, Factor::concurrent)),
            (Counts{{"nothing", 1}, {"copies in", 1}, {"copies out", 1}, {"copies both ways", 1}}));
  EXPECT_EQ(counts(of(analysis, 0, after, Factor::concurrent)), (Counts{{"nothing", 3}, {"copies out", 1}}));
}

TEST(Interference, ReportsDeviceActivityConcurrentWithCpuPart) {
  Script script({task("front", 1ms, 0, 1), task("rear", 1ms, 1, 2)});
  script.run({0, 0}, 0, 5, 100, 1);
  script.run({1, 0}, 50, 10, 100, 60);
  const auto analysis = script.analyze();
  EXPECT_EQ(counts(of(analysis, 1, before, Factor::concurrent)), (Counts{{"the device", 1}}));
  EXPECT_EQ(counts(of(analysis, 0, before, Factor::concurrent)), (Counts{{"nothing", 1}}));
}

TEST(Interference, GroupsExecutionsByTheLastSampledClock) {
  Script script({task("front", 1ms, 0, 3)});
  const auto clock = [&](RecordKind kind, std::int64_t at, std::uint64_t megahertz) {
    Record& record = script.add(kind, at);
    record.core = 3;
    record.frequency = {megahertz * 1'000'000};
  };
  script.run({0, 0}, 0, 5, 10, 1); // before any sample
  clock(RecordKind::core_clock, 500, 2396);
  clock(RecordKind::device_clock, 501, 1980);
  script.run({0, 1}, 1000, 5, 10, 1);
  clock(RecordKind::device_clock, 1500, 345);
  script.records.back().memory_frequency = {2'619'000'000};
  script.records.back().limits = 5 | 16;
  script.run({0, 2}, 2000, 5, 60, 1);
  const auto analysis = script.analyze();
  EXPECT_EQ(counts(of(analysis, 0, before, Factor::clock)), (Counts{{"2.40 GHz", 2}}));
  EXPECT_EQ(counts(of(analysis, 0, device, Factor::clock)), (Counts{{"2.00 GHz", 1}, {"300 MHz, memory 2.60 GHz", 1}}));
  ASSERT_THAT(analysis.clocks, SizeIs(4));
  EXPECT_EQ(analysis.clocks[0].of, "core 3");
  EXPECT_EQ(analysis.clocks[1].lowest, Frequency{345'000'000});
  EXPECT_EQ(analysis.clocks[1].highest, Frequency{1'980'000'000});
  EXPECT_THAT(analysis.clocks[1].limits, ElementsAre("power", "the hardware's brake"));
  EXPECT_EQ(analysis.clocks[2].of, "device memory");
  EXPECT_EQ(analysis.clocks[3].of, "board");
  EXPECT_THAT(analysis.clocks[3].limits, ElementsAre("a locked clock that moved"));
}

TEST(Interference, CountsAndExplainsExecutionsAboveWcet) {
  Script script = often_after_a_pause();
  script.setup.tasks[0].wcet = {.before = 5us, .device = 15us, .after = 0us}; // `after` has no WCET
  const auto analysis = script.analyze();
  EXPECT_EQ(analysis.excesses, 40u);
  ASSERT_THAT(analysis.above_wcet, SizeIs(40));
  const Excess& first = analysis.above_wcet[0];
  EXPECT_EQ(first.job, (policies::JobId{0, 10}));
  EXPECT_EQ(first.part, "device");
  EXPECT_EQ(first.time, 20us);
  EXPECT_EQ(first.wcet, 15us);
  EXPECT_THAT(first.surroundings, ElementsAre("64.0 ms to 128 ms", "idle for 10.0 ms", "nothing", ""));
  const FactorAnalysis& pause = of(analysis, 0, device, Factor::pause);
  EXPECT_EQ(group(pause, "64.0 ms to 128 ms").above_wcet, 40u);
  EXPECT_EQ(group(pause, "2.00 ms to 4.00 ms").above_wcet, 0u);
}

/// Time stolen between two checks may have affected each part of that core between them.
TEST(Interference, ReportsStolenCoreTimeOfExecutionsAboveWcet) {
  Script script({task("front", 1ms, 0, 1)});
  script.setup.tasks[0].wcet = {.before = 4us, .device = 8us, .after = 9us};
  script.run({0, 0}, 0, 5, 10, 1);
  script.run({0, 1}, 1000, 5, 10, 1);
  script.run({0, 2}, 2000, 5, 10, 1);
  const auto theft = [&](std::uint32_t core, bool computes, std::int64_t since, std::int64_t at, Duration stolen) {
    Record& record = script.add(RecordKind::core_stolen, at);
    record.core = core;
    record.computes = computes;
    record.since = us(since);
    record.stolen = stolen;
  };
  theft(1, false, 500, 1500, 10ms);
  theft(7, true, 1900, 2500, 20ms);
  theft(7, true, 2500, 2600, 30ms);
  const auto analysis = script.analyze();
  ASSERT_THAT(analysis.above_wcet, SizeIs(6));
  std::vector<Duration> stolen;
  for (const Excess& excess : analysis.above_wcet) stolen.push_back(excess.stolen);
  EXPECT_THAT(stolen, ElementsAre(0ms, 0ms, 10ms, 0ms, 0ms, 20ms));
  ASSERT_THAT(analysis.stolen, SizeIs(2));
  EXPECT_EQ(analysis.stolen[0].core, 1u);
  EXPECT_EQ(analysis.stolen[0].time, 10ms);
  EXPECT_EQ(analysis.stolen[1].time, 50ms);
}

TEST(Interference, LimitsTheNumberOfGroupsForManyTasks) {
  std::vector<TaskSetup> tasks;
  for (unsigned i = 0; i < 100; ++i) tasks.push_back(task("task-" + std::to_string(i), 1ms, i, i));
  Script script(tasks);
  for (std::uint32_t i = 0; i < 100; ++i) {
    script.run({i, 0}, i * 200, 5, 10, 1);
    script.run({0, i + 1}, i * 200 + 100, 5, 10, 1);
  }
  const auto analysis = script.analyze();
  const FactorAnalysis& neighbours = of(analysis, 0, device, Factor::neighbour);
  EXPECT_THAT(neighbours.groups, SizeIs(65));
  EXPECT_EQ(neighbours.groups.back().name, "others");
  std::uint64_t all = 0;
  for (const FactorGroup& each : neighbours.groups) all += each.count;
  EXPECT_EQ(all, analysis.tasks[0].stages[device].times.count);
}

TEST(Interference, IsNotReportedForResponseTimes) {
  EXPECT_THAT(often_after_a_pause().analyze().tasks[0].stages.back().factors, IsEmpty());
}

} // namespace
} // namespace rtexec::traces
