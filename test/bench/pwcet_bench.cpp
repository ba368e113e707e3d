// Measures the claims of the probabilistic WCET. How often does the 95 % interval at exceedance 1e-6 contain the truth?
// How often are faultless samples refused, and faulty ones? How long do a million samples take? How many WCETs of
// profiles are exceeded more often than they claim (--claims: with more profiles)? --tables prints the tables of
// traces/wcet/fit_tests.cpp.
#include "test/bench/statistics.hpp"
#include "test/traces/pwcet_samples.hpp"
#include "traces/wcet/fit_tests.hpp"
#include "traces/wcet/gev.hpp"
#include "traces/wcet/gpd.hpp"
#include "traces/wcet/part_wcet.hpp"
#include "traces/wcet/pwcet.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

using namespace rtexec;
using namespace rtexec::traces;

constexpr double exceedance = 1e-6;

struct Count {
  int used = 0, covered = 0;
  void add(const TailModel& model, double truth) {
    if (model.quantiles.empty()) return;
    ++used;
    const Interval& interval = model.quantiles[0].confidence;
    covered += interval.low <= truth && truth <= interval.high ? 1 : 0;
  }
  [[nodiscard]] double coverage() const { return 100.0 * covered / used; }
};

void coverage(std::size_t samples, int repetitions) {
  std::printf("%zu samples, %d repetitions: 95 %% intervals at %g that hold the truth (goal: at least 90 %%)\n",
              samples, repetitions, exceedance);
  std::printf("  %-20s %6s %6s   refused: both %6s %6s\n", "", "gpd", "gev", "gpd", "gev");
  for (const auto& distribution : test::distributions()) {
    test::Random random(samples);
    Count pot, maxima;
    int refused = 0;
    for (int i = 0; i < repetitions; ++i) {
      const Pwcet result =
          estimate_pwcet(test::samples(samples, random, distribution.draw), {.exceedances = {exceedance}});
      refused += result.refused.empty() ? 0 : 1;
      pot.add(result.pot, distribution.quantile(exceedance));
      maxima.add(result.maxima, distribution.quantile(exceedance));
    }
    std::printf("  %-20s %5.1f%% %5.1f%% %14.1f%% %5.1f%% %5.1f%%\n", distribution.name.c_str(), pot.coverage(),
                maxima.coverage(), 100.0 * refused / repetitions, 100.0 * (repetitions - pot.used) / repetitions,
                100.0 * (repetitions - maxima.used) / repetitions);
  }
}

void rejection(std::size_t samples, int repetitions) {
  std::printf("%zu samples, %d repetitions: refused (goal: at least 95 %%)\n", samples, repetitions);
  for (const auto& broken : test::broken_samples()) {
    test::Random random(samples);
    int refused = 0;
    for (int i = 0; i < repetitions; ++i)
      refused += estimate_pwcet(broken.make(samples, random), {}).refused.empty() ? 0 : 1;
    std::printf("  %-24s %5.1f%%\n", broken.name.c_str(), 100.0 * refused / repetitions);
  }
}

/// Prints, for WCETs as `rtexec profile` computes them, how many are exceeded in the long run more often than they
/// claim.
void claims(std::size_t samples, int repetitions) {
  std::printf("%zu jobs, %d profiles: WCETs that are exceeded no more often than is claimed (goal: at least 95 %%)\n",
              samples, repetitions);
  std::printf("  %-24s %6s   claimed: %6s %9s %9s %9s  %s\n", "", "kept", "1e-6", "by growth", "(a job)", "nothing",
              "WCET / longest seen");
  for (const auto& process : test::processes()) {
    test::Random random(samples);
    int kept = 0, by_model = 0, by_growth = 0, nothing = 0;
    double claimed = 0;
    std::vector<double> widths;
    for (int i = 0; i < repetitions; ++i) {
      const PartWcet wcet = part_wcet({samples + 1, 1, process.make(samples, random)}, {});
      widths.push_back(wcet.value / wcet.longest);
      if (wcet.exceedance == 0) ++nothing;
      else if (wcet.method == WcetMethod::tail_model) ++by_model;
      else ++by_growth, claimed += wcet.exceedance;
      kept += wcet.exceedance == 0 || process.exceeds(wcet.value) <= wcet.exceedance ? 1 : 0;
    }
    const auto share = [&](int count) { return 100.0 * count / repetitions; };
    std::printf("  %-24s %5.1f%%            %5.1f%% %8.1f%% %9.1e %8.1f%%  %.2f, at most %.2f\n", process.name.c_str(),
                share(kept), share(by_model), share(by_growth), by_growth > 0 ? claimed / by_growth : 0, share(nothing),
                bench::median(widths), *std::max_element(widths.begin(), widths.end()));
  }
}

void duration() {
  test::Random random(1);
  const auto x = test::samples(1'000'000, random, [](test::Random& r) { return test::gumbel(test::uniform(r)); });
  std::vector<double> seconds;
  for (int i = 0; i < 9; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Pwcet result = estimate_pwcet(x, {});
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (!result.refused.empty()) std::printf("  refused: %s\n", result.refused.c_str());
  }
  std::printf("a million samples, three quantiles, both models: %.3f s, median of %zu (goal: at most 2 s)\n",
              bench::median(seconds), seconds.size());
}

/// Computes one row of each table: the values that both statistics exceed with the tables' probabilities, over fitted
/// samples of 200.
template <typename Model, typename Fit>
std::array<std::vector<double>, 2> statistics(const Model& model, const Fit& fit, int repetitions) {
  constexpr std::size_t count = 200;
  test::Random random(11);
  std::array<std::vector<double>, 2> all;
  for (int i = 0; i < repetitions; ++i) {
    auto x = test::samples(count, random, [&](test::Random& r) { return model.quantile(test::uniform(r)); });
    std::sort(x.begin(), x.end());
    const auto fitted = fit(x);
    if (!fitted) continue;
    for (double& value : x) value = 1 - fitted->survival(value);
    all[0].push_back(anderson_darling_statistic(x));
    all[1].push_back(kolmogorov_smirnov_statistic(x));
  }
  return all;
}

void tables(int repetitions) {
  for (const bool gev : {false, true})
    for (const double shape : {-0.4, -0.2, 0.0, 0.2, 0.4}) {
      auto both =
          gev ? statistics(Gev{0, 1, shape}, fit_gev, repetitions) : statistics(Gpd{1, shape}, fit_gpd, repetitions);
      for (std::size_t s = 0; s < both.size(); ++s) {
        std::sort(both[s].begin(), both[s].end());
        std::printf("%s %-18s %4.1f:", gev ? "gev" : "gpd", s == 0 ? "anderson-darling" : "kolmogorov-smirnov", shape);
        for (const double p : {0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.001})
          std::printf(" %.3f", both[s][static_cast<std::size_t>((1 - p) * static_cast<double>(both[s].size()))]);
        std::printf("\n");
      }
    }
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (what == "--tables") return tables(40'000), 0;
  if (what == "--million") return coverage(1'000'000, 40), 0;
  if (what == "--claims") {
    for (const std::size_t jobs : {500U, 1'000U, 5'000U, 20'000U}) claims(jobs, 500);
    return 0;
  }
  if (!what.empty()) return std::fprintf(stderr, "usage: %s [--tables | --million | --claims]\n", argv[0]), 2;
  duration();
  for (const std::size_t samples : {5'000U, 10'000U, 100'000U}) coverage(samples, 200);
  rejection(10'000, 200);
  claims(5'000, 100);
  return 0;
}
