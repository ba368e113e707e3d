// Tests the experiment of memory policies: its results for a platform model with known times, and the shape of the
// paper's results for models of the paper's boards. On the host device it tests that all of it can be measured.
#include "rtexec/studies/experiments/memory_experiment.hpp"

#include <rtexec/board.hpp>
#include "rtexec/studies/experiments/joint_release.hpp"
#include "rtexec/cli/reports/memory_experiment_report.hpp"
#include "rtexec/studies/experiments/memory_machine.hpp"
#include "rtexec/studies/experiments/memory_model_platform.hpp"
#include "test/hal/gpu.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <sstream>
#include <utility>

namespace rtexec::study {
namespace {

using namespace std::chrono_literals;
using test::fails;
using testing::ElementsAre;
using testing::HasSubstr;
using enum WorkloadKind;

constexpr MemoryPolicy D = MemoryPolicy::device, M = MemoryPolicy::managed, H = MemoryPolicy::host;
const auto always = [] { return true; };

std::size_t lines_of(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

/// A platform model with times from given costs, except those in `instead`. A job's device part ends when it has its
/// turn.
class PlainPlatform final : public MemoryPlatform {
 public:
  std::string name() const override { return "plain"; }
  policies::MemoryCosts costs() const override { return {.unified = true}; }

  policies::MemoryTraffic traffic(WorkloadKind kind, unsigned size) override {
    const auto launches = 1 + static_cast<std::uint64_t>(kind) % 7 * 10;
    const Bytes bytes{std::uint64_t{4} * size};
    return {.in = bytes * (1 + launches % 3),
            .out = bytes,
            .copies = 2 + launches % 4,
            .kernels = {{.touched = bytes * 3, .written = bytes, .launches = launches, .dirty = 1}},
            .cache_accesses = size,
            .hit_rate = 0.5,
            .exchanged = bytes * 3};
  }
  Result<Duration> execution(WorkloadKind kind, unsigned size, const MemoryRounds& = {}) override {
    return Duration(1000) + Duration(size) * static_cast<int>(kind);
  }
  Result<std::vector<std::vector<MemoryRound>>> run(std::span<const MemorySet> sets,
                                                    const MemoryRounds& rounds) override {
    runs.emplace_back(sets.begin(), sets.end());
    if (sets.size() > max_sets) return fail(Errc::out_of_memory, "too many sets");
    std::vector<std::vector<MemoryRound>> ran;
    for (const MemorySet& set : sets) {
      for (const MemoryCase& each : set)
        if (each.policy == missing) return fail(why, "not here");
      std::vector<Duration> times;
      for (const MemoryCase& each : set)
        times.push_back(time(each) * (each.policy == H && set.size() > 1 ? together_under_host : 1));
      ran.emplace_back(rounds.least, played(set, times, [](auto, auto) { return Duration(0); }));
      for (auto* disturbed : {&ran.back().front().ends, &ran.back().front().times})
        for (auto& each : *disturbed) each *= 3;
    }
    return ran;
  }

  Duration time(const MemoryCase& wanted) {
    const auto other = instead.find({wanted.kind, wanted.size, wanted.policy});
    if (other != instead.end()) return other->second;
    const auto overhead = policies::memory_overhead(wanted.policy, truth, traffic(wanted.kind, wanted.size));
    const double factor = 1 + noise * std::sin(wanted.size + 7.0 * static_cast<int>(wanted.policy));
    return Duration(
        std::llround(factor * static_cast<double>((*execution(wanted.kind, wanted.size) + overhead.all()).count())));
  }

  policies::MemoryCosts truth{.copy_start = 20us,
                              .copied_in = 0.5,
                              .copied_out = 0.7,
                              .mapped = 0.2,
                              .host_flush = 30us,
                              .device_flush = 800ns,
                              .written_back = 0.1,
                              .memory_access = 2};
  std::map<std::tuple<WorkloadKind, unsigned, MemoryPolicy>, Duration> instead;
  double noise = 0;
  int together_under_host = 1; // a factor for times
  MemoryPolicy missing = MemoryPolicy::automatic;
  std::size_t max_sets = 99;
  Errc why = Errc::out_of_memory;
  std::vector<std::vector<MemorySet>> runs;
};

MemoryStudy study_of(std::vector<WorkloadKind> kinds) {
  MemoryStudy study{.workloads = {}, .policies = {D, M, H}};
  for (const WorkloadKind kind : kinds) study.workloads.push_back({kind, sizes_between(60, 7680)});
  return study;
}
const MemoryStudy two = study_of({vector_add, gaussian});

TEST(MemoryExperiment, SizesGrowByConstantFactor) {
  EXPECT_THAT(sizes_between(160, 20480), ElementsAre(160, 320, 640, 1280, 2560, 5120, 10240, 20480));
}

TEST(MemoryExperiment, PredictsTimesThatFollowTheModel) {
  PlainPlatform platform;
  const auto found = run_memory_experiment(platform, study_of({vector_add, matrix_add, gaussian, hotspot}), always);
  ASSERT_TRUE(found) << found.error().what;
  for (const MemoryResult& result : found->results) {
    ASSERT_EQ(result.points.size(), 8u);
    EXPECT_LT(error_of(result, {}, &PolicyTime::by_platform).worst, 1) << result.kind;
    for (const MemoryPoint& point : result.points)
      for (const PolicyTime& each : point.policies) {
        EXPECT_EQ(each.time, platform.time({result.kind, point.size, each.policy}));
        EXPECT_EQ(each.times.size(), 5u);
        EXPECT_NEAR(each.utilisation,
                    100.0 * static_cast<double>(point.execution.count()) / static_cast<double>(each.time.count()),
                    1e-9);
      }
  }
  EXPECT_NEAR(found->costs.copied_in, 0.5, 0.01);
}

/// The measurements of a size do not influence its own prediction, but do influence those of other sizes.
TEST(MemoryExperiment, ExcludesEachSizeFromTheFitThatPredictsIt) {
  PlainPlatform plain;
  plain.noise = 0.05;
  const auto before = run_memory_experiment(plain, two, always);
  ASSERT_TRUE(before);
  for (const WorkloadKind kind : {vector_add, gaussian})
    for (const std::size_t changed : {0U, 3U, 4U, 7U})
      for (const MemoryPolicy policy : {D, M, H}) {
        PlainPlatform platform;
        platform.noise = plain.noise;
        const unsigned size = two.workloads.front().sizes[changed];
        platform.instead[{kind, size, policy}] = 3 * plain.time({kind, size, policy});
        const auto after = run_memory_experiment(platform, two, always);
        ASSERT_TRUE(after);
        bool moved = false;
        for (std::size_t i = 0; i < 2; ++i)
          for (std::size_t point = 0; point < 8; ++point)
            for (std::size_t j = 0; j < 3; ++j) {
              const PolicyTime& was = before->results[i].points[point].policies[j];
              const PolicyTime& is = after->results[i].points[point].policies[j];
              if (point == changed) {
                EXPECT_EQ(is.by_platform.time, was.by_platform.time);
                EXPECT_EQ(is.by_workload.time, was.by_workload.time);
              }
              moved = moved || is.by_platform.time != was.by_platform.time;
            }
        EXPECT_TRUE(moved);
      }
}

TEST(MemoryExperiment, SummarisesErrorsPerMeasuredPolicy) {
  MemoryResult result{.kind = vector_add, .points = {}};
  for (const double error : {2.0, 4.0, 12.0}) {
    MemoryPoint& point = result.points.emplace_back();
    for (const MemoryPolicy policy : {D, M}) {
      PolicyTime& each = point.policies.emplace_back();
      each.policy = policy;
      each.by_platform.error = policy == D ? error : 0;
    }
  }
  EXPECT_DOUBLE_EQ(error_of(result, D, &PolicyTime::by_platform).mean, 6);
  EXPECT_DOUBLE_EQ(error_of(result, D, &PolicyTime::by_platform).worst, 12);
  EXPECT_DOUBLE_EQ(error_of(result, {}, &PolicyTime::by_platform).mean, 3);
  EXPECT_DOUBLE_EQ(error_of(result, H, &PolicyTime::by_platform).mean, 0);
}

TEST(MemoryExperiment, PairTakesSumOfTimesAndMemory) {
  PlainPlatform platform;
  const auto found = run_memory_experiment(platform, two, always);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->pairs.size(), 3u); // of gaussian only
  const auto time = [&](MemoryPolicy policy) { return platform.time({gaussian, 7680, policy}); };
  EXPECT_EQ(found->pairs[0].length, 2 * time(D));
  EXPECT_EQ(found->pairs[1].length, 2 * time(M));
  EXPECT_EQ(found->pairs[2].length, time(D) + time(M)); // also if they start at once: nothing overlaps here
  EXPECT_EQ(found->pairs[0].lengths.size(), 10u);
  const Bytes of_device = memory_of({gaussian, 7680, D}), of_managed = memory_of({gaussian, 7680, M});
  EXPECT_EQ(found->pairs[0].memory, of_device * 2);
  EXPECT_EQ(found->pairs[1].memory, of_managed * 2);
  EXPECT_EQ(found->pairs[2].memory, of_device + of_managed);
  EXPECT_NEAR(static_cast<double>(of_device.count) / static_cast<double>(of_managed.count), 2, 0.01);
}

TEST(MemoryExperiment, MixRunsTasksInOrderOfExecutionTimes) {
  PlainPlatform platform;
  const auto found = run_memory_experiment(platform, study_of({bfs, matrix_add, gaussian, vector_add}), always);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->mixes.size(), 8u);
  for (const MemoryMix& mix : found->mixes) {
    EXPECT_THAT(mix.kinds, ElementsAre(vector_add, gaussian, bfs)); // matrix_add is not in the mix
    ASSERT_EQ(mix.configurations.size(), 3u);
    for (const MemoryConfiguration& each : mix.configurations) {
      Duration sum{0};
      for (std::size_t i = 0; i < 3; ++i) {
        sum += platform.time({mix.kinds[i], mix.sizes[i], each.policies[i]});
        if (each.pairs == 0) { EXPECT_EQ(each.responses[i], sum); }
      }
      EXPECT_EQ(each.length, sum);
      EXPECT_EQ(each.mean_response(), (each.responses[0] + each.responses[1] + each.responses[2]) / 3);
    }
    EXPECT_EQ(mix.of("D")->pairs + mix.of("MO")->pairs, 0u);
    EXPECT_THAT(mix.of("D")->policies, ElementsAre(D, D, D));
    EXPECT_THAT(mix.of("MO")->policies, ElementsAre(M, M, M));
  }
}

TEST(MemoryExperiment, ChoiceFitsMemoryLimitAndIsNoSlowerThanManaged) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 6; ++round) {
    PlainPlatform platform;
    platform.truth.copied_in = static_cast<double>(random() % 100) / 100;
    platform.truth.mapped = static_cast<double>(random() % 100) / 200;
    platform.truth.memory_access = static_cast<double>(random() % 100) / 10;
    const auto kinds = mixed_workloads();
    const auto found = run_memory_experiment(platform, study_of({kinds.begin(), kinds.end()}), always);
    ASSERT_TRUE(found);
    for (const MemoryMix& mix : found->mixes) {
      EXPECT_TRUE(mix.within);
      EXPECT_LE(static_cast<double>(mix.of("CO")->memory.count), 0.6 * static_cast<double>(mix.of("D")->memory.count));
      EXPECT_LE(mix.of("CO")->length, mix.of("MO")->length * 1.03);
    }
  }
}

