// Estimates probabilistic worst-case execution times (pWCET). Input: samples of one stage of one task. Result: the
// times that a job exceeds with given probabilities.
//
// There are two models of the tail. One fits the generalised extreme value distribution to block maxima. The other fits
// the generalised Pareto distribution to peaks over a threshold. Both models require samples that are stationary,
// independent and have a smooth tail. Tests check these requirements. If a test fails, there is no estimate, and the
// result says why. A further bound needs no model of the tail.
//
// Analysis code: allocates, may take long. Pure: the same samples give the same figures. Any thread may call.
#pragma once

#include <rtexec/units.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::traces {

/// A test of a requirement of a model. `holds`: true if p_value is at least the significance level that `rule` states.
struct ApplicabilityTest {
  std::string name;     // "kpss", "ljung-box", "runs", "rescaled-range", "anderson-darling", "kolmogorov-smirnov",
                        // "coefficient-of-variation"
  std::string property; // "stationary", "independent", "no long memory", "fits", "light tail"
  double statistic = 0;
  double p_value = 0;
  bool holds = false;
  std::string rule; // the rule in words, with its numbers
};

/// An interval in the unit of the samples.
struct Interval {
  double low = 0, high = 0;
};

/// A quantile of the execution time: a job exceeds `value` with probability `exceedance`. The interval has 95 %
/// confidence.
struct Quantile {
  double exceedance = 0;
  double value = 0;
  Interval confidence;
};

struct TailModel {
  std::string name;    // "gpd", "gev"
  double location = 0; // threshold of a gpd
  double scale = 0;
  double shape = 0; // 0: exponential tail; negative: the tail is bounded
  Interval shape_confidence;
  double rate = 0;        // gpd: share of samples above the threshold; gev: 1 / block size
  std::uint64_t used = 0; // number of exceedances (gpd) or of blocks (gev) used for the fit
  std::string choice;     // the rule by which the threshold or the block size was chosen, with its numbers
  std::vector<ApplicabilityTest> fit;
  std::vector<Quantile> quantiles; // one for each requested exceedance, in the requested order
  std::string refused;             // not empty: the reason why this model gives no quantiles
};

/// A bound without a model of the tail. `value` is the largest sample. With 95 % confidence, a job exceeds `value` with
/// a probability of at most `exceedance`.
struct DistributionFreeBound {
  double value = 0;
  double exceedance = 0; // 1 - 0.05^(1/n) for n samples, if the samples are independent and of one distribution
};

struct PwcetOptions {
  std::vector<double> exceedances{1e-3, 1e-6, 1e-9}; // per job
  /// Each sample is the maximum of `block` jobs; `exceedances` still refer to one job
  std::uint64_t block = 1;
};

struct Pwcet {
  std::uint64_t samples = 0;
  std::vector<ApplicabilityTest> tests;       // tests of the samples
  TailModel pot, maxima;                      // both are refused if a test of the samples fails
  std::optional<DistributionFreeBound> bound; // absent without samples
  std::string refused;                        // not empty: the reason, for the user, why there is no estimate
};

/// Estimates the pWCET. No figure is ever nan or infinite: a model whose figures cannot be computed is refused.
/// `samples` must be in the order of measurement.
[[nodiscard]] Pwcet estimate_pwcet(std::span<const double> samples, const PwcetOptions& options);

} // namespace rtexec::traces
