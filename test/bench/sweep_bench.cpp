// How a study scales with threads: sets per second, all tests, and the speed-up over one thread if as many cores are
// idle. If they are not, cpu_ratio still shows the overhead of threads: CPU time relative to that of one thread, 1 if
// there is no overhead.
#include "rtexec/studies/sweep/presets.hpp"
#include "rtexec/studies/sweep/study.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <ctime>
#include <map>
#include <thread>

namespace rtexec::study {
namespace {

constexpr std::size_t sets = 400;

void sweep(benchmark::State& state) {
  Study study = presets().front().study;
  study.values = {9, 12};
  study.sets = sets;
  const auto tests = columns(study.order, false);
  study.tests.assign(tests.begin(), tests.end());
  static std::map<std::int64_t, double> seconds, processor; // per round, by number of threads
  std::chrono::duration<double> whole{0};
  double all = 0;
  for (auto _ : state) {
    Outcomes outcomes(study.values.size(), study.sets);
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t before = std::clock();
    work_out(study, outcomes, static_cast<unsigned>(state.range(0)), [](std::span<const std::size_t>) { return true; });
    all += static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    whole += std::chrono::steady_clock::now() - begin;
  }
  const double round = whole.count() / static_cast<double>(state.iterations());
  seconds[state.range(0)] = round;
  processor[state.range(0)] = all / static_cast<double>(state.iterations());
  state.counters["sets_per_second"] = static_cast<double>(study.values.size() * sets) / round;
  state.counters["speed_up"] = seconds[1] / round;
  state.counters["cpu_ratio"] = processor[state.range(0)] / processor[1];
}

/// Tries 1, 2, 4, ... threads, up to the number of cores.
void threads(benchmark::internal::Benchmark* each) {
  for (unsigned count = 1; count <= std::thread::hardware_concurrency(); count *= 2) each->Arg(count);
}
BENCHMARK(sweep)->ArgName("threads")->Apply(threads)->UseRealTime()->Unit(benchmark::kMillisecond);

} // namespace
} // namespace rtexec::study

BENCHMARK_MAIN();