/// Compares with every combination, by sums of the savings of neighbouring pairs that fit.
TEST(MemoryExperiment, PromisingChoicesIncludeTheShortestOfAll) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random() % 5;
    std::vector<std::vector<MemoryAlternative>> tasks(count);
    std::vector<Duration> executions;
    std::uint64_t all = 0;
    for (auto& task : tasks) {
      const std::uint64_t memory = 2 + random() % 100;
      all += memory;
      executions.emplace_back(random() % 200);
      const auto time = [&] { return executions.back() + Duration(1 + random() % 800); };
      task = {{D, {memory}, time()}, {M, {memory / 2}, time()}, {H, {memory / 2}, time()}};
    }
    const Bytes most{all * (4 + random() % 7) / 10};
    const auto lengths = [&](const std::vector<std::size_t>& of) { // one at a time, and in pairs
      MemorySet set;
      std::vector<Duration> times;
      Duration sum{0};
      std::uint64_t memory = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const MemoryAlternative& each = tasks[i][of[i]];
        times.push_back(each.time);
        sum += each.time;
        memory += each.memory.count;
        set.push_back({.policy = each.policy, .co_run = co_run_of(each.policy, each.time, executions[i])});
      }
      const auto kernels = [&](std::size_t a, std::size_t b) { return executions[set[a].policy == D ? a : b]; };
      const auto in_pairs = played(set, times, kernels).length();
      return memory <= most.count ? std::pair(sum, in_pairs) : std::pair(Duration::max(), Duration::max());
    };
    auto best = std::pair(Duration::max(), Duration::max());
    std::vector<std::size_t> of(count);
    for (std::size_t number = 0; static_cast<double>(number) < std::pow(3, count); ++number) {
      std::size_t rest = number;
      for (auto& each : of) each = std::exchange(rest, rest / 3) % 3;
      const auto [sum, in_pairs] = lengths(of);
      best = {std::min(best.first, sum), std::min(best.second, in_pairs)};
    }
    const auto choices = promising_choices(tasks, executions, most);
    EXPECT_EQ(choices.empty(), best.first == Duration::max());
    auto found = std::pair(Duration::max(), Duration::max());
    for (const MemoryChoice& each : choices) {
      const auto [sum, in_pairs] = lengths(each.alternatives);
      EXPECT_LT(sum, Duration::max()) << "takes too much memory";
      (each.co_run ? found.second : found.first) =
          std::min(each.co_run ? found.second : found.first, each.co_run ? in_pairs : sum);
      EXPECT_EQ(std::ranges::count(choices, each), 1);
    }
    if (!choices.empty()) { EXPECT_EQ(found, best); }
  }
}

