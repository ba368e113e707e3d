// Tests chains in real runs, whose data identify the jobs that made them. What the executive measures of a chain agrees
// with the data. Under logical execution time the data are those that the definitions give, regardless of execution
// times. The oracle uses only the definitions of policies/proofs/chains.md.
#include "hal/thread.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/expected_result.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace rtexec {
namespace {

using namespace test;

constexpr std::size_t length = 3;
const std::array<std::string, length> names{"a", "b", "c"};
const OwnWorkload::Values stamps{"stamps", ElementType::int64, {length}};

/// A job: its release, when on_input and on_output ran, and the releases that its data name, by task.
struct Seen {
  Instant release{}, read{}, written{};
  Instant sampled{}; // as on_input reported it, for the first task
  std::array<std::int64_t, length> data{};
};

/// The observations of one task's jobs, in order, without the warm-up.
struct Jobs {
  std::array<Seen, 300> jobs{};
  std::size_t count = 0; // completed jobs
  bool warmed_up = false;
  Seen now{}; // the job under way
};

struct Run {
  TaskSet set;
  std::array<Jobs, length> seen{};
  Report report;
};

Duration some(std::mt19937& random, Duration step, int most) {
  return step * std::uniform_int_distribution<int>(0, most)(random);
}

/// Makes a run in which each job adds its own release to its input, and takes up to a quarter of its deadline. The
/// first task's input was sampled up to 6 ms before the release.
std::unique_ptr<Run> run_of(unsigned seed, Communication communicate, unsigned seed_of_times,
                            std::optional<Duration> input_delay = {}) {
  auto run = std::make_unique<Run>();
  std::mt19937 random(seed), times(seed_of_times);
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < length; ++i) {
    Task task = own_task(names[i], 10ms + some(random, 5ms, 5));
    task.deadline = task.period - some(random, 2ms, 2);
    task.offset = some(random, 1ms, 9);
    if (i == 0) task.input_delay = input_delay;
    if (i > 0) task.inputs = {{.tensor = {}, .source = SourceKind::task, .from = names[i - 1]}};
    tasks.push_back(task);
  }
  run->set = set_of(tasks, 500ms);
  run->set.chains = {{.name = "all",
                      .tasks = {names.begin(), names.end()},
                      .communicate = communicate,
                      .max_reaction = {},
                      .max_age = {}}};
  ExecutiveSetup setup;
  setup.force = true;
  for (std::size_t i = 0; i < length; ++i) {
    Jobs& own = run->seen[i];
    const auto most = tasks[i].deadline.count() / 4;
    setup.workloads[names[i]] = std::make_unique<OwnWorkload>(
        std::vector{stamps}, std::vector{stamps},
        [&own, i, most, random = std::mt19937(times())](std::uint64_t, auto in, auto out) mutable {
          std::ranges::copy(in[0].template as<const std::int64_t>(), own.now.data.begin());
          own.now.data[i] = own.now.release.time_since_epoch().count();
          std::ranges::copy(own.now.data, out[0].template as<std::int64_t>().begin());
          std::this_thread::sleep_for(Duration(std::uniform_int_distribution<std::int64_t>(0, most)(random)));
        });
    setup.callbacks[names[i]] = {
        .on_input = [&own, i, samples = std::mt19937(times())](InputJob& job) mutable -> Status {
          own.now = {.release = job.release, .read = hal::now(), .written = {}, .sampled = {}, .data = {}};
          if (i == 0) own.now.sampled = job.sampled = job.release - some(samples, 1ns, 6'000'000);
          return {};
        },
        .on_output =
            [&own](const OutputJob&) {
              own.now.written = hal::now();
              if (std::exchange(own.warmed_up, true)) own.jobs[own.count++] = own.now;
            }};
  }
  auto executive = Executive::create(run->set, std::move(setup));
  EXPECT_EQ(problem(executive), "none");
  EXPECT_EQ(problem(executive->start()), "none");
  run->report = expect_real_time(*executive, [&] { executive->wait(); });
  return run;
}

std::span<const Seen> jobs_of(const Run& run, std::size_t task) {
  return std::span(run.seen[task].jobs).first(run.seen[task].count);
}

