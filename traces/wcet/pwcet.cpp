#include "traces/wcet/pwcet.hpp"

#include "traces/wcet/sample_tests.hpp"
#include "traces/wcet/tail.hpp"
#include "traces/wcet/words.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::traces {
namespace {

constexpr std::size_t min_samples = 2000;

/// Returns the reason why no figures can be computed with these samples and options; empty if figures can be computed.
std::string not_computable(std::span<const double> samples, const PwcetOptions& options) {
  // Within these limits, squares and their sums do not overflow
  const auto not_a_time = [](double x) { return !(x == 0 || (x >= 1e-100 && x <= 1e100)); };
  if (const auto bad = std::find_if(samples.begin(), samples.end(), not_a_time); bad != samples.end())
    return "sample " + number(static_cast<std::size_t>(bad - samples.begin())) + " is " + number(*bad) + ": not a time";
  if (samples.empty()) return "no samples";
  if (options.block == 0) return "a sample is the maximum of 0 jobs: at least 1 is needed";
  for (const double exceedance : options.exceedances)
    if (!(exceedance > 0 && exceedance < 1))
      return "an exceedance of " + number(exceedance) + " is not between 0 and 1";
  return "";
}

DistributionFreeBound distribution_free(std::span<const double> samples, std::uint64_t block) {
  const double jobs = static_cast<double>(samples.size()) * static_cast<double>(block);
  return {*std::max_element(samples.begin(), samples.end()), -std::expm1(std::log(0.05) / jobs)};
}

/// Returns the reason why the samples are too few or too similar; empty if the samples suffice.
std::string too_few(const Samples& samples) {
  if (samples.size() < min_samples)
    return number(samples.size()) + " samples: at least " + number(min_samples) + " are needed; record longer";
  if (samples.distinct_in_top < min_distinct)
    return "only " + number(samples.distinct_in_top) + " different values among the largest " +
           number(in_top(samples.size())) + ": at least " + number(min_distinct) +
           " are needed; measure with a finer clock, or longer";
  return "";
}

std::string failed(const std::vector<ApplicabilityTest>& tests) {
  std::string reasons;
  for (const auto& test : tests)
    if (!test.holds)
      reasons += (reasons.empty() ? "samples are not: " : ", ") + test.property + " (" + test.name +
                 ", p = " + number(test.p_value) + ")";
  return reasons;
}

} // namespace

Pwcet estimate_pwcet(std::span<const double> measured, const PwcetOptions& options) {
  Pwcet result;
  result.samples = measured.size();
  result.pot.name = "gpd";
  result.maxima.name = "gev";
  const auto refuse = [&](std::string reason) {
    result.refused = result.pot.refused = result.maxima.refused = std::move(reason);
    return result;
  };
  if (auto reason = not_computable(measured, options); !reason.empty()) return refuse(std::move(reason));
  result.bound = distribution_free(measured, options.block);
  const Samples samples(measured);
  if (auto reason = too_few(samples); !reason.empty()) return refuse(std::move(reason));
  const double median = samples.ascending[samples.size() / 2];
  result.tests = {kpss(measured),         kpss_of_spread(measured, median), ljung_box(measured),
                  runs(measured, median), rescaled_range(measured),         one_tail(samples)};
  if (auto reason = failed(result.tests); !reason.empty()) return refuse(std::move(reason));
  result.pot = peaks_over_threshold(samples, options);
  result.maxima = block_maxima(samples, options);
  if (!result.pot.refused.empty() && !result.maxima.refused.empty())
    result.refused = "peaks over threshold: " + result.pot.refused + "; block maxima: " + result.maxima.refused;
  return result;
}

} // namespace rtexec::traces