TEST(MemoryExperiment, CoRunIdleTimeIsJobTimeBeyondKernels) {
  EXPECT_EQ(co_run_of(D, 9ms, 4ms), (CoRun{.wcet = 4ms, .idle = {}}));
  EXPECT_EQ(co_run_of(H, 9ms, 4ms), (CoRun{.wcet = 9ms, .idle = 5ms}));
  EXPECT_EQ(co_run_of(M, 3ms, 4ms), (CoRun{.wcet = 4ms, .idle = 0ms})); // as noise may suggest
}

TEST(MemoryExperiment, RejectsChoiceThatIsSlowerWhenCoRunning) {
  PlainPlatform platform;
  platform.instead[{vector_add, 7680, H}] = 1us; // so that H is chosen
  const auto chosen = run_memory_experiment(platform, two, always);
  ASSERT_TRUE(chosen);
  EXPECT_THAT(chosen->mixes.back().of("CO")->policies, testing::Contains(H));
  platform.together_under_host = 1000;
  const auto found = run_memory_experiment(platform, two, always);
  ASSERT_TRUE(found);
  const MemoryMix& mix = found->mixes.back();
  EXPECT_THAT(mix.of("CO")->policies, testing::Not(testing::Contains(H)));
  EXPECT_LE(mix.of("CO")->length, mix.of("MO")->length);
}

