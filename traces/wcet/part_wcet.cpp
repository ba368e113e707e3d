#include "traces/wcet/part_wcet.hpp"

#include "config/profile_file.hpp"
#include "traces/wcet/growth.hpp"
#include "traces/wcet/pwcet.hpp"
#include "traces/wcet/sample_tests.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace rtexec::traces {
namespace {

constexpr std::size_t max_kept = 128; // blocks in a profile; growth() needs at least 64 for all halvings
constexpr std::size_t min_half = 8;
constexpr double widest_limit = 2; // maximum of the models' limit (rule 1), as a multiple of the longest execution
/// Maximum of the grown longest execution (rule 2), as a multiple of the longest execution
constexpr double widest_growth = 1.5;
/// Minimum number of jobs for a claim (see the header); a drift is not found with fewer jobs
constexpr double min_claiming = 1000;
constexpr double short_part = 100'000; // ns; the execution times of shorter parts vary mostly by interruptions

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

/// Returns the shortest execution. Searches `latest` too, because `all` may store only the longest of each block of
/// earlier executions.
double shortest(const SampleSeries& latest, const SampleSeries& all) {
  const double of_all = *std::ranges::min_element(all.samples());
  return latest.samples().empty() ? of_all : std::min(of_all, *std::ranges::min_element(latest.samples()));
}

/// Returns the larger of both models' upper limits; nullopt if one of the models is refused.
std::optional<double> upper_limit(const Pwcet& pwcet) {
  if (!pwcet.pot.refused.empty() || !pwcet.maxima.refused.empty()) return std::nullopt;
  return std::max(pwcet.pot.quantiles[0].confidence.high, pwcet.maxima.quantiles[0].confidence.high);
}

double claimed(std::span<const double> samples, std::uint64_t block) {
  const auto jobs = static_cast<double>(block);
  if (static_cast<double>(samples.size()) * jobs < min_claiming) return 0;
  const auto [shortest, longest] = std::ranges::minmax(samples);
  if (shortest < longest && !kpss(samples).holds) return 0;
  return -std::expm1(std::log(0.05) / (independent_samples(samples) * jobs));
}

/// The figures of one of several parts that were measured together.
struct Found {
  Part part = Part::device;
  double shortest = 0;
  double wcet = 0;
};

void allow_interruptions(std::span<Found> parts) {
  double of_cpu = 0, of_device = 0;
  const auto longest = [&](const Found& found) -> double& { return found.part == Part::device ? of_device : of_cpu; };
  for (const Found& found : parts)
    if (found.shortest < short_part) longest(found) = std::max(longest(found), found.wcet - found.shortest);
  for (Found& found : parts) found.wcet = std::max(found.wcet, found.shortest + longest(found));
}

bool enough(const SampleSeries& executions) { return executions.samples().size() >= 2 * min_half; }

std::span<const double> first_half(const SampleSeries& executions) {
  return executions.samples().first(executions.samples().size() / 2);
}

std::span<const double> second_half(const SampleSeries& executions) {
  return executions.samples().subspan(executions.samples().size() / 2);
}

Found in_first_half(const MeasuredPart& measured, const WcetOptions& options) {
  if (!enough(measured.executions)) return {};
  const auto samples = first_half(measured.executions);
  const SampleSeries first(samples.size() + 1, measured.executions.block(), {samples.begin(), samples.end()});
  return {
      .part = measured.part, .shortest = *std::ranges::min_element(samples), .wcet = part_wcet(first, options).value};
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
  const double as_far_above = 2 * grown.longest - shortest(latest, all);
  return {.value = std::max(std::min(std::max(grown_longest, as_far_above), widest_growth * grown.longest), least),
          .longest = grown.longest,
          .method = WcetMethod::growth,
          .exceedance = claimed(all.samples(), all.block())};
}

std::vector<bool> first_halves_hold(std::span<const MeasuredPart> parts, const WcetOptions& options) {
  std::vector<Found> found;
  for (const MeasuredPart& part : parts) found.push_back(in_first_half(part, options));
  allow_interruptions(found);
  std::vector<bool> hold;
  for (std::size_t i = 0; i < parts.size(); ++i)
    hold.push_back(enough(parts[i].executions) &&
                   *std::ranges::max_element(second_half(parts[i].executions)) <= found[i].wcet);
  return hold;
}

std::vector<MeasuredPart> measured_parts(const ProfileEntry& entry) {
  std::vector<MeasuredPart> parts;
  for (const Part part : {Part::before, Part::device, Part::after})
    if (const PartBasis& basis = entry.basis(part); entry.observed.of(part) > Duration(0))
      parts.push_back({.part = part, .executions = {2 * max_kept, basis.block, numbers(basis.longest)}});
  return parts;
}

void add_executions(ProfileEntry& entry, Part part, const SampleSeries& executions, Duration longest,
                    const WcetOptions& options) {
  PartBasis& basis = entry.basis(part);
  SampleSeries kept(max_kept, basis.block, numbers(basis.longest));
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

void allow_interruptions(std::span<ProfileEntry> entries) {
  std::vector<Found> found;
  std::vector<Duration*> wcets;
  for (ProfileEntry& entry : entries)
    for (const Part part : {Part::before, Part::device, Part::after})
      if (const auto& kept = entry.basis(part).longest; !kept.empty() && entry.observed.of(part) > Duration(0)) {
        const Duration& wcet = *wcets.emplace_back(&entry.wcet.of(part));
        found.push_back({.part = part,
                         .shortest = static_cast<double>(std::ranges::min_element(kept)->count()),
                         .wcet = static_cast<double>(wcet.count())});
      }
  allow_interruptions(found);
  for (std::size_t i = 0; i < found.size(); ++i) *wcets[i] = Duration(static_cast<Duration::rep>(found[i].wcet));
}

} // namespace rtexec::traces
