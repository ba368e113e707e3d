// Decision time of the scheduler core, events per second in the simulator's loop, and time to make a plan and to choose
// memory policies.
#include "policies/admission/admission.hpp"
#include "policies/admission/comparison.hpp"
#include "policies/scheduler/device_scheduler.hpp"
#include "policies/bounds/end_to_end.hpp"
#include "policies/memory/memory_assignment.hpp"
#include "policies/admission/memory_policies.hpp"
#include "policies/device/volume_search.hpp"
#include "rtexec/studies/simulator/simulator.hpp"
#include "test/support/resolved.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
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

/// Returns `n` tasks on two cores that use three quarters of the device.
Prepared prepare(std::int64_t n, Order order, bool cpu_parts = true) {
  Prepared set;
  set.tasks.executive.order = order;
  set.board.capacity = set.board.chunk = Bytes{4096};
  set.board.memory_policies = {MemoryPolicy::device};
  std::mt19937_64 random(3);
  for (std::int64_t i = 0; i < n; ++i) {
    Task& task = set.tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(i);
    task.period = task.deadline =
        std::chrono::microseconds(std::uniform_int_distribution<int>(50'000, 500'000)(random));
    task.core = static_cast<unsigned>(i % 2);
    const Duration cpu_part = cpu_parts ? task.period / (10 * n) : Duration(0);
    task.wcet = Wcet{cpu_part, task.period * 3 / (4 * n), cpu_part};
  }
  set.memory.resize(set.tasks.tasks.size());
  set.plan = policies::make_plan(test::resolved(set.tasks, set.board), set.memory).value();
  return set;
}

Order order_of(const benchmark::State& state) { return state.range(1) == 0 ? Order::edf : Order::static_priority; }

