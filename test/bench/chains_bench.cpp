// The fraction of reaction-time limits that are accepted: by the bounds of chains, and by the sum of periods and
// response bounds (Davare et al., DAC 2007). Random chains have 2 to 6 tasks with periods as in cars (Kramer et al.,
// WATERS 2015), and response bounds of a tenth to nine tenths of them. The limit is a share of the sum of periods.
// Arguments, in percent: that share, and how many tasks their predecessor releases.
#include "policies/chains/chain_bounds.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <random>

namespace rtexec::policies {
namespace {

using Random = std::mt19937_64;

Nanos draw(Random& random, Nanos low, Nanos high) { return std::uniform_int_distribution<Nanos>(low, high)(random); }

std::vector<ChainTask> random_chain(Random& random, Nanos followers) {
  constexpr std::array<Nanos, 8> periods{1, 2, 5, 10, 20, 50, 100, 200};
  constexpr Nanos ms = 1'000'000;
  std::vector<ChainTask> chain;
  for (Nanos tasks = draw(random, 2, 6); tasks > 0; --tasks) {
    ChainTask& task = chain.emplace_back();
    task.period = periods[static_cast<std::size_t>(draw(random, 0, periods.size() - 1))] * ms;
    task.offset = draw(random, 0, task.period / ms - 1) * ms;
    if (chain.size() > 1 && draw(random, 1, 100) <= followers) {
      task.release = ChainTask::Release::after;
      task.period = std::min(task.period, chain[chain.size() - 2].period);
    }
    task.output = task.period * draw(random, 10, 90) / 100;
  }
  return chain;
}

void limits(benchmark::State& state) {
  Random random(1);
  double ours = 0, davare = 0, chains = 0;
  for (auto _ : state) {
    const std::vector<ChainTask> chain = random_chain(random, state.range(1));
    Nanos sum = 0;
    for (const ChainTask& task : chain) sum += task.period;
    const Nanos limit = sum * state.range(0) / 100;
    ++chains;
    ours += *chain_bounds(chain).reaction <= limit;
    davare += *davare_bound(chain) <= limit;
  }
  state.counters["accepted_percent"] = 100 * ours / chains;
  state.counters["davare_percent"] = 100 * davare / chains;
}
BENCHMARK(limits)
    ->ArgNames({"limit", "followers"})
    ->ArgsProduct({{60, 80, 100, 120, 140, 160}, {0, 50}})
    ->Iterations(100'000);

} // namespace
} // namespace rtexec::policies

BENCHMARK_MAIN();
