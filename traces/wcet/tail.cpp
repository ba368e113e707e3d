#include "traces/wcet/tail.hpp"

#include "traces/wcet/fit_tests.hpp"
#include "traces/wcet/gev.hpp"
#include "traces/wcet/gpd.hpp"
#include "traces/wcet/sample_tests.hpp"
#include "traces/wcet/words.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/complement.hpp>
#include <boost/math/distributions/normal.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rtexec::traces {
namespace {

// A model is refused if its shape is above 0.5 or below -0.5. Above 0.5 the distribution has no variance. Below -0.5
// the theory of maximum likelihood does not apply
constexpr double steepest = 0.5;

std::size_t growing(double factor, std::size_t samples) {
  return std::max(min_used, static_cast<std::size_t>(factor * std::pow(static_cast<double>(samples), 0.3)));
}

void spread_ties(std::span<double> ascending, double granule) {
  for (std::size_t begin = 0, end = 0; begin < ascending.size(); begin = end) {
    while (end < ascending.size() && ascending[end] == ascending[begin]) ++end;
    const auto ties = static_cast<double>(end - begin);
    for (std::size_t i = begin; ties > 1 && i < end; ++i)
      ascending[i] += granule * ((static_cast<double>(i - begin) + 0.5) / ties - 0.5);
  }
}

std::vector<double> excesses(const Samples& samples, std::size_t used) {
  const auto first = samples.ascending.end() - static_cast<std::ptrdiff_t>(used);
  std::vector<double> y(first, samples.ascending.end());
  for (double& value : y) value -= *(first - 1);
  return y;
}

std::vector<double> evenly_ranked(const std::vector<double>& ascending) {
  const std::size_t some = std::min(ascending.size(), max_tested);
  std::vector<double> ranked(some);
  for (std::size_t i = 0; i < some; ++i) ranked[i] = ascending[(2 * i + 1) * ascending.size() / (2 * some)];
  return ranked;
}

template <typename Law> std::vector<double> probabilities(const Law& law, std::span<const double> ascending) {
  std::vector<double> u(ascending.size());
  std::transform(ascending.begin(), ascending.end(), u.begin(), [&](double x) { return 1 - law.survival(x); });
  return u;
}

ApplicabilityTest fit_test(const char* name, double statistic, double p, std::size_t tested) {
  const auto rule = "p >= " + number(level) + " of " + number(tested) + ", by tables up to 0.5";
  return {name, "fits", statistic, p, p >= level, rule};
}

ApplicabilityTest anderson_darling(Law law, double shape, std::span<const double> u) {
  const double statistic = anderson_darling_statistic(u);
  return fit_test("anderson-darling", statistic, anderson_darling_p_value(law, shape, statistic), u.size());
}

ApplicabilityTest kolmogorov_smirnov(Law law, double shape, std::span<const double> u) {
  const double statistic = kolmogorov_smirnov_statistic(u);
  return fit_test("kolmogorov-smirnov", statistic, kolmogorov_smirnov_p_value(law, shape, statistic), u.size());
}

/// Tests the coefficient of variation of n excesses. For an exponential tail it is asymptotically normal with mean 1
/// and variance 1 / n (del Castillo, Daoudi and Lockhart 2014).
ApplicabilityTest coefficient_of_variation(std::span<const double> y) {
  const auto n = static_cast<double>(y.size());
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  const double square = std::inner_product(y.begin(), y.end(), y.begin(), 0.0) / n;
  const double variation = std::sqrt(square - mean * mean) / mean;
  const double p = cdf(complement(boost::math::normal(), std::sqrt(n) * (variation - 1)));
  return {"coefficient-of-variation",
          "light tail",
          variation,
          p,
          p >= level,
          "p >= " + number(level) + ": not heavier than exponential; informative only"};
}

/// The samples in the form for the generalised Pareto distribution: excesses over a threshold.
struct Peaks {
  static constexpr Law law = Law::gpd;
  static constexpr const char* name = "gpd";
  static constexpr const char* used_are = "exceedances";
  static constexpr const char* max_are = "max(100, 10 n^0.3)";
  static std::size_t most(std::size_t samples) { return max_exceedances(samples); }
  explicit Peaks(const Samples& all, std::size_t used)
      : data(excesses(all, used)), origin(all.ascending[all.size() - 1 - used]) {
    rate = static_cast<double>(used) / static_cast<double>(all.size());
  }
  [[nodiscard]] auto fit() const { return fit_gpd(data); }
  [[nodiscard]] double probability(double of_sample) const { return of_sample / rate; }

