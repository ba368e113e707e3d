// Distributions with known quantiles, and samples that break a model. The same seed gives the same samples.
#pragma once

#include <boost/math/distributions/complement.hpp>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/tools/roots.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::traces::test {

using Random = std::mt19937_64;

/// Returns 100 plus exponential times of mean 5 from the generator of Park and Miller, which any language can
/// reproduce.
inline std::vector<double> minimal_standard(std::size_t count) {
  std::vector<double> x(count);
  std::uint64_t state = 1;
  for (double& value : x) {
    state = state * 48271 % 2147483647;
    value = 100 - 5 * std::log(static_cast<double>(state) / 2147483647);
  }
  return x;
}

/// Draws uniformly from (0, 1).
inline double uniform(Random& random) { return (static_cast<double>(random() >> 11U) + 0.5) * 0x1p-53; }

inline double normal(Random& random, double mean = 0, double deviation = 1) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return mean + deviation * radius * std::cos(2 * std::numbers::pi * uniform(random));
}

inline double pareto(double exceedance, double shape, double scale = 5) {
  return shape == 0 ? -scale * std::log(exceedance) : scale / shape * std::expm1(-shape * std::log(exceedance));
}

inline double gumbel(double exceedance) { return 100 - 5 * std::log(-std::log1p(-exceedance)); }

/// A distribution whose tail follows one model: an estimate must be given.
struct Distribution {
  std::string name;
  std::function<double(Random&)> draw;
  std::function<double(double)> quantile; // the quantile of an exceedance probability
};

inline std::vector<double> samples(std::size_t count, Random& random, const std::function<double(Random&)>& draw) {
  std::vector<double> x(count);
  for (double& value : x) value = draw(random);
  return x;
}

inline Distribution by_inversion(std::string name, std::function<double(double)> quantile) {
  return {std::move(name), [quantile](Random& random) { return quantile(uniform(random)); }, quantile};
}

/// Returns a mixture of N(100, 5) and, for `share` of the samples, N(110, 8).
inline Distribution normal_mixture(std::string name, double share) {
  const auto survival = [share](double x) {
    const boost::math::normal low(100, 5), high(110, 8);
    return (1 - share) * cdf(complement(low, x)) + share * cdf(complement(high, x));
  };
  const auto quantile = [survival](double exceedance) {
    const auto [a, b] = boost::math::tools::bisect([&](double x) { return survival(x) - exceedance; }, 50.0, 250.0,
                                                   [](double low, double high) { return high - low < 1e-9; });
    return (a + b) / 2;
  };
  return {std::move(name),
          [share](Random& random) { return uniform(random) < share ? normal(random, 110, 8) : normal(random, 100, 5); },
          quantile};
}

inline Distribution gamma(std::string name, double shape) {
  const boost::math::gamma_distribution<> law(shape, 5);
  return {std::move(name),
          [shape](Random& random) {
            double product = 1; // of integer shape: a sum of exponential times
            for (int i = 0; i < static_cast<int>(shape); ++i) product *= uniform(random);
            return -5 * std::log(product);
          },
          [law](double exceedance) { return boost::math::quantile(complement(law, exceedance)); }};
}

inline std::vector<Distribution> distributions() {
  const boost::math::normal law(100, 5);
  std::vector<Distribution> all;
  all.push_back(by_inversion("Gumbel", gumbel));
  for (const auto& [name, shape] : {std::pair{"GPD -0.3", -0.3}, {"GPD 0", 0.0}, {"GPD 0.2", 0.2}})
    all.push_back(by_inversion(name, [shape](double p) { return 100 + pareto(p, shape); }));
  for (const auto& [name, shape] : {std::pair{"Weibull 1", 1.0}, {"Weibull 2", 2.0}, {"Weibull 5", 5.0}})
    all.push_back(by_inversion(name, [shape](double p) { return 100 * std::pow(-std::log(p), 1 / shape); }));
  all.push_back({"normal", [](Random& random) { return normal(random, 100, 5); },
                 [law](double p) { return quantile(complement(law, p)); }});
  all.push_back(normal_mixture("normal, 50 % another", 0.5));
  all.push_back(normal_mixture("normal, 30 % another", 0.3));
  all.push_back(gamma("gamma 2", 2));
  all.push_back(gamma("gamma 10", 10));
  return all;
}