/// True if a busy machine made a task miss a deadline: then the test proves nothing.
bool held_up(const Run& run) {
  return std::ranges::any_of(run.report.tasks, [](const TaskReport& task) { return task.missed > 0; });
}

/// Returns the newest output visible at `when` under logical execution time.
const Seen* newest(const Run& run, std::size_t task, Instant when) {
  const Seen* found = nullptr;
  for (const Seen& job : jobs_of(run, task))
    if (job.release + run.set.tasks[task].deadline <= when) found = &job;
  return found;
}

struct Measured {
  std::uint64_t count = 0;
  Duration least = Duration::max(), most{0};
  void add(Duration sample) {
    ++count;
    least = std::min(least, sample);
    most = std::max(most, sample);
  }
};

/// Times computed from the last task's outputs: for each, when a job of the first task read its data, and when it
/// appeared.
struct Told {
  Measured reaction, age, reduced_age;
  explicit Told(std::span<const std::pair<Instant, Instant>> outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto [read, appears] = outputs[i];
      reduced_age.add(appears - read);
      if (i == 0) continue;
      age.add(appears - outputs[i - 1].first);
      if (read != outputs[i - 1].first) reaction.add(appears - outputs[i - 1].first);
    }
  }
};

void expect_same(const ChainReport::Measured& measured, const Measured& told) {
  EXPECT_EQ(measured.count, told.count);
  EXPECT_EQ(measured.times.min, told.least);
  EXPECT_EQ(measured.times.max, told.most);
}

testing::AssertionResult near(const ChainReport::Measured& measured, const Measured& told) {
  const auto apart = [](auto one, auto other) { return one < other ? other - one : one - other; };
  // A value that arrives while the next task begins may or may not count as seen.
  if (apart(measured.count, told.count) <= 2 && apart(measured.times.min, told.least) <= 2ms &&
      apart(measured.times.max, told.most) <= 2ms)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << measured.count << " for " << told.count << ", min "
                                     << measured.times.min.count() << " ns for " << told.least.count() << ", max "
                                     << measured.times.max.count() << " ns for " << told.most.count();
}

struct ChainRun : testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Sets, ChainRun, testing::Range(0u, 4u));

TEST_P(ChainRun, ReadsDataPrescribedByLogicalExecutionTime) {
  // by run: the releases of the data, relative to the job's own
  std::array<std::vector<std::array<std::int64_t, 2>>, 2> twice;
  for (const unsigned times : {1u, 2u}) {
    const auto run = run_of(GetParam(), Communication::let, times);
    if (held_up(*run)) GTEST_SKIP() << "others held the machine";
    std::vector<std::pair<Instant, Instant>> outputs;
    for (std::size_t task = 1; task < length; ++task) {
      for (const Seen& job : jobs_of(*run, task)) {
        const Seen* before = newest(*run, task - 1, job.release);
        ASSERT_NE(before, nullptr) << "nothing was there, and the job is dropped";
        for (std::size_t i = 0; i < task; ++i) EXPECT_EQ(job.data[i], before->data[i]) << names[task] << names[i];
        if (task + 1 == length)
          outputs.emplace_back(Instant(Duration(job.data[0])), job.release + run->set.tasks[task].deadline);
      }
      const Instant first = jobs_of(*run, task).front().release;
      EXPECT_EQ(newest(*run, task - 1, first - run->set.tasks[task].period), nullptr) << "no job was dropped in vain";
    }
    ASSERT_GE(outputs.size(), 8u);
    const Told told(outputs);
    const ChainReport& chain = run->report.chains[0];
    expect_same(chain.reaction, told.reaction);
    expect_same(chain.age, told.age);
    expect_same(chain.reduced_age, told.reduced_age);
    for (const Seen& job : jobs_of(*run, length - 1)) {
      const std::int64_t own = job.release.time_since_epoch().count();
      twice[times - 1].push_back({own - job.data[0], own - job.data[1]});
    }
  }
  const std::size_t both = std::min(twice[0].size(), twice[1].size());
  for (auto& data : twice) data.resize(both);
  EXPECT_EQ(twice[0], twice[1]) << "the same in every run";
}