TEST(MemoryExperiment, RunsConfigurationsInTurn) {
  PlainPlatform platform;
  const auto found = run_memory_experiment(platform, two, always);
  ASSERT_TRUE(found);
  std::size_t in_turn = 0;
  for (const auto& sets : platform.runs)
    if (sets.size() == 3 && sets.front().front().policy == D) { // the others are candidates, MO first
      const MemoryMix& mix = found->mixes[in_turn++];
      for (std::size_t set = 0; set < 3; ++set)
        for (std::size_t task = 0; task < 2; ++task) {
          EXPECT_EQ(sets[set][task].kind, mix.kinds[task]);
          EXPECT_EQ(sets[set][task].policy, mix.configurations[set].policies[task]);
          if (set < 2) { EXPECT_FALSE(sets[set][task].co_run) << "D and MO co-run with none"; }
        }
    }
  EXPECT_EQ(in_turn, 8u);

  platform.max_sets = 1; // not enough memory for all at once
  const auto apart = run_memory_experiment(platform, two, always);
  ASSERT_TRUE(apart);
  for (std::size_t size = 0; size < 8; ++size) {
    ASSERT_EQ(apart->mixes[size].configurations.size(), 3u);
    EXPECT_EQ(apart->mixes[size].of("CO")->length, found->mixes[size].of("CO")->length);
  }
}