/// Samples that violate a model: no estimate may be given. `broken` names the violation.
struct Broken {
  std::string name;
  std::string broken;
  std::function<std::vector<double>(std::size_t, Random&)> make;
};

/// Returns samples of a stationary first-order Gaussian process. `shape` maps standard normal values to the marginal
/// distribution.
inline std::vector<double> autoregressive(std::size_t count, Random& random, double correlation,
                                          const std::function<double(double)>& shape) {
  double z = normal(random);
  return samples(count, random, [&](Random& r) {
    z = correlation * z + std::sqrt(1 - correlation * correlation) * normal(r);
    return shape(z);
  });
}

/// Returns fractional noise of order d: a truncated infinite moving average (Hosking 1981).
inline std::vector<double> fractional_noise(std::size_t count, Random& random, double d) {
  constexpr std::size_t terms = 1000;
  std::vector<double> weights(terms, 1);
  for (std::size_t j = 1; j < terms; ++j)
    weights[j] = weights[j - 1] * (static_cast<double>(j) - 1 + d) / static_cast<double>(j);
  const std::vector<double> noise = samples(count + terms, random, [](Random& r) { return normal(r); });
  std::vector<double> x(count, 100);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < terms; ++j) x[i] += 5 * weights[j] * noise[i + terms - j];
  return x;
}

/// Returns a sequence in which one sample in a hundred comes from `far`.
inline Broken far_mixture(std::string name, std::function<double(Random&)> far) {
  return {std::move(name), "one tail", [far](std::size_t count, Random& random) {
            return samples(count, random, [&](Random& r) { return uniform(r) < 0.01 ? far(r) : normal(r, 100, 5); });
          }};
}

/// Returns N(100, 5), shifted and scaled along the recording. `at` is the elapsed fraction of the recording.
inline Broken changing(std::string name, std::string broken, std::function<double(double at)> level,
                       std::function<double(double at)> stretch) {
  return {std::move(name), std::move(broken), [level, stretch](std::size_t count, Random& random) {
            std::vector<double> x(count);
            for (std::size_t i = 0; i < count; ++i) {
              const double at = static_cast<double>(i) / static_cast<double>(count);
              x[i] = normal(random, 100 + level(at), 5 * stretch(at));
            }
            return x;
          }};
}

inline std::vector<Broken> broken_samples() {
  const auto constant = [](double) { return 1.0; };
  const auto to_gumbel = [](double z) { return gumbel(cdf(complement(boost::math::normal(), z))); };
  return {
      {"AR(1), 0.2", "independent",
       [](std::size_t n, Random& r) { return autoregressive(n, r, 0.2, [](double z) { return 100 + 5 * z; }); }},
      {"AR(1), 0.2, Gumbel", "independent",
       [=](std::size_t n, Random& r) { return autoregressive(n, r, 0.2, to_gumbel); }},
      {"AR(1), 0.5", "independent",
       [](std::size_t n, Random& r) { return autoregressive(n, r, 0.5, [](double z) { return 100 + 5 * z; }); }},
      {"AR(1), -0.2", "independent",
       [](std::size_t n, Random& r) { return autoregressive(n, r, -0.2, [](double z) { return 100 + 5 * z; }); }},
      {"fractional noise, 0.3", "no long memory", [](std::size_t n, Random& r) { return fractional_noise(n, r, 0.3); }},
      far_mixture("1 % N(200, 20)", [](Random& r) { return normal(r, 200, 20); }),
      far_mixture("1 % N(150, 5)", [](Random& r) { return normal(r, 150, 5); }),
      far_mixture("1 % 150 + GPD 0.2", [](Random& r) { return 150 + pareto(uniform(r), 0.2); }),
      far_mixture("1 % 200 + exponential", [](Random& r) { return 200 + pareto(uniform(r), 0, 20); }),
      changing(
          "trend", "stationary", [](double at) { return 2.5 * at; }, constant),
      changing(
          "level shift", "stationary", [](double at) { return at < 0.5 ? 0 : 2.5; }, constant),
      changing(
          "spread shift", "stationary spread", [](double) { return 0; }, [](double at) { return at < 0.5 ? 1 : 2; }),
  };
}