  std::vector<double> data; // ascending
  double origin = 0;        // zero point of `data`
  double rate = 0;
};

/// The samples in the form for the generalised extreme value distribution: maxima of blocks. If the first samples fill
/// no block, they are ignored.
struct Maxima {
  static constexpr Law law = Law::gev;
  static constexpr const char* name = "gev";
  static constexpr const char* used_are = "blocks";
  static constexpr const char* max_are = "max(100, 6 n^0.3)";
  static std::size_t most(std::size_t samples) { return max_blocks(samples); }
  explicit Maxima(const Samples& all, std::size_t used) : size(all.size() / used) {
    const auto last = all.measured.end();
    for (std::size_t i = used; i > 0; --i) {
      const auto begin = last - static_cast<std::ptrdiff_t>(i * size);
      data.push_back(*std::max_element(begin, begin + static_cast<std::ptrdiff_t>(size)));
    }
    std::sort(data.begin(), data.end());
    spread_ties(data, all.granule);
    rate = 1 / static_cast<double>(size);
  }
  [[nodiscard]] auto fit() const { return fit_gev(data); }
  [[nodiscard]] double probability(double of_sample) const {
    return -std::expm1(static_cast<double>(size) * std::log1p(-of_sample));
  }

  std::size_t size;
  std::vector<double> data; // ascending
  double origin = 0;
  double rate = 0;
};

template <typename Source> struct Fitted {
  Source source;
  decltype(source.fit()) law;
  std::optional<Interval> shape;
};

template <typename Source> Fitted<Source> fitted(const Samples& samples, std::size_t used) {
  Fitted<Source> result{Source(samples, used), {}, {}};
  if (result.source.data.front() == result.source.data.back()) return result;
  result.law = result.source.fit();
  if (result.law) result.shape = shape_interval(*result.law, result.source.data);
  return result;
}

/// A candidate for a model. `whole`: the fit to the `used` largest samples (the exceedances of a threshold), or to the
/// maxima of `used` blocks. `higher`: the fit with half as many exceedances or blocks. See tail.hpp.
template <typename Source> struct Candidate {
  Fitted<Source> whole, higher;
  std::vector<ApplicabilityTest> tests;

  Candidate(const Samples& samples, std::size_t used)
      : whole(fitted<Source>(samples, used)), higher(fitted<Source>(samples, used / 2)) {
    if (!whole.law) return;
    const auto u = probabilities(*whole.law, evenly_ranked(whole.source.data));
    tests = {anderson_darling(Source::law, whole.law->shape, u), kolmogorov_smirnov(Source::law, whole.law->shape, u)};
  }

  /// Returns the reason why the candidate may not be used; empty if it may be used.
  [[nodiscard]] std::string refused() const {
    if (!whole.law || !whole.shape || !higher.law || !higher.shape)
      return "the likelihood has no maximum: the tail ends abruptly, or there is no tail";
    for (const auto& test : tests)
      if (!test.holds)
        return "the tail does not follow the model (" + test.name + ", p = " + number(test.p_value) + ")";
    if (std::abs(whole.law->shape) > steepest)
      return "the shape " + number(whole.law->shape) + " is beyond " + number(steepest);
    if (whole.law->shape < higher.shape->low || whole.law->shape > higher.shape->high)
      return "the shape is not stable: " + number(whole.law->shape) + ", and in the higher half " +
             number(higher.shape->low) + " to " + number(higher.shape->high);
    return "";
  }
};

/// Returns a quantile within the samples, which needs no model. Its 95 % confidence interval comes from the binomial
/// distribution of the number of samples above the quantile.
Quantile empirical_quantile(const std::vector<double>& ascending, double probability) {
  const auto n = static_cast<double>(ascending.size());
  const boost::math::binomial above(n, probability);
  const auto with_above = [&](double count) {
    return ascending[ascending.size() - 1 - static_cast<std::size_t>(std::clamp(count, 0.0, n - 1))];
  };
  return {0,
          with_above(std::floor(n * probability)),
          {with_above(quantile(complement(above, 0.025))), with_above(quantile(above, 0.025) - 1)}};
}

/// Returns the quantile of the fit `whole`. Its interval is the smallest interval that contains the 95 % confidence
/// intervals of the fits `whole` and `higher`. Returns nullopt if one of these intervals has no end.
template <typename Source> std::optional<Quantile> tail_quantile(const Candidate<Source>& candidate, double of_sample) {
  Quantile result;
  for (const auto* part : {&candidate.higher, &candidate.whole}) {
    const auto& source = part->source;
    const double probability = source.probability(of_sample);
    const auto interval = quantile_interval(*part->law, source.data, probability);
    if (!interval) return std::nullopt;
    const Interval here{source.origin + interval->low, source.origin + interval->high};
    const bool first = part == &candidate.higher;
    result.confidence =
        first ? here : Interval{std::min(here.low, result.confidence.low), std::max(here.high, result.confidence.high)};
    result.value = source.origin + part->law->quantile(probability);
  }
  return result;
}

template <typename Source>
std::optional<Quantile> quantile_of_job(const Candidate<Source>& candidate, const Samples& samples, double exceedance,
                                        std::uint64_t block) {
  const double of_sample = -std::expm1(static_cast<double>(block) * std::log1p(-exceedance));
  // The models are used only for quantiles beyond the samples. If the number of samples above the quantile is at least
  // the number that `higher` uses, the samples give the quantile without a model.
  const bool within =
      of_sample * static_cast<double>(samples.size()) >= static_cast<double>(candidate.higher.source.data.size());
  auto result = within ? empirical_quantile(samples.ascending, of_sample) : tail_quantile(candidate, of_sample);
  if (result) result->exceedance = exceedance;
  return result;
}

template <typename Source> std::string choice(std::size_t used, std::size_t most, std::size_t samples) {
  return number(used) + " " + Source::used_are + " of " + number(samples) + " samples: of " + number(most) + ", " +
         Source::max_are + ", and its halves down to " + number(min_used) +
         " the first where the fit holds and the shape agrees with that of half as many; intervals are hulls of both";
}

template <typename Source>
void take(TailModel& model, const Candidate<Source>& candidate, const Samples& samples, const PwcetOptions& options) {
  const auto& [source, law, shape] = candidate.whole;
  if constexpr (Source::law == Law::gpd) {
    model.location = source.origin;
  } else {
    model.location = law->location;
  }
  model.scale = law->scale;
  model.shape = law->shape;
  model.shape_confidence = *shape;
  model.rate = source.rate;
  model.used = source.data.size();
  for (const double exceedance : options.exceedances) {
    const auto quantile = quantile_of_job(candidate, samples, exceedance, options.block);
    if (!quantile) {
      model.quantiles.clear();
      model.refused = "the confidence interval at exceedance " + number(exceedance) + " has no end";
      return;
    }
    model.quantiles.push_back(*quantile);
  }
}

template <typename Source> TailModel modelled(const Samples& samples, const PwcetOptions& options) {
  TailModel model;
  model.name = Source::name;
  const std::size_t most = Source::most(samples.size());
  for (std::size_t used = most; used >= min_used; used /= 2) {
    const Candidate<Source> candidate(samples, used);
    model.choice = choice<Source>(used, most, samples.size());
    model.refused = candidate.refused();
    model.fit = candidate.tests;
    if constexpr (Source::law == Law::gpd) model.fit.push_back(coefficient_of_variation(candidate.whole.source.data));
    if (!model.refused.empty()) continue;
    take(model, candidate, samples, options);
    break;
  }
  return model;
}

} // namespace