TEST(MemoryExperiment, RepeatsShortMeasurementsMoreOften) {
  const MemoryRounds rounds{.least = 5, .most = 41, .enough = 60ms};
  EXPECT_TRUE(rounds.go_on(4, 1h));
  EXPECT_FALSE(rounds.go_on(5, 60ms));
  EXPECT_TRUE(rounds.go_on(40, 59ms));
  EXPECT_FALSE(rounds.go_on(41, 1ms));
}

TEST(MemoryExperiment, OmitsUnavailablePolicyWithNote) {
  PlainPlatform platform;
  platform.missing = M;
  const auto found = run_memory_experiment(platform, two, always);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->results[0].points[0].under(M), nullptr);
  EXPECT_NE(found->results[0].points[0].under(H), nullptr);
  EXPECT_THAT(found->notes.front(), HasSubstr("vector-add of size 60 under M is left out: not here"));
  ASSERT_EQ(found->pairs.size(), 1u);
  for (const MemoryMix& mix : found->mixes) {
    EXPECT_EQ(mix.of("MO"), nullptr);
    ASSERT_NE(mix.of("CO"), nullptr);
  }
  platform.why = Errc::device_fault;
  EXPECT_TRUE(fails(run_memory_experiment(platform, two, always), Errc::device_fault, "under M: not here"));
}

TEST(MemoryExperiment, UsesHostPolicyInPlaceOfMissingManaged) {
  PlainPlatform platform;
  MemoryStudy study = two;
  study.policies = {D, H};
  const auto found = run_memory_experiment(platform, study, always);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->mixes[0].of("MO")->policies, ElementsAre(H, H));
  EXPECT_THAT(found->pairs[1].policies, ElementsAre(H, H));
}

TEST(MemoryExperiment, ReportsEachMeasurementAndCanBeCancelled) {
  PlainPlatform platform;
  std::size_t told = 0;
  ASSERT_TRUE(run_memory_experiment(platform, two, [&] { return ++told > 0; }));
  EXPECT_EQ(told, count_measurements(two));
  for (const std::size_t stop : {std::size_t{1}, told / 2, told}) {
    std::size_t left = stop;
    EXPECT_TRUE(fails(run_memory_experiment(platform, two, [&] { return --left > 0; }), Errc::cancelled, "cancelled"));
  }
}

// ---- the models of the paper's boards

struct Simulated {
  MemoryExperimentSetup setup;
  MemoryExperiment found;
};
Simulated simulated(const std::string& board, std::uint64_t seed = 1) {
  auto setup = memory_experiment_setup({.simulate = board, .workloads = {}, .seed = seed});
  EXPECT_TRUE(setup) << setup.error().what;
  auto found = run_memory_experiment(*setup->platform, setup->study, always);
  EXPECT_TRUE(found) << found.error().what;
  return {std::move(*setup), std::move(*found)};
}

std::map<WorkloadKind, MemoryPolicy> guided(const MemoryExperiment& found) {
  std::map<WorkloadKind, MemoryPolicy> policies;
  for (const MemoryGuideline& each : found.guidelines) policies[each.kind] = each.policy;
  return policies;
}

double spread_of(const MemoryPair& pair) {
  const auto [least, most] = std::ranges::minmax(pair.lengths);
  return static_cast<double>((most - least).count()) / static_cast<double>(pair.length.count());
}

