#include "traces/wcet/part_wcet.hpp"

#include "traces/wcet/growth.hpp"
#include "traces/wcet/sample_tests.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace rtexec::traces {
namespace {

constexpr double widest_limit = 2;      // of the longest
constexpr double least_claiming = 1000; // jobs, of fewer a drift is not found

/// Of both models; nothing where one is refused.
std::optional<double> upper_limit(const Pwcet& pwcet) {
  if (!pwcet.pot.refused.empty() || !pwcet.maxima.refused.empty()) return std::nullopt;
  return std::max(pwcet.pot.quantiles[0].confidence.high, pwcet.maxima.quantiles[0].confidence.high);
}

double claimed(std::span<const double> samples, std::uint64_t block) {
  const auto jobs = static_cast<double>(block);
  if (static_cast<double>(samples.size()) * jobs < least_claiming) return 0;
  const auto [shortest, longest] = std::ranges::minmax(samples);
  if (shortest < longest && !kpss(samples).holds) return 0;
  return -std::expm1(std::log(0.05) / (independent_samples(samples) * jobs));
}

} // namespace

PartWcet part_wcet(std::span<const double> samples, std::uint64_t block, const WcetOptions& options) {
  const Growth grown = growth(samples);
  const double jobs = static_cast<double>(samples.size()) * static_cast<double>(block);
  const double grown_longest = grown.after(-std::log2(jobs * options.exceedance));
  const double least = options.margin * grown.longest;
  const auto limit = upper_limit(estimate_pwcet(samples, {.exceedances = {options.exceedance}, .block = block}));
  if (limit && *limit <= widest_limit * grown.longest && *limit >= grown_longest)
    return {.value = std::max(*limit, least),
            .longest = grown.longest,
            .method = WcetMethod::tail_model,
            .exceedance = options.exceedance};
  return {.value = std::max(grown_longest, least),
          .longest = grown.longest,
          .method = WcetMethod::growth,
          .exceedance = claimed(samples, block)};
}

} // namespace rtexec::traces
