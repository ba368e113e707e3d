// Decision time of the scheduler core, events per second in the simulator's loop, and time to make a plan.
#include "policies/admission.hpp"
#include "policies/device_scheduler.hpp"
#include "rtexec/simulator/simulator.hpp"

#include <benchmark/benchmark.h>

#include <random>
#include <string>

namespace rtexec {
namespace {

struct Prepared {
  TaskSet tasks;
  Board board;
  std::vector<MemoryDemand> memory;
  Plan plan;
};

/// `n` tasks on two cores, three quarters of the device used.
Prepared prepare(std::int64_t n, Order order) {
  Prepared set;
  set.tasks.executive.order = order;
  set.board.capacity = set.board.chunk = Bytes{4096};
  set.board.memory_policies = {MemoryPolicy::device};
  std::mt19937_64 random(3);
  for (std::int64_t i = 0; i < n; ++i) {
    Task& task = set.tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(i);
    task.period = task.deadline = std::chrono::microseconds(std::uniform_int_distribution<int>(50'000, 500'000)(random));
    task.core = static_cast<unsigned>(i % 2);
    task.wcet = Wcet{task.period / (10 * n), task.period * 3 / (4 * n), task.period / (10 * n)};
  }
  set.memory.resize(set.tasks.tasks.size());
  set.plan = policies::make_plan(set.tasks, set.board, set.memory).value();
  return set;
}

Order order_of(const benchmark::State& state) { return state.range(1) == 0 ? Order::edf : Order::static_priority; }

/// Two decisions: the executing job ends and the next one starts; its task asks again and joins the queue.
void decision(benchmark::State& state) {
  const Prepared set = prepare(state.range(0), order_of(state));
  policies::DeviceScheduler scheduler(set.plan);
  policies::Actions actions(policies::DeviceScheduler::actions_per_event);
  std::vector<std::uint64_t> numbers(set.plan.tasks.size(), 0);
  std::int64_t now = 0;
  const auto feed = [&](policies::Event::Kind kind, policies::JobId job) {
    actions.clear();
    const Instant at{Duration(++now)};
    scheduler.on({kind, job, at, at + set.plan.tasks[job.task].device_done_by}, actions);
    benchmark::DoNotOptimize(actions.all().data());
  };
  for (std::uint32_t task = 0; task < set.plan.tasks.size(); ++task) feed(policies::Event::Kind::job_requested, {task, 0});
  for (auto _ : state) {
    const policies::JobId job = *scheduler.state().running;
    feed(policies::Event::Kind::execution_done, job);
    feed(policies::Event::Kind::job_requested, {job.task, ++numbers[job.task]});
  }
  state.counters["per_decision"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 2, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(decision)->ArgNames({"tasks", "static_priority"})->Args({4, 0})->Args({16, 0})->Args({16, 1})->Args({64, 0});

void simulator_loop(benchmark::State& state) {
  const Prepared set = prepare(state.range(0), order_of(state));
  simulator::Options options;
  options.horizon = std::chrono::seconds(100);
  std::uint64_t events = 0;
  for (auto _ : state) events += simulator::simulate(set.tasks, set.plan, options).events;
  state.counters["scheduler_events_per_second"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(simulator_loop)->ArgNames({"tasks", "static_priority"})->Args({4, 0})->Args({16, 0})->Args({16, 1})->Unit(benchmark::kMillisecond);

void make_plan(benchmark::State& state) {
  const Prepared set = prepare(state.range(0), order_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(policies::make_plan(set.tasks, set.board, set.memory));
  state.counters["proved"] = set.plan.proved ? 1 : 0;
}
BENCHMARK(make_plan)->ArgNames({"tasks", "static_priority"})->Args({4, 0})->Args({16, 0})->Args({16, 1})->Args({64, 0})->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace rtexec

BENCHMARK_MAIN();