/// Measures two decisions: the executing job ends and the next one starts; its task requests again and joins the queue.
void decision(benchmark::State& state) {
  const Prepared set = prepare(state.range(0), order_of(state));
  policies::DeviceScheduler scheduler(set.plan);
  std::vector<std::uint64_t> numbers(set.plan.tasks.size(), 0);
  std::int64_t now = 0;
  const auto feed = [&](policies::Event::Kind kind, policies::JobId job) {
    const Instant at{Duration(++now)};
    benchmark::DoNotOptimize(scheduler.on({kind, job, at, at + set.plan.tasks[job.task].device_done_by}).data());
  };
  for (std::uint32_t task = 0; task < set.plan.tasks.size(); ++task)
    feed(policies::Event::Kind::job_requested, {task, 0});
  for (auto _ : state) {
    const policies::JobId job = *scheduler.state().running;
    feed(policies::Event::Kind::execution_done, job);
    feed(policies::Event::Kind::job_requested, {job.task, ++numbers[job.task]});
  }
  state.counters["per_decision"] = benchmark::Counter(static_cast<double>(state.iterations()) * 2,
                                                      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(decision)->ArgNames({"tasks", "static_priority"})->Args({4, 0})->Args({16, 0})->Args({16, 1})->Args({64, 0});

void simulator_loop(benchmark::State& state) {
  const Prepared set = prepare(state.range(0), order_of(state), state.range(2) != 0);
  simulator::Options options;
  options.horizon = std::chrono::seconds(100);
  std::uint64_t events = 0, jobs = 0;
  for (auto _ : state) {
    const simulator::Outcome outcome = simulator::simulate(set.tasks, set.plan, options);
    events += outcome.events;
    for (const simulator::TaskStatistics& task : outcome.tasks) jobs += task.completed;
  }
  state.counters["scheduler_events_per_second"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
  state.counters["jobs_per_second"] = benchmark::Counter(static_cast<double>(jobs), benchmark::Counter::kIsRate);
}
BENCHMARK(simulator_loop)
    ->ArgNames({"tasks", "static_priority", "cpu_parts"})
    ->ArgsProduct({{4, 16}, {0, 1}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

void make_plan(benchmark::State& state) {
  const Prepared set = prepare(state.range(0), order_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(policies::make_plan(test::resolved(set.tasks, set.board), set.memory));
  state.counters["proved"] = set.plan.proved ? 1 : 0;
}
BENCHMARK(make_plan)
    ->ArgNames({"tasks", "static_priority"})
    ->Args({4, 0})
    ->Args({16, 0})
    ->Args({16, 1})
    ->Args({64, 0})
    ->Unit(benchmark::kMicrosecond);

/// Sets at the edge: CPU parts and device are nearly full, and deadlines are short. If `free`, tasks name no core.
Prepared crowded(std::int64_t n, Order order, bool free, std::uint64_t seed) {
  Prepared set;
  set.tasks.executive.order = order;
  set.tasks.executive.threads = ThreadPolicy::fifo;
  set.board.capacity = set.board.chunk = Bytes{4096};
  set.board.memory_policies = {MemoryPolicy::device};
  std::mt19937_64 random(seed);
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  for (std::int64_t i = 0; i < n; ++i) {
    Task& task = set.tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(i);
    const double period = draw(0.1, 4.0) * 1e7 * static_cast<double>(n);
    task.period = Duration(static_cast<std::int64_t>(period));
    task.deadline = Duration(static_cast<std::int64_t>(period * draw(0.5, 1)));
    if (!free) task.core = static_cast<unsigned>(i % 4);
    const auto part = [&](double share) {
      return Duration(static_cast<std::int64_t>(period * share * draw(0, 2) / static_cast<double>(n)));
    };
    task.wcet = Wcet{part(1.2), part(0.9), part(1.2)};
  }
  set.memory.resize(set.tasks.tasks.size());
  return set;
}

/// Plans that are hard to find, most of them refused. Reports the mean, and the longest time of one.
void make_crowded_plan(benchmark::State& state) {
  std::vector<Prepared> sets;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    sets.push_back(crowded(state.range(0), order_of(state), state.range(2) != 0, seed));
  std::size_t next = 0, proved = 0, examined = 0;
  double longest = 0;
  for (auto _ : state) {
    const Prepared& set = sets[next++ % sets.size()];
    const auto begin = std::chrono::steady_clock::now();
    proved += policies::make_plan(test::resolved(set.tasks, set.board, {0, 1, 2, 3}), set.memory)->proved;
    longest =
        std::max(longest, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    ++examined;
  }
  state.counters["proved"] = static_cast<double>(proved) / static_cast<double>(examined);
  state.counters["longest_ms"] = longest;
}
BENCHMARK(make_crowded_plan)
    ->ArgNames({"tasks", "static_priority", "free"})
    ->ArgsProduct({{64, 500}, {0, 1}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

// ---- sets that swap ----

/// Returns `n` networks like RT-Swap's (Kang et al., Table III), two thirds of whose memory fit. Periods are 3 to 5 s
/// for 13 tasks, longer for more.
Prepared swapping(std::int64_t n, Order order, std::uint64_t seed) {
  Prepared set;
  set.tasks.executive.order = order;
  set.tasks.executive.threads = ThreadPolicy::fifo;
  set.board.chunk = Bytes{std::uint64_t{64} << 20};
  set.board.copy_engines = 2;
  set.board.memory_policies = {MemoryPolicy::device};
  set.board.swap_costs = {{.chunk = set.board.chunk,
                           .in_per_chunk = std::chrono::microseconds(5660),
                           .out_per_chunk = std::chrono::microseconds(5240)}};
  std::mt19937_64 random(seed);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  std::uint64_t chunks = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    Task& task = set.tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(i);
    task.period = task.deadline = std::chrono::milliseconds(draw(3000, 5000) * std::max<std::int64_t>(n, 13) / 13);
    task.core = static_cast<unsigned>(i % 4);
    task.wcet =
        Wcet{std::chrono::microseconds(100), std::chrono::milliseconds(draw(29, 63)), std::chrono::microseconds(100)};
    const auto own = static_cast<std::uint64_t>(draw(16, 80));
    chunks += own;
    set.memory.push_back({.constant = {}, .scratch = {}, .state = set.board.chunk * own, .fixed = {}, .objects = {}});
  }
  set.board.capacity = set.board.chunk * (chunks * 2 / 3);
  return set;
}

/// Measures everything that `check` computes: the plan, and the comparison of the tests.
void check(benchmark::State& state) {
  std::vector<Prepared> sets;
  for (std::uint64_t seed = 0; seed < 8; ++seed) sets.push_back(swapping(state.range(0), order_of(state), seed));
  std::size_t next = 0, proved = 0, examined = 0;
  for (auto _ : state) {
    const Prepared& set = sets[next++ % sets.size()];
    const Plan plan = policies::make_plan(test::resolved(set.tasks, set.board), set.memory).value();
    benchmark::DoNotOptimize(policies::compare_device_tests(plan, test::resolved(set.tasks, set.board)));
    proved += plan.proved;
    ++examined;
  }
  state.counters["proved"] = static_cast<double>(proved) / static_cast<double>(examined);
}
BENCHMARK(check)
    ->ArgNames({"tasks", "static_priority"})
    ->ArgsProduct({{13, 500}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

/// Measures the choice of volumes: RT-Swap's problem (1a) to (1d), for its Table III.
void volumes(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<policies::DeviceSet> sets;
  const auto draw = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  for (int k = 0; k < 500; ++k) {
    policies::DeviceSet& set = sets.emplace_back();
    std::uint32_t all = 0;
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      const policies::Nanos period = policies::Nanos{draw(3000, 5000)} * 1'000'000;
      const std::uint32_t footprint = draw(16, 99);
      all += footprint;
      set.tasks.push_back({.period = period,
                           .deadline = period,
                           .execution = policies::Nanos{draw(29, 63)} * 1'000'000,
                           .most = footprint * draw(40, 84) / 100});
    }
    set.overflow = all > 384 ? all - 384 : 0;
    set.cost.in_per_chunk = std::chrono::microseconds(5660);
    set.cost.out_per_chunk = std::chrono::microseconds(5240);
  }
  std::size_t next = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        policies::volumes_for(sets[next++ % sets.size()], policies::DeviceTest::theorem1, Order::edf));
}
BENCHMARK(volumes)->ArgNames({"tasks"})->Arg(8)->Arg(13)->Unit(benchmark::kMicrosecond);

// ---- memory policies ----

/// Eight tasks with three options each, and response-time analysis as the predicate. Periods give a load of `load`
/// percent of the device, if all tasks are under the policy that executes fastest.
struct PolicyChoice {
  policies::MemoryProblem problem;
  policies::StagedSet set;

  [[nodiscard]] std::optional<policies::Nanos> slack(std::span<const Wcet> times) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      set.tasks[i].before = times[i].before.count();
      set.tasks[i].device = times[i].device.count();
      set.tasks[i].after = times[i].after.count();
    }
    const std::vector<policies::StageBounds> bounds = policies::static_priority_bounds(set);
    policies::Nanos least = policies::unbounded;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (!bounds[i].settled || bounds[i].done > set.tasks[i].deadline) return std::nullopt;
      least = std::min(least, set.tasks[i].deadline - bounds[i].done);
    }
    return bounds.size() == set.tasks.size() ? std::optional(least) : std::nullopt;
  }
};

PolicyChoice policy_choice(std::int64_t tasks, std::int64_t load, std::uint64_t seed) {
  PolicyChoice choice;
  std::mt19937_64 random(seed);
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  const auto bytes = [](double count) { return Bytes{static_cast<std::uint64_t>(count)}; };
  for (std::int64_t i = 0; i < tasks; ++i) {
    const double period = draw(20e6, 200e6);
    const double share = static_cast<double>(load) / 100 / static_cast<double>(tasks) * draw(0.7, 1.3);
    const double exchanged = draw(1e6, 64e6), own = draw(1e6, 256e6);
    const auto option = [&](MemoryPolicy policy, double device, double host, double factor) {
      const auto time = [&](double value) { return Duration(static_cast<std::int64_t>(value)); };
      return policies::MemoryOption{
          policy, bytes(device), {}, bytes(host), {time(period * 0.02), time(period * share * factor), time(1e5)}};
    };
    choice.problem.options.push_back({option(MemoryPolicy::device, own + exchanged, exchanged, 1),
                                      option(MemoryPolicy::managed, own + exchanged, 0, draw(0.95, 1.6)),
                                      option(MemoryPolicy::host, own, exchanged * 0.9, draw(1.05, 2))});
    choice.set.tasks.push_back({.period = static_cast<policies::Nanos>(period),
                                .deadline = static_cast<policies::Nanos>(period),
                                .core = static_cast<unsigned>(i % 2)});
  }
  choice.problem.unified = seed % 2 == 0;
  std::ranges::sort(choice.set.tasks, {}, &policies::StagedTask::period);
  return choice;
}

/// Reports the time of a search, and that of the hardest of 128 problems (its shortest run). `slack` searches for the
/// most slack within nine tenths of the memory that all take under D.
void memory_policies(benchmark::State& state) {
  std::vector<PolicyChoice> choices;
  for (std::uint64_t seed = 0; seed < 128; ++seed)
    choices.push_back(policy_choice(state.range(0), state.range(1), seed));
  std::size_t next = 0, questions = 0, found = 0, searches = 0;
  std::vector<double> shortest(choices.size(), 1e9);
  for (auto _ : state) {
    next = (next + 1) % choices.size();
    PolicyChoice& choice = choices[next];
    const policies::Admission admission{.slack = [&](std::span<const Wcet> times) {
      ++questions;
      return choice.slack(times);
    }};
    std::uint64_t all = 0;
    for (const auto& options : choice.problem.options)
      all += options[0].device.count + (choice.problem.unified ? options[0].host.count : 0);
    const bool most = state.range(2) != 0;
    choice.problem.capacity = Bytes{most ? all / 10 * 9 : policies::MemoryProblem::unlimited};
    const auto begin = std::chrono::steady_clock::now();
    found += (most ? policies::max_slack(choice.problem, admission) : policies::min_memory(choice.problem, admission))
                 .has_value();
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
    shortest[next] = std::min(shortest[next], taken.count());
    ++searches;
  }
  state.counters["found"] = static_cast<double>(found) / static_cast<double>(searches);
  state.counters["questions"] = static_cast<double>(questions) / static_cast<double>(searches);
  state.counters["hardest_us"] = std::ranges::max(shortest);
}
BENCHMARK(memory_policies)
    ->ArgNames({"tasks", "load", "slack"})
    ->ArgsProduct({{8}, {30, 45, 60, 75}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

/// A set for the same choice with plans as predicate: D, M and H of `n` tasks, on two cores or, if `free`, on cores
/// that the planner finds. Deadlines are at least six tenths of the period.
struct PolicySet {
  ResolvedSet set;
  std::vector<std::vector<policies::MeasuredPolicy>> measured;
};

PolicySet policy_set(std::int64_t n, Order order, bool free, std::uint64_t seed) {
  const std::int64_t load = 30 + static_cast<std::int64_t>(seed % 4) * 15;
  const PolicyChoice choice = policy_choice(n, load, seed);
  std::mt19937_64 random(seed);
  TaskSet tasks;
  tasks.executive.order = order;
  tasks.executive.threads = ThreadPolicy::fifo;
  tasks.swap.policy = SwapPolicy::none;
  PolicySet made;
  Bytes all{0};
  for (std::size_t i = 0; i < choice.problem.options.size(); ++i) {
    const std::vector<policies::MemoryOption>& options = choice.problem.options[i];
    Task& task = tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(i);
    task.period = options[0].wcet.before * 50;
    task.deadline = task.period * std::uniform_int_distribution<int>(60, 100)(random) / 100;
    if (!free) task.core = static_cast<unsigned>(i % 2);
    task.memory_policy = MemoryPolicy::automatic;
    auto& list = made.measured.emplace_back();
    for (const policies::MemoryOption& option : options)
      list.push_back({option.policy, {.outside = option.device, .host = option.host, .objects = {}}, option.wcet});
    all += options[0].device + (choice.problem.unified ? options[0].host : Bytes{0});
  }
  Board board;
  board.memory_policies = {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};
  board.chunk = Bytes{4096};
  board.capacity = Bytes{all.count / 10 * 9};
  board.unified_memory = choice.problem.unified;
  board.context_switch = std::chrono::microseconds(2);
  board.dispatch = std::chrono::microseconds(10);
  board.release_latency = std::chrono::microseconds(20);
  made.set = test::resolved(std::move(tasks), board, {0, 1});
  return made;
}

/// Measures the choice for 128 sets, each by the shortest of its searches. There is memory for nine tenths of what all
/// take under D.
void choose_memory_policies(benchmark::State& state) {
  std::vector<PolicySet> sets;
  for (std::uint64_t seed = 0; seed < 128; ++seed)
    sets.push_back(policy_set(state.range(0), order_of(state), state.range(3) != 0, seed));
  const auto objective = state.range(2) != 0 ? MemoryObjective::max_slack : MemoryObjective::min_memory;
  std::vector<double> shortest(sets.size(), 1e9);
  std::size_t next = 0, proved = 0, searches = 0;
  for (auto _ : state) {
    next = (next + 1) % sets.size();
    const auto begin = std::chrono::steady_clock::now();
    const auto found = policies::choose_memory_policies(sets[next].set, sets[next].measured, objective);
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
    shortest[next] = std::min(shortest[next], taken.count());
    proved += found && found->plan.proved;
    ++searches;
  }
  std::ranges::sort(shortest);
  state.counters["proved"] = static_cast<double>(proved) / static_cast<double>(searches);
  state.counters["p50_us"] = shortest[shortest.size() / 2];
  state.counters["p99_us"] = shortest[shortest.size() * 99 / 100];
  state.counters["max_us"] = shortest.back();
}
BENCHMARK(choose_memory_policies)
    ->ArgNames({"tasks", "static_priority", "slack", "free"})
    ->ArgsProduct({{8}, {0, 1}, {0, 1}, {0, 1}})
    ->Iterations(512)
    ->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace rtexec

BENCHMARK_MAIN();