TEST(MemoryExperiment, GuidelinesMatchTableIVOfThePaper) {
  std::map<WorkloadKind, MemoryPolicy> tx2{
      {bfs, M},        {pathfinder, M}, {needleman_wunsch, M}, {nearest_neighbour, M},
      {vector_add, M}, {gaussian, D},   {hotspot, M}};
  EXPECT_EQ(guided(simulated("tx2").found), tx2);
  tx2[pathfinder] = tx2[needleman_wunsch] = D;
  const auto xavier = simulated("xavier").found;
  EXPECT_EQ(guided(xavier), tx2);
  std::map<WorkloadKind, std::uint64_t> kernels;
  for (const MemoryGuideline& each : xavier.guidelines) kernels[each.kind] = each.kernels;
  EXPECT_EQ(kernels, (std::map<WorkloadKind, std::uint64_t>{{bfs, 24},
                                                            {pathfinder, 512},
                                                            {needleman_wunsch, 319},
                                                            {nearest_neighbour, 1},
                                                            {vector_add, 1},
                                                            {gaussian, 1024},
                                                            {hotspot, 1}}));
}

TEST(MemoryExperiment, ModelsReproduceRelationsOfThePaper) {
  for (const char* board : {"tx2", "xavier"}) {
    const auto [setup, found] = simulated(board);
    for (std::size_t i = 0; i + 2 < found.pairs.size(); i += 3) { // D/D, M/M, D/M
      const auto memory = [&](std::size_t pair) { return static_cast<double>(found.pairs[pair].memory.count); };
      EXPECT_NEAR(memory(i) / memory(i + 1), 2, 0.1);
      EXPECT_GT(spread_of(found.pairs[i + 1]), spread_of(found.pairs[i]));
      EXPECT_GT(spread_of(found.pairs[i + 1]), spread_of(found.pairs[i + 2]));
      EXPECT_LT(found.pairs[i + 2].length, (found.pairs[i].length + found.pairs[i + 1].length) / 2) << "no overlap";
    }
    const auto gaussian_alone = std::ranges::find(found.results, gaussian, &MemoryResult::kind)->points.back();
    EXPECT_GT(gaussian_alone.under(M)->time, gaussian_alone.under(D)->time);
    EXPECT_GT(gaussian_alone.under(H)->time, gaussian_alone.under(D)->time);
    const auto scores = std::ranges::find(found.results, needleman_wunsch, &MemoryResult::kind)->points.back();
    if (setup.title.ends_with("TX2")) { EXPECT_LT(scores.under(M)->time, scores.under(D)->time); }
    for (const MemoryMix& mix : found.mixes) {
      const auto best = std::min(mix.of("D")->length, mix.of("MO")->length);
      EXPECT_LE(mix.of("CO")->length, best * 1.03) << board;
      EXPECT_LE(static_cast<double>(mix.of("CO")->memory.count), 0.6 * static_cast<double>(mix.of("D")->memory.count));
    }
    for (const MemoryResult& result : found.results)
      EXPECT_LT(error_of(result, {}, &PolicyTime::by_platform).mean, 9) << board << ' ' << result.kind;
  }
}

TEST(MemoryExperiment, LabelsEveryOutputOfModelAsModelled) {
  const auto [setup, found] = simulated("tx2");
  std::ostringstream text;
  print(text, setup, found);
  EXPECT_TRUE(text.str().starts_with("A model of a Jetson TX2, not a measurement\n"));
  EXPECT_EQ(to_json(setup, found)["simulated"], true);
  EXPECT_EQ(to_json(setup, found)["source"], "model-tx2");
  for (const auto& [name, content] : files_of(setup, found)) {
    if (name.ends_with(".svg")) EXPECT_THAT(content, HasSubstr("a model of a Jetson TX2")) << name;
    else {
      std::istringstream lines(content);
      std::string line;
      std::getline(lines, line);
      EXPECT_TRUE(line.starts_with("source,")) << name;
      while (std::getline(lines, line)) EXPECT_TRUE(line.starts_with("model-tx2,")) << name;
    }
  }
}

