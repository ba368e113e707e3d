// Estimates probabilistic worst-case execution times: from samples of one stage of one task to the time that a job
// exceeds with a given probability.
//
// There are two models: block maxima with the generalised extreme value distribution, and peaks over threshold with the
// generalised Pareto distribution. Both hold only for samples that are stationary, independent and have a smooth tail.
// Tests check this; if one fails there is no estimate, only the reason. A further bound needs no model of the tail.
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

/// A test of whether a model may be used. `holds`: p_value is at least the significance level that `rule` states.
struct ApplicabilityTest {
  std::string name;     // "kpss", "ljung-box", "runs", "rescaled-range", "anderson-darling", "kolmogorov-smirnov",
                        // "coefficient-of-variation"
  std::string property; // "stationary", "independent", "no long memory", "fits", "light tail"
  double statistic = 0;
  double p_value = 0;
  bool holds = false;
  std::string rule; // in words, with its numbers
};

/// An interval in the unit of the samples.
struct Interval {
  double low = 0, high = 0;
};

/// A quantile: a job exceeds `value` with probability `exceedance`. The confidence is 95 %.
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
  std::uint64_t used = 0; // number of exceedances, or of blocks
  std::string choice;     // the rule by which threshold or block size was chosen, with its numbers
  std::vector<ApplicabilityTest> fit;
  std::vector<Quantile> quantiles; // one for each requested exceedance, in their order
  std::string refused;             // not empty: why this model gives no quantiles
};

/// A bound without a model: with 95 % confidence a job exceeds `value`, the largest sample seen, with a probability of
/// at most `exceedance`.
struct DistributionFreeBound {
  double value = 0;
  double exceedance = 0; // 1 - 0.05^(1/n), if samples are independent and of one distribution
};

struct PwcetOptions {
  std::vector<double> exceedances{1e-3, 1e-6, 1e-9}; // per job
  /// Each sample is the maximum of `block` jobs; exceedances still refer to one job
  std::uint64_t block = 1;
};

struct Pwcet {
  std::uint64_t samples = 0;
  std::vector<ApplicabilityTest> tests;       // of the samples
  TailModel pot, maxima;                      // both refused if a test of the samples fails
  std::optional<DistributionFreeBound> bound; // absent without samples
  std::string refused;                        // not empty: why there is no estimate at all, in words for the user
};

/// Estimates the pWCET. No figure is ever nan or infinite: what cannot be computed is refused. `samples` must be in the
/// order of measurement.
[[nodiscard]] Pwcet estimate_pwcet(std::span<const double> samples, const PwcetOptions& options);

} // namespace rtexec::traces
