// Tests the scheduler thread's use of its core. The charge for its decisions is compared with a core simulated in steps
// of a microsecond, on which each decision takes its time. It is also compared with histories of late jobs.
#include "policies/bounds/charges.hpp"
#include "policies/scheduler/release_grid.hpp"
#include "test/policies/plan_sets.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using Random = std::mt19937;

int draw(Random& random, int low, int high) { return std::uniform_int_distribution(low, high)(random); }

// ---- a model of the scheduler's core and a device ----

constexpr int decision = 5; // us, without context switches

struct ModelTask { // in microseconds; the most urgent first
  int period = 0;
  int before = 0, device = 0, after = 0;
  bool here = false;         // on the scheduler's core, otherwise on a core of its own
  long long device_done = 0; // relative deadline of the device part, in ns
};

/// EDF on the device. Releases come at any time, in bursts or as early as possible.
class ServiceCoreModel {
 public:
  ServiceCoreModel(std::vector<ModelTask> tasks, unsigned seed) : tasks_(std::move(tasks)), random_(seed) {
    jobs_.resize(tasks_.size());
    worst_.assign(tasks_.size(), 0);
    bursts_ = draw(random_, 0, 2) > 0;
    full_ = draw(random_, 0, 1) == 0;
  }

  /// Simulates until `end` and returns the longest response of each task.
  std::vector<int> run(int end) {
    for (now_ = 0; now_ < end; ++now_) step();
    return worst_;
  }

 private:
  enum class Stage { none, before, waiting, device, after };
  struct Job {
    Stage stage = Stage::none;
    int next = 0, released = 0, left = 0;
  };

  int length(int wcet) { return full_ || draw(random_, 0, 1) == 0 ? wcet : draw(random_, 1, wcet); }

  void begin(std::size_t i, Stage stage) {
    const ModelTask& task = tasks_[i];
    Job& job = jobs_[i];
    const int part = !task.here ? 0 : stage == Stage::before ? task.before : task.after;
    job.stage = stage;
    job.left = part;
    if (part == 0) end_part(i);
  }

  void end_part(std::size_t i) {
    Job& job = jobs_[i];
    if (job.stage == Stage::before) {
      job.stage = Stage::waiting;
      deciding_ += decision;
      return;
    }
    job.stage = Stage::none;
    worst_[i] = std::max(worst_[i], now_ - job.released);
  }

  void release() {
    if (bursts_ && draw(random_, 0, 60) > 0) return;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (jobs_[i].stage != Stage::none || now_ < jobs_[i].next) continue;
      jobs_[i].released = now_;
      jobs_[i].next = now_ + tasks_[i].period;
      begin(i, Stage::before);
    }
  }

  void serve() {
    if (executing_ && --jobs_[*executing_].left == 0) {
      deciding_ += decision;
      begin(*std::exchange(executing_, std::nullopt), Stage::after);
    }
    if (executing_) return;
    const auto due = [&](std::size_t i) { return jobs_[i].released * 1000LL + tasks_[i].device_done; };
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (jobs_[i].stage == Stage::waiting && (!executing_ || due(i) < due(*executing_))) executing_ = i;
    if (!executing_) return;
    jobs_[*executing_].stage = Stage::device;
    jobs_[*executing_].left = length(tasks_[*executing_].device);
  }

  /// Executes one microsecond of the core.
  void execute() {
    if (deciding_ > 0) {
      --deciding_;
      return;
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      Job& job = jobs_[i];
      if (job.stage != Stage::before && job.stage != Stage::after) continue;
      if (--job.left == 0) ended_ = i;
      return;
    }
  }

  void step() {
    if (ended_) end_part(*std::exchange(ended_, std::nullopt));
    serve();
    release();
    serve_if_idle();
    execute();
  }

  void serve_if_idle() {
    if (!executing_) serve();
  }

  const std::vector<ModelTask> tasks_;
  Random random_;
  std::vector<Job> jobs_;
  std::vector<int> worst_;
  bool bursts_ = false, full_ = false;
  int now_ = 0;
  int deciding_ = 0; // remaining time of decisions
  std::optional<std::size_t> executing_, ended_;
};

/// Draws some tasks on core 0 and some short ones elsewhere, in order of falling urgency.
TaskSet random_set(Random& random) {
  std::vector<Task> tasks;
  const int here = draw(random, 1, 3), elsewhere = draw(random, 1, 5);
  for (int i = 0; i < here + elsewhere; ++i) {
    const bool on_core = i < here;
    const int period = on_core ? draw(random, 300, 3000) : draw(random, 100, 800);
    const int part = on_core ? draw(random, 5, period / 6) : 0;
    Task& task = tasks.emplace_back(
        test::task_of("t" + std::to_string(i), std::chrono::microseconds(period),
                      Wcet{std::chrono::microseconds(part), std::chrono::microseconds(draw(random, 3, 15)),
                           std::chrono::microseconds(on_core ? draw(random, 3, period / 6) : 0)},
                      on_core ? 0 : 1 + static_cast<unsigned>(i)));
    if (draw(random, 0, 2) == 0) task.deadline = task.period * draw(random, 6, 10) / 10;
  }
  return test::set_of(std::move(tasks), Order::edf);
}

