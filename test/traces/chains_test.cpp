// Tests chains in recordings built in code. test/rtexec/studies/analysis_oracle_test.cpp tests those of simulated runs.
#include "test/traces/recording_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace rtexec::traces {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Returns a script in which task camera runs each 100 us, and task control each 40 us without the device, on separate
/// cores.
Script chained(Communication communicate = Communication::immediate) {
  Script script({task("camera", 100us, 0, 1), task("control", 40us, 1, 2)});
  script.setup.tasks[1].wcet.device = 0us;
  ChainSetup& chain = script.setup.chains.emplace_back();
  chain.name = "steer";
  chain.communicate = communicate;
  chain.places = {{0, 100us, 30us}, {1, 40us, 20us}};
  return script;
}

void control(Script& script, std::uint64_t job, std::int64_t nominal, std::int64_t begins, std::int64_t takes) {
  script.release({1, job}, nominal, begins);
  script.ready({1, job}, begins + takes - 2, takes - 2);
  script.finish({1, job}, begins + takes - 2, begins + takes, 2);
}

void run_all(Script& script) {
  for (int i = 0; i < 4; ++i) script.run({0, static_cast<std::uint64_t>(i)}, 100 * i, 5, 20, 5);
  for (int i = 0; i < 10; ++i) control(script, static_cast<std::uint64_t>(i), 40 * i, 40 * i, 10);
}

TEST(Chains, ReactionSpansFromEventToAnsweringOutput) {
  Script script = chained();
  run_all(script);
  const auto chains = script.analyze().chains;
  ASSERT_EQ(chains.size(), 1u);
  const ChainAnalysis& chain = chains[0];
  // Camera's outputs appear at 30, 130, 230, 330. Control reads new data at 40, 160, 240, 360.
  EXPECT_EQ(chain.reaction.times.count, 3u);
  EXPECT_EQ(chain.reaction.times.max, 170us); // events just after 0 and 200, answered at 170 and 370
  EXPECT_EQ(chain.reaction.times.min, 150us); // an event just after 100, answered at 250
  EXPECT_EQ(chain.age.times.max, 170us);
  EXPECT_EQ(chain.reduced_age.times.count, 9u);
  EXPECT_EQ(chain.reduced_age.times.max, 130us); // read at 0, used by the job that ends at 120
  EXPECT_EQ(chain.invalid, "");
  ASSERT_TRUE(chain.worst);
  EXPECT_EQ(chain.worst->event, us(0));
  EXPECT_EQ(chain.worst->reaction, 170us);
  EXPECT_EQ(chain.worst->blame, "100 us of 170 us until job 1 of camera was released");
  ASSERT_EQ(chain.worst->steps.size(), 2u);
  const ChainStep &camera = chain.worst->steps[0], &last = chain.worst->steps[1];
  EXPECT_EQ(camera.job, (policies::JobId{0, 1}));
  EXPECT_EQ(last.job, (policies::JobId{1, 4}));
  EXPECT_EQ(camera.until_release(), 100us);
  EXPECT_EQ(camera.on_core(), 10us);
  EXPECT_EQ(camera.on_device(), 20us);
  EXPECT_EQ(last.there, us(130));
  EXPECT_EQ(last.until_release(), 30us);
  EXPECT_EQ(last.on_core(), 10us);
  EXPECT_EQ(last.on_device(), 0us);
  EXPECT_EQ(last.waited() + last.held() + last.until_read(), 0us);
}