std::size_t max_exceedances(std::size_t samples) { return growing(10, samples); }

std::size_t max_blocks(std::size_t samples) { return growing(6, samples); }

std::size_t in_top(std::size_t samples) {
  return std::min(samples, std::max(min_used, static_cast<std::size_t>(top * static_cast<double>(samples))));
}

Samples::Samples(std::span<const double> samples) : measured(samples), ascending(samples.begin(), samples.end()) {
  std::sort(ascending.begin(), ascending.end());
  const std::size_t begin = ascending.size() - in_top(ascending.size());
  distinct_in_top = 1;
  for (std::size_t i = begin + 1; i < ascending.size(); ++i) {
    const double difference = ascending[i] - ascending[i - 1];
    if (difference == 0) continue;
    ++distinct_in_top;
    granule = granule == 0 ? difference : std::min(granule, difference);
  }
  spread_ties(ascending, granule);
}

ApplicabilityTest one_tail(const Samples& samples) {
  const std::size_t used = in_top(samples.size());
  const std::vector<double> y = evenly_ranked(excesses(samples, used));
  ApplicabilityTest test{"anderson-darling", "one tail", 0, 0, false, ""};
  if (const auto law = fit_gpd(y)) test = anderson_darling(Law::gpd, law->shape, probabilities(*law, y));
  test.property = "one tail";
  test.holds = test.p_value >= one_tail_level;
  test.rule = "p >= " + number(one_tail_level) + ": the top fits one generalised Pareto distribution, no mixture; " +
              number(y.size()) + (y.size() < used ? " evenly ranked of " + number(used) : "") + " exceedances";
  return test;
}

TailModel peaks_over_threshold(const Samples& samples, const PwcetOptions& options) {
  return modelled<Peaks>(samples, options);
}

TailModel block_maxima(const Samples& samples, const PwcetOptions& options) {
  return modelled<Maxima>(samples, options);
}

} // namespace rtexec::traces