TEST(MemoryExperiment, FilesContainEveryCase) {
  const auto [setup, found] = simulated("xavier");
  std::map<std::string, std::string> files;
  for (const auto& [name, content] : files_of(setup, found)) files[name] = content;
  EXPECT_EQ(lines_of(files["times.csv"]), 1 + 11 * 8 * 3u);
  EXPECT_EQ(lines_of(files["errors.csv"]), 1 + 11 * 3u);
  EXPECT_EQ(lines_of(files["policies.csv"]), 1 + 7u);
  EXPECT_EQ(lines_of(files["pairs.csv"]), 1 + 3 * 3 * 10u);
  EXPECT_EQ(lines_of(files["mix.csv"]), 1 + 8 * 3 * 7u);
  EXPECT_EQ(files.size(), 5 + 11 + 5u);
}

TEST(MemoryExperiment, TheSameSeedGivesTheSameTimes) {
  const auto one = simulated("tx2"), again = simulated("tx2"), other = simulated("tx2", 2);
  EXPECT_EQ(files_of(one.setup, one.found), files_of(again.setup, again.found));
  EXPECT_NE(files_of(one.setup, one.found), files_of(other.setup, other.found));
}

TEST(MemoryExperiment, RefusesUnknownBoardWorkloadOrTooSmallSize) {
  EXPECT_TRUE(fails(memory_experiment_setup({.simulate = "orin", .workloads = {}}), Errc::bad_input, "tx2 or xavier"));
  EXPECT_TRUE(fails(memory_experiment_setup({.simulate = "tx2", .workloads = {"vector-ad"}}), Errc::bad_input,
                    "did you mean 'vector-add'?"));
  EXPECT_TRUE(fails(memory_experiment_setup({.simulate = {}, .workloads = {}, .largest = "1KiB"}), Errc::bad_input,
                    "--largest 1KiB: at least 1MiB"));
}

// ---- this machine

void expect_runs_on(const std::string& board) {
  auto setup =
      memory_experiment_setup({.simulate = {}, .board = board, .workloads = {"vector-add", "gaussian"}, .repeats = 2});
  ASSERT_TRUE(setup) << setup.error().what;
  for (MemoryWorkload& each : setup->study.workloads) each.sizes = {16, 24, 32, 48};
  const auto found = run_memory_experiment(*setup->platform, setup->study, always);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_TRUE(found->notes.empty());
  for (const MemoryResult& result : found->results)
    for (const MemoryPoint& point : result.points) {
      EXPECT_GT(point.execution, Duration(0));
      for (const MemoryPolicy policy : {D, M, H}) EXPECT_GT(point.under(policy)->time, Duration(0));
      EXPECT_EQ(point.under(M)->memory, point.under(H)->memory);
    }
  for (const MemoryMix& mix : found->mixes)
    for (const MemoryConfiguration& each : mix.configurations) {
      EXPECT_GE(each.length, each.responses[0]);
      EXPECT_GE(each.length, each.responses[1]);
      if (each.name != "CO") { EXPECT_LT(each.responses[0], each.responses[1]); }
    }
}

TEST(MemoryExperiment, RunsOnTheHostDevice) { expect_runs_on("host"); }

TEST(MemoryExperiment, RunsOnAGpu) {
  if (const std::string why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  expect_runs_on("rtx");
}

TEST(MemoryExperiment, SizesFitBelowTheLargestArray) {
  for (const DeviceKind device : {DeviceKind::host, DeviceKind::cuda})
    for (const std::uint64_t largest : {1U << 20U, 16U << 20U, 256U << 20U})
      for (const MemoryWorkload& each : measured_workloads(device, {largest})) {
        EXPECT_EQ(each.sizes.size(), 8u);
        EXPECT_TRUE(std::ranges::is_sorted(each.sizes, std::less_equal())) << each.kind;
        // At most four arrays. The smallest size of each may exceed a small `largest`.
        EXPECT_LE(memory_of({each.kind, each.sizes.back(), M}).count, 4 * std::max<std::uint64_t>(largest, 4U << 20U))
            << each.kind;
      }
}

} // namespace
} // namespace rtexec::study