TEST(Chains, AdviceNamesLongestWaitAndHowToShortenIt) {
  Script script = chained();
  run_all(script);
  const ChainAnalysis chain = script.analyze().chains.at(0);
  // Each waits 100 for camera's job. Then control comes 30, 10 and 30 after its output, and takes 10.
  EXPECT_EQ(chain.all.reactions, 3u);
  ASSERT_EQ(chain.all.parts.size(), 2u);
  EXPECT_EQ(chain.all.parts[0].waits, 100us);
  EXPECT_EQ(chain.all.parts[0].takes, 30us);
  EXPECT_EQ(chain.all.parts[1].waits, Duration(70us) / 3);
  EXPECT_EQ(chain.all.parts[1].takes, 10us);
  EXPECT_EQ(chain.longest.reactions, 1u);
  EXPECT_EQ(chain.longest.whole(), 170us);
  EXPECT_EQ(chain.advice,
            "100 us of 163 us in the mean, and 100 us of 170 us in the mean of the longest 1, until 'camera' was "
            "released; to shorten it: a shorter period of 'camera', or trigger = \"input\" if a source reports events");
  script.setup.chains[0].triggered = true;
  EXPECT_THAT(script.analyze().chains.at(0).advice,
              HasSubstr("until 'control' was released; to shorten it: trigger = \"after:camera\" of 'control', or a "
                        "shorter period of 'control'"));
  script.setup.chains[0].places[1].waits = 0us; // it follows camera
  EXPECT_THAT(script.analyze().chains.at(0).advice, HasSubstr("to shorten it: a shorter period of 'control'"));
}

TEST(Chains, JobsReadAtReleaseAndWriteAtDeadlineUnderLet) {
  Script script = chained(Communication::let);
  run_all(script);
  const ChainAnalysis chain = script.analyze().chains.at(0);
  // Camera's outputs appear at 100, 200, 300, 400. Control reads at 120, 200, 320, and its outputs appear at 160, 240,
  // 360.
  EXPECT_EQ(chain.reaction.times.count, 2u);
  EXPECT_EQ(chain.reaction.times.min, 240us);
  EXPECT_EQ(chain.reaction.times.max, 260us);
  ASSERT_TRUE(chain.worst);
  EXPECT_EQ(chain.worst->steps[0].held(), 70us);
  EXPECT_EQ(chain.worst->steps[1].held(), 30us);
}

TEST(Chains, TriggeredReactionBeginsAtTheRelease) {
  Script script = chained();
  script.setup.chains[0].triggered = true;
  run_all(script);
  const ChainAnalysis chain = script.analyze().chains.at(0);
  EXPECT_EQ(chain.reaction.times.max, 70us);
  EXPECT_EQ(chain.reaction.times.min, 50us);
  ASSERT_TRUE(chain.worst);
  EXPECT_EQ(chain.worst->steps[0].until_release(), 0us);
}

/// Returns chained() with samples. Camera's job 2 reads one taken 40 us before its release, the others one taken 20 us
/// before.
Script sampled() {
  Script script = chained();
  script.setup.chains[0].from_sampling = true;
  for (int i = 0; i < 4; ++i) {
    const policies::JobId job{0, static_cast<std::uint64_t>(i)};
    const int at = 100 * i;
    script.release(job, at, at);
    Record& input = script.add(Script::Kind::job_input, job, at);
    input.sampled = us(at - (i == 2 ? 40 : 20));
    input.inputs = 1;
    script.ready(job, at + 5, 5);
    script.begin(job, at + 5);
    script.end(job, at + 25);
    script.finish(job, at + 25, at + 30, 5);
  }
  for (int i = 0; i < 10; ++i) control(script, static_cast<std::uint64_t>(i), 40 * i, 40 * i, 10);
  return script;
}