TEST_P(ChainRun, MeasuresReactionAndAgeConsistentWithData) {
  testing::AssertionResult same = testing::AssertionFailure();
  // A thread may be delayed between the executive's clock reading and the test's, but not in each of five runs.
  for (int tries = 0; tries < 5 && !same; ++tries) {
    const auto run = run_of(GetParam(), Communication::immediate, 1);
    if (held_up(*run)) GTEST_SKIP() << "others held the machine";
    std::vector<std::pair<Instant, Instant>> outputs;
    for (const Seen& job : jobs_of(*run, length - 1)) {
      const auto first = std::ranges::find_if(
          jobs_of(*run, 0), [&](const Seen& each) { return each.release.time_since_epoch().count() == job.data[0]; });
      ASSERT_NE(first, jobs_of(*run, 0).end());
      outputs.emplace_back(first->read, job.written);
    }
    ASSERT_GE(outputs.size(), 8u);
    const Told told(outputs);
    const ChainReport& chain = run->report.chains[0];
    same = near(chain.reaction, told.reaction);
    if (same) same = near(chain.age, told.age);
    if (same) same = near(chain.reduced_age, told.reduced_age);
  }
  EXPECT_TRUE(same);
}

/// More values arrive while a job fills its inputs than are kept.
TEST(ChainAge, IsMeasuredWhenManyNewerValuesArriveWhileJobReads) {
  TaskSet set = set_of({own_task("a", 1ms), own_task("b", 50ms)}, 500ms);
  set.chains = {{.name = "all", .tasks = {"a", "b"}, .communicate = {}, .max_reaction = {}, .max_age = {}}};
  ExecutiveSetup setup;
  setup.force = true;
  for (const Task& task : set.tasks)
    setup.workloads[task.name] =
        std::make_unique<OwnWorkload>(std::vector{stamps}, std::vector{stamps}, [](std::uint64_t, auto, auto) {});
  setup.callbacks["b"].on_input = [](InputJob&) { return std::this_thread::sleep_for(10ms), Status(); };
  auto executive = Executive::create(set, std::move(setup));
  ASSERT_EQ(problem(executive), "none");
  ASSERT_EQ(problem(executive->start()), "none");
  executive->wait();
  const Report report = executive->stop();
  EXPECT_GE(report.chains[0].reduced_age.count + 1, report.tasks[1].completed);
  EXPECT_GE(report.chains[0].reduced_age.times.min, 10ms);
  EXPECT_LT(report.chains[0].reduced_age.times.p50, 30ms) << "not as old as what the job before read";
}

TEST_P(ChainRun, WithInputDelayMeasuresFromSamplingTime) {
  constexpr Duration delay = 3ms; // half of its execution time
  const auto run = run_of(GetParam(), Communication::let, 1, delay);
  if (held_up(*run)) GTEST_SKIP() << "others held the machine";
  std::vector<std::pair<Instant, Instant>> outputs;
  for (const Seen& job : jobs_of(*run, length - 1)) {
    const auto first = std::ranges::find_if(
        jobs_of(*run, 0), [&](const Seen& each) { return each.release.time_since_epoch().count() == job.data[0]; });
    ASSERT_NE(first, jobs_of(*run, 0).end());
    outputs.emplace_back(first->sampled, job.release + run->set.tasks[length - 1].deadline);
  }
  ASSERT_GE(outputs.size(), 8u);
  const Told told(outputs);
  const ChainReport& chain = run->report.chains[0];
  EXPECT_TRUE(chain.from_sampling);
  expect_same(chain.reaction, told.reaction);
  expect_same(chain.age, told.age);
  expect_same(chain.reduced_age, told.reduced_age);

  Measured delays;
  std::uint64_t above = 0;
  for (const Seen& job : jobs_of(*run, 0)) {
    delays.add(job.release - job.sampled);
    above += job.release - job.sampled > delay;
  }
  const MeasuredTimes& measured = run->report.tasks[0].input_delay;
  expect_same(measured, delays);
  EXPECT_EQ(measured.violations, above);
  EXPECT_EQ(measured.bound, delay);
  // Readers of the output get the stamp of its original data.
  EXPECT_GT(run->report.tasks[1].input_delay.count, 0u);
  EXPECT_GE(run->report.tasks[1].input_delay.times.min, run->set.tasks[0].deadline);
  EXPECT_EQ(run->report.tasks[1].input_delay.bound, std::nullopt);
}

} // namespace
} // namespace rtexec