std::vector<ModelTask> model_of(const TaskSet& set, const Plan& plan) {
  std::vector<ModelTask> tasks(set.tasks.size());
  const auto us = [](Duration time) { return static_cast<int>(time / 1us); };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = set.tasks[i];
    tasks[plan.tasks[i].core_rank] = {us(task.period),       us(task.wcet->before),
                                      us(task.wcet->device), us(task.wcet->after),
                                      task.core == 0u,       plan.tasks[i].device_done_by.count()};
  }
  return tasks;
}

struct Attacked {
  int sets = 0, refuted = 0;
};

/// Draws sets that are proved with the scheduler on `service_core`, and simulates them with the scheduler on core 0.
Attacked attack(unsigned service_core) {
  Attacked found;
  Random random(5);
  while (found.sets < 250) {
    const TaskSet set = random_set(random);
    Board board = test::board_of();
    board.service_core = service_core;
    const Plan plan = make_plan(test::resolved(set, board), std::vector<MemoryDemand>(set.tasks.size())).value();
    if (!plan.proved) continue;
    ++found.sets;
    bool late = false;
    for (unsigned seed = 0; seed < 3; ++seed) {
      const std::vector<int> worst = ServiceCoreModel(model_of(set, plan), seed).run(20'000);
      for (const PlannedTask& task : plan.tasks)
        late = late || std::chrono::microseconds(worst[task.core_rank]) > *task.response_bound;
    }
    found.refuted += late;
  }
  return found;
}

TEST(ServiceCore, KeepsBoundsWhenSchedulerDecisionsTakeTime) { EXPECT_EQ(attack(0).refuted, 0); }
TEST(ServiceCore, ExceedsBoundsWithoutChargeForDecisions) { EXPECT_GT(attack(98).refuted, 50); }

// ---- the number of jobs that need decisions ----

struct UnderWay {
  Instant begin{}, end{};
};

/// Draws jobs of a best-effort task: parts of any length, and threads that get their core at any time.
std::vector<UnderWay> history(OnOverrun policy, Duration period, Random& random) {
  const auto some = [&](Duration most) { return Duration(draw(random, 0, static_cast<int>(most.count()))); };
  ReleaseGrid grid(policy, period, Instant{});
  std::vector<UnderWay> jobs;
  Instant now{};
  while (jobs.size() < 12) {
    now = std::max(now, grid.next()) + (draw(random, 0, 2) == 0 ? some(3 * period / 2) : Duration(0));
    const bool outstanding = !jobs.empty() && jobs.back().end > grid.next();
    ReleaseDecision decided = grid.at_release(outstanding);
    if (decided.kind == ReleaseDecision::Kind::skip) continue;
    if (decided.kind == ReleaseDecision::Kind::abort_and_wait)
      jobs.back().end = std::max(now, std::min(jobs.back().end, now + some(period)));
    if (outstanding) {
      now = std::max(now, jobs.back().end);
      decided = grid.after_wait(now);
    }
    jobs.push_back({now, now + 1ns + some(draw(random, 0, 1) == 0 ? period / 4 : 3 * period)});
  }
  return jobs;
}

/// Returns the maximum number of jobs under way in any half-open window of this length.
int max_in(const std::vector<UnderWay>& jobs, Duration window) {
  std::size_t most = 0;
  for (const UnderWay& first : jobs)
    for (const Instant from : {first.end, first.begin, first.end - window + 1ns}) {
      const auto under_way = [&](const UnderWay& job) { return job.begin < from + window && job.end >= from; };
      most = std::max(most, static_cast<std::size_t>(std::ranges::count_if(jobs, under_way)));
    }
  return static_cast<int>(most);
}

Load charged_load(const Task& task) {
  Plan plan;
  plan.tasks.resize(1);
  const NamedSet named = charged_set(plan, test::resolved(test::set_of({task}), test::board_of()),
                                     std::vector<std::size_t>{0}, Lateness::any);
  return named.set.service.front().load;
}

TEST(ServiceCore, ServesNoMoreLateBestEffortJobsThanCharged) {
  Task task = test::task_of("late", 40ns, {.device = 10ns});
  task.criticality = Criticality::best_effort;
  Random random(2);
  for (const OnOverrun policy : {OnOverrun::skip, OnOverrun::re_phase, OnOverrun::abort_job}) {
    task.on_overrun = policy;
    const Load load = charged_load(task);
    EXPECT_EQ(load.cost, (policy == OnOverrun::abort_job ? 3 : 2) * 5'000);
    bool attained = false;
    for (int run = 0; run < 4000; ++run) {
      const std::vector<UnderWay> jobs = history(policy, task.period, random);
      for (const Nanos window : {1, 5, 20, 39, 40, 41, 60, 79, 80, 81, 100}) {
        const int found = max_in(jobs, Duration(window));
        ASSERT_LE(found, static_cast<int>(jobs_in(load, window))) << window << " of " << run;
        attained = attained || found == static_cast<int>(jobs_in(load, window));
      }
    }
    EXPECT_TRUE(attained) << "no fewer will do";
  }
}

} // namespace
} // namespace rtexec::policies