TEST(Chains, ReactionIncludesTimeFromSamplingToRelease) {
  const Analysis analysis = sampled().analyze();
  const ChainAnalysis& chain = analysis.chains.at(0);
  EXPECT_EQ(chain.reaction.times.count, 3u); // outputs at 170, 250 and 370, from samples at -20, 80 and 160
  EXPECT_EQ(chain.reaction.times.min, 170us);
  EXPECT_EQ(chain.reaction.times.max, 210us);
  EXPECT_EQ(chain.age.times.max, 210us);
  ASSERT_TRUE(chain.worst);
  EXPECT_EQ(chain.worst->event, us(160));
  EXPECT_EQ(chain.worst->steps[0].job.number, 3u);
  EXPECT_EQ(chain.worst->steps[0].until_release(), 140us);
  EXPECT_THAT(chain.advice, HasSubstr("to shorten it: a quicker source of 'camera', a shorter period of 'camera', or"));
  const TaskAnalysis& camera = analysis.tasks.at(0);
  ASSERT_TRUE(camera.inputs);
  EXPECT_EQ(camera.inputs->delay.min, 20us);
  EXPECT_EQ(camera.inputs->delay.max, 40us);
}

TEST(Chains, TriggeredReactionBeginsAtTheSampling) {
  Script script = sampled();
  script.setup.chains[0].triggered = true;
  const ChainAnalysis chain = script.analyze().chains.at(0);
  EXPECT_EQ(chain.reaction.times.count, 3u);
  EXPECT_EQ(chain.reaction.times.min, 90us);
  EXPECT_EQ(chain.reaction.times.max, 90us);
  ASSERT_TRUE(chain.worst);
  EXPECT_EQ(chain.worst->event, us(80));
  EXPECT_EQ(chain.worst->steps[0].until_release(), 20us);
}

TEST(Chains, DelayBehindAnotherJobIsBlamedOnIt) {
  Script script = chained();
  script.setup.tasks.push_back(task("urgent", 1ms, 0, 2));
  script.setup.tasks[1].core_rank = 1;
  script.run({0, 0}, 0, 5, 20, 5);
  control(script, 0, 40, 40, 10);
  script.run({0, 1}, 50, 5, 20, 5);
  script.release({2, 0}, 75, 75);
  script.ready({2, 0}, 500, 425);
  control(script, 1, 80, 500, 10);
  const ChainAnalysis chain = script.analyze().chains.at(0);
  ASSERT_TRUE(chain.worst);
  EXPECT_EQ(chain.worst->blame, "420 us of 510 us job 1 of control began late: behind the CPU part of urgent (job 0)");
}

TEST(Chains, FailedJobsPassNoDataOn) {
  Script script = chained();
  script.run({0, 0}, 0, 5, 20, 5);
  control(script, 0, 40, 40, 10);
  script.release({0, 1}, 100, 100);
  Record& failed = script.add(Script::Kind::job_miss, {0, 1}, 110);
  failed.deadline = us(200);
  control(script, 1, 120, 120, 10);
  const ChainAnalysis chain = script.analyze().chains.at(0);
  EXPECT_EQ(chain.reaction.times.count, 0u);
  EXPECT_EQ(chain.reduced_age.times.max, 130us);
  EXPECT_FALSE(chain.worst);
}

TEST(Chains, ReactionsAndAgesAboveBoundsAreBreaches) {
  Script script = chained();
  run_all(script);
  script.setup.chains[0].reaction = script.setup.chains[0].age = 170us;
  EXPECT_THAT(script.analyze().breaches, IsEmpty());
  script.setup.chains[0].reaction = 160us;
  script.setup.chains[0].reduced_age = 1us;
  const auto breaches = script.analyze().breaches;
  std::vector<std::string> stages;
  for (const Breach& breach : breaches) stages.push_back(breach.chain + " " + breach.task + " " + breach.stage);
  EXPECT_THAT(stages, ElementsAre("steer control reaction", "steer control reduced-age"));
  EXPECT_EQ(breaches[0].text, "2 of 3 reactions of chain steer were above their bound of 160 us, the longest 170 us");
  EXPECT_EQ(breaches[0].observed, 170us);
}

TEST(Chains, InvalidTaskInvalidatesItsChain) {
  Script script = chained();
  run_all(script);
  const Loss loss{.from = us(100), .to = us(110), .events = 3};
  EXPECT_EQ(script.analyze({}, {loss}).chains.at(0).invalid, "those of camera are");
}

