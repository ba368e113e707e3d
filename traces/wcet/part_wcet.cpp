#include "traces/wcet/part_wcet.hpp"

#include "config/profile.hpp"
#include "traces/wcet/growth.hpp"
#include "traces/wcet/pwcet.hpp"
#include "traces/wcet/sample_tests.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace rtexec::traces {
namespace {

constexpr std::size_t most_kept = 128; // blocks in a profile: 64 at least, for all halvings of growth
constexpr std::size_t least_half = 8;
constexpr double widest_limit = 2;      // of the longest
constexpr double widest_spread = 0.5;   // of the longest
constexpr double least_claiming = 1000; // jobs, of fewer a drift is not found

std::vector<double> numbers(const std::vector<Duration>& times) {
  std::vector<double> all;
  for (const Duration time : times) all.push_back(static_cast<double>(time.count()));
  return all;
}

std::vector<Duration> durations(const SampleSeries& series) {
  std::vector<Duration> all;
  for (const double time : series.samples()) all.emplace_back(static_cast<Duration::rep>(time));
  return all;
}

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

PartWcet part_wcet(const SampleSeries& latest, const SampleSeries& all, const WcetOptions& options) {
  const Growth grown = growth(all.samples(), all.block());
  const double jobs = static_cast<double>(all.samples().size()) * static_cast<double>(all.block());
  const double grown_longest = grown.after(-std::log2(jobs * options.exceedance));
  const double least = options.margin * grown.longest;
  const auto limit =
      upper_limit(estimate_pwcet(latest.samples(), {.exceedances = {options.exceedance}, .block = latest.block()}));
  if (limit && *limit <= widest_limit * grown.longest && *limit >= grown_longest)
    return {.value = std::max(*limit, least),
            .longest = grown.longest,
            .method = WcetMethod::tail_model,
            .exceedance = options.exceedance};
  const double spread = grown.longest - *std::ranges::min_element(all.samples());
  const double as_far_above = grown.longest + std::min(spread, widest_spread * grown.longest);
  return {.value = std::max({grown_longest, as_far_above, least}),
          .longest = grown.longest,
          .method = WcetMethod::growth,
          .exceedance = claimed(all.samples(), all.block())};
}

bool first_half_holds(const SampleSeries& executions, const WcetOptions& options) {
  const auto all = executions.samples();
  const std::size_t half = all.size() / 2;
  if (half < least_half) return false;
  const SampleSeries first(all.size(), executions.block(),
                           {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(half)});
  return *std::ranges::max_element(all.subspan(half)) <= part_wcet(first, options).value;
}

bool first_half_holds(const ProfileEntry& entry, Part part, const WcetOptions& options) {
  const PartBasis& basis = entry.basis(part);
  if (entry.observed.of(part) == Duration(0)) return true;
  return first_half_holds(SampleSeries(2 * most_kept, basis.block, numbers(basis.longest)), options);
}

void add_executions(ProfileEntry& entry, Part part, const SampleSeries& executions, Duration longest,
                    const WcetOptions& options) {
  PartBasis& basis = entry.basis(part);
  SampleSeries kept(most_kept, basis.block, numbers(basis.longest));
  const bool first = kept.samples().empty();
  kept.append(executions);
  Duration& observed = entry.observed.of(part);
  observed = std::max(observed, longest);
  entry.wcet.of(part) = with_margin(observed, options.margin);
  if (kept.samples().empty() || observed == Duration(0)) return;
  const PartWcet found = first ? part_wcet(executions, options) : part_wcet(executions, kept, options);
  entry.wcet.of(part) = std::max(entry.wcet.of(part), Duration(static_cast<Duration::rep>(std::ceil(found.value))));
  basis = {.method = found.method, .exceedance = found.exceedance, .block = kept.block(), .longest = durations(kept)};
  if (part != Part::device || basis.method != WcetMethod::growth || entry.layers.sum <= entry.wcet.device) return;
  basis.method = WcetMethod::layers;
  entry.wcet.device = entry.layers.sum;
}

} // namespace rtexec::traces