/// A process of typical execution times of tasks, with the long-run probability that one exceeds a value.
struct Process {
  std::string name;
  std::function<std::vector<double>(std::size_t, Random&)> make;
  std::function<double(double)> exceeds;
};

inline double normal_exceeds(double x, double mean, double deviation) {
  return std::erfc((x - mean) / (deviation * std::numbers::sqrt2)) / 2;
}

/// Returns N(100, 5), shifted by `shift(phase)`. The phase goes from 0 to 1 in `period` jobs and starts anywhere.
inline Process cyclic(std::string name, double period, std::function<double(double phase)> shift) {
  constexpr int steps = 2000;
  return {std::move(name),
          [=](std::size_t count, Random& random) {
            double phase = uniform(random);
            return samples(count, random, [&](Random& r) {
              phase = std::fmod(phase + 1 / period, 1.0);
              return normal(r, 100 + shift(phase), 5);
            });
          },
          [=](double x) {
            double sum = 0;
            for (int i = 0; i < steps; ++i) sum += normal_exceeds(x, 100 + shift((i + 0.5) / steps), 5);
            return sum / steps;
          }};
}

inline Process independent(std::string name, std::function<double(Random&)> draw,
                           std::function<double(double)> exceeds) {
  return {std::move(name), [draw](std::size_t count, Random& random) { return samples(count, random, draw); },
          std::move(exceeds)};
}

inline Process autocorrelated(std::string name, double correlation) {
  return {
      std::move(name),
      [=](std::size_t n, Random& r) { return autoregressive(n, r, correlation, [](double z) { return 100 + 5 * z; }); },
      [](double x) { return normal_exceeds(x, 100, 5); }};
}

inline std::vector<Process> processes() {
  const auto lognormal = [](std::string name, double deviation) {
    return independent(
        std::move(name), [=](Random& r) { return 100 * std::exp(normal(r, 0, deviation)); },
        [=](double x) { return normal_exceeds(std::log(x / 100), 0, deviation); });
  };
  // For a twentieth of the time, interference is added.
  const auto beside = [](double phase) { return phase < 0.05 ? 30 * (1 - phase / 0.05) : 0.0; };
  const auto slow = [](double phase) { return 10 * std::sin(2 * std::numbers::pi * phase); };
  return {
      independent(
          "normal", [](Random& r) { return normal(r, 100, 5); }, [](double x) { return normal_exceeds(x, 100, 5); }),
      lognormal("lognormal 0.1", 0.1),
      lognormal("lognormal 0.5", 0.5),
      independent(
          "bimodal, 1 %", [](Random& r) { return uniform(r) < 0.01 ? normal(r, 150, 5) : normal(r, 100, 5); },
          [](double x) { return 0.01 * normal_exceeds(x, 150, 5) + 0.99 * normal_exceeds(x, 100, 5); }),
      cyclic("drifting, 3000 jobs", 3000, slow),
      autocorrelated("AR(1), 0.5", 0.5),
      autocorrelated("AR(1), 0.95", 0.95),
      cyclic("interference, 7.3 jobs", 7.3, beside),
      cyclic("interference, 97.7 jobs", 97.7, beside),
      cyclic("interference, 1003 jobs", 1003.1, beside),
      independent(
          "heavy tail, GPD 0.2", [](Random& r) { return 100 + pareto(uniform(r), 0.2); },
          [](double x) { return std::pow(1 + 0.2 * (x - 100) / 5, -5); }),
  };
}

} // namespace rtexec::traces::test