TEST(Chains, UnknownTaskInChainYieldsNoReactions) {
  Script script = chained();
  script.setup.chains[0].places = {{0, {}, {}}, {77, {}, {}}};
  script.setup.chains.emplace_back();
  run_all(script);
  EXPECT_EQ(script.analyze().chains.at(0).reaction.times.count, 0u);
}

/// This holds as long as the analysis waits for late events.
TEST(Chains, LateRecordsOfOneTaskDoNotChangeResults) {
  Script script = chained();
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i)
    script.run({0, static_cast<std::uint64_t>(i)}, 100'000 * i, 5, 20 + static_cast<int>(random() % 50'000), 5);
  for (int i = 0; i < 100; ++i)
    control(script, static_cast<std::uint64_t>(i), 40'000 * i, 40'000 * i, 6 + static_cast<int>(random() % 9'000));
  const auto deadline_of = [&](std::size_t task, Duration period) {
    script.setup.tasks[task].deadline = script.setup.tasks[task].period = period;
    script.setup.tasks[task].device_done_by = period;
  };
  deadline_of(0, 100ms);
  deadline_of(1, 40ms);
  for (Record& record : script.records)
    if (record.kind == Script::Kind::job_release)
      record.deadline = record.nominal + script.setup.tasks[record.job.task].deadline;
  const ChainAnalysis told = script.analyze().chains.at(0);
  ASSERT_GT(told.reaction.times.count, 30u);
  EXPECT_EQ(told.invalid, "");
  for (const std::uint32_t late : {0U, 1U}) {
    Script again = script;
    for (Record& record : again.records)
      if (record.job.task == late) record.time += 400ms;
    const ChainAnalysis found = again.analyze().chains.at(0);
    EXPECT_EQ(found.reaction.times.count, told.reaction.times.count);
    EXPECT_EQ(found.reaction.times.mean, told.reaction.times.mean);
    EXPECT_EQ(found.reaction.times.max, told.reaction.times.max);
    EXPECT_EQ(found.reaction.times.max_job, told.reaction.times.max_job);
    EXPECT_EQ(found.reduced_age.times.mean, told.reduced_age.times.mean);
    EXPECT_EQ(found.worst->event, told.worst->event);
  }
}

TEST(Inputs, ReportsInputAgesStaleReadsAndDroppedResults) {
  Script script({task("front", 100us, 0)});
  for (int i = 0; i < 3; ++i) {
    const policies::JobId job{0, static_cast<std::uint64_t>(i)};
    script.release(job, 100 * i, 100 * i);
    Record& input = script.add(Script::Kind::job_input, job, 100 * i);
    input.sampled = us(100 * i - 10 * (i + 1));
    input.inputs = 2;
    input.stale = i == 1 ? 2 : 0;
    script.ready(job, 100 * i + 5, 5);
    script.begin(job, 100 * i + 5);
    script.end(job, 100 * i + 15);
    if (i == 2) script.add(Script::Kind::result_drop, job, 100 * i + 16).sinks = 3;
    script.finish(job, 100 * i + 15, 100 * i + 17, 2);
  }
  const TaskAnalysis front = script.analyze().tasks.at(0);
  ASSERT_TRUE(front.inputs);
  EXPECT_EQ(front.inputs->jobs, 3u);
  EXPECT_EQ(front.inputs->stale, 1u);
  EXPECT_EQ(front.inputs->failed, 0u);
  EXPECT_EQ(front.inputs->age.min, 10us);
  EXPECT_EQ(front.inputs->age.max, 30us);
  EXPECT_EQ(front.inputs->age.max_job, 2u);
  EXPECT_EQ(front.inputs->delay.count, 3u);
  EXPECT_EQ(front.inputs->delay.min, 10us);
  EXPECT_EQ(front.dropped_results, 3u);
  EXPECT_EQ(front.invalid, "");
}

} // namespace
} // namespace rtexec::traces
