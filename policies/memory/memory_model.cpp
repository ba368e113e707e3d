#include "policies/memory/memory_model.hpp"

#include "config/base/median.hpp"
#include "policies/exact_arithmetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace rtexec::policies {
namespace {

// ---- the parameters as numbers ----

enum Parameter : std::size_t {
  copy_start,
  copied_in,
  copied_out,
  host_touched,
  mapped,
  host_flush,
  written_back,  // `device_flush` is this parameter times the bytes that the cache holds
  cache_penalty, // memory_access - cache_access
  faulted,
  prefetch_start,
  prefetched,
  returned,
  linked_start,
  linked,
  linked_access,
  parameters,
};

using Vector = std::array<double, parameters>;
using Matrix = std::array<Vector, parameters>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < parameters; ++i) sum += a[i] * b[i];
  return sum;
}

double number(Duration time) { return static_cast<double>(time.count()); }
double number(Bytes bytes) { return static_cast<double>(bytes.count); }
double number(std::uint64_t count) { return static_cast<double>(count); }

Duration duration(double nanos) {
  return Duration(static_cast<Nanos>(std::clamp(nanos, 0.0, static_cast<double>(longest_time))));
}

Vector numbers(const MemoryCosts& costs) {
  Vector values{};
  values[copy_start] = number(costs.copy_start);
  values[copied_in] = costs.copied_in;
  values[copied_out] = costs.copied_out;
  values[host_touched] = costs.host_touched;
  values[mapped] = costs.mapped;
  values[host_flush] = number(costs.host_flush);
  values[written_back] = costs.written_back;
  values[cache_penalty] = std::max(costs.memory_access - costs.cache_access, 0.0);
  values[faulted] = costs.faulted;
  values[prefetch_start] = number(costs.prefetch_start);
  values[prefetched] = costs.prefetched;
  values[returned] = costs.returned;
  values[linked_start] = number(costs.linked_start);
  values[linked] = costs.linked;
  values[linked_access] = costs.linked_access;
  return values;
}

/// Returns the number of bytes that the device writes back in the time of one flush. By Eq. (4) of the paper (see
/// memory_model.hpp), the flush after a launch costs at most the time of one whole flush.
double cached_bytes(const MemoryCosts& costs) {
  return costs.written_back > 0 ? number(costs.device_flush) / costs.written_back : 0;
}

MemoryCosts with_numbers(MemoryCosts costs, const Vector& values, double cached) {
  costs.copy_start = duration(std::round(values[copy_start]));
  costs.copied_in = values[copied_in];
  costs.copied_out = values[copied_out];
  costs.host_touched = values[host_touched];
  costs.mapped = values[mapped];
  costs.host_flush = duration(std::round(values[host_flush]));
  costs.written_back = values[written_back];
  if (values[written_back] > 0) costs.device_flush = duration(std::round(cached * values[written_back]));
  costs.memory_access = costs.cache_access + values[cache_penalty];
  costs.faulted = values[faulted];
  costs.prefetch_start = duration(std::round(values[prefetch_start]));
  costs.prefetched = values[prefetched];
  costs.returned = values[returned];
  costs.linked_start = duration(std::round(values[linked_start]));
  costs.linked = values[linked];
  costs.linked_access = values[linked_access];
  return costs;
}

// ---- the model ----

/// For each part of the overhead (MemoryOverhead), the factor of each parameter. The part is the sum of factor times
/// parameter over all parameters.
struct Terms {
  Vector copies{}, mapping{}, host_flush{}, device_flush{}, uncached{};
  [[nodiscard]] Vector all() const {
    Vector sum{};
    for (const Vector* part : {&copies, &mapping, &host_flush, &device_flush, &uncached})
      for (std::size_t i = 0; i < parameters; ++i) sum[i] += (*part)[i];
    return sum;
  }
};

/// Returns the terms of Eq. (2) of the paper (see memory_model.hpp), for policy D (device memory).
Terms copied(const MemoryTraffic& traffic) {
  Terms terms;
  terms.copies[copy_start] = number(traffic.copies);
  terms.copies[copied_in] = number(traffic.in);
  terms.copies[copied_out] = number(traffic.out);
  terms.copies[host_touched] = traffic.fresh ? number(traffic.out) : 0;
  return terms;
}

/// Returns the terms of Eqs. (3) to (5) of the paper (see memory_model.hpp), for policy M (managed memory) with unified
/// memory.
Terms managed(double cached, const MemoryTraffic& traffic) {
  Terms terms;
  for (const KernelTraffic& kernel : traffic.kernels) {
    terms.mapping[mapped] += number(kernel.dirty) * number(kernel.touched);
    terms.host_flush[host_flush] += number(kernel.dirty);
    terms.device_flush[written_back] += number(kernel.launches) * std::min(number(kernel.written), cached);
  }
  return terms;
}

/// Returns the terms of Eqs. (6) to (8) of the paper (see memory_model.hpp), for policy H (pinned host memory) with
/// unified memory.
Terms host_pinned(const MemoryTraffic& traffic) {
  Terms terms;
  terms.uncached[cache_penalty] = traffic.hidden ? 0 : traffic.hit_rate * number(traffic.cache_accesses);
  for (const KernelTraffic& kernel : traffic.kernels)
    terms.mapping[mapped] += number(kernel.launches) * number(kernel.touched);
  return terms;
}

Terms migrated(const MemoryTraffic& traffic) {
  Terms terms;
  for (const KernelTraffic& kernel : traffic.kernels)
    terms.mapping[traffic.prefetch ? prefetched : faulted] += number(kernel.dirty) * number(kernel.touched);
  if (traffic.prefetch) terms.mapping[prefetch_start] = number(traffic.copies);
  terms.copies[traffic.prefetch ? returned : faulted] = number(traffic.out);
  return terms;
}

Terms over_link(const MemoryTraffic& traffic) {
  Terms terms;
  terms.uncached[linked_access] = traffic.hit_rate * number(traffic.cache_accesses);
  for (const KernelTraffic& kernel : traffic.kernels) {
    terms.uncached[linked_start] += number(kernel.launches);
    terms.uncached[linked] += number(kernel.launches) * number(kernel.touched);
  }
  return terms;
}

Terms terms_of(MemoryPolicy policy, bool unified, double cached, const MemoryTraffic& traffic) {
  switch (policy) {
  case MemoryPolicy::managed: return unified ? managed(cached, traffic) : migrated(traffic);
  case MemoryPolicy::host: return unified ? host_pinned(traffic) : over_link(traffic);
  case MemoryPolicy::device:
  case MemoryPolicy::switching:
  case MemoryPolicy::automatic: break;
  }
  return copied(traffic);
}

// ---- least squares ----

/// Solves a x = b for the unknowns whose indices are in `in`. All other unknowns are 0. `a` must be symmetric and
/// positive definite.
Vector solved(Matrix a, Vector b, std::span<const std::size_t> in) {
  for (std::size_t k = 0; k < in.size(); ++k)
    for (std::size_t row = k + 1; row < in.size(); ++row) {
      const double factor = a[in[row]][in[k]] / a[in[k]][in[k]];
      for (const std::size_t column : in.subspan(k)) a[in[row]][column] -= factor * a[in[k]][column];
      b[in[row]] -= factor * b[in[k]];
    }
  Vector x{};
  for (std::size_t k = in.size(); k-- > 0;) {
    double rest = b[in[k]];
    for (const std::size_t column : in.subspan(k + 1)) rest -= a[in[k]][column] * x[column];
    x[in[k]] = rest / a[in[k]][in[k]];
  }
  return x;
}

/// Moves `x` towards `aim` until an unknown in `in` becomes 0. Removes unknowns that are 0 from `in`.
void step_to_bound(Vector& x, const Vector& aim, std::vector<std::size_t>& in) {
  double part = 1;
  std::size_t first = in.front();
  for (const std::size_t i : in)
    if (aim[i] <= 0 && x[i] / (x[i] - aim[i]) <= part) {
      part = x[i] / (x[i] - aim[i]);
      first = i;
    }
  for (const std::size_t i : in) x[i] += part * (aim[i] - x[i]);
  x[first] = 0;
  std::erase_if(in, [&](std::size_t i) { return x[i] <= 0; });
}

/// Returns the x >= 0 that minimises x'ax - 2b'x, by the active-set method of Lawson and Hanson (Solving Least Squares
/// Problems, 1974).
Vector non_negative(const Matrix& a, const Vector& b) {
  constexpr double nothing = 1e-12;
  constexpr int max_rounds = 3 * parameters;
  Vector x{};
  std::vector<std::size_t> in;
  for (int round = 0; round < max_rounds; ++round) {
    std::size_t best = parameters;
    double steepest = nothing;
    for (std::size_t i = 0; i < parameters; ++i) {
      const double slope = b[i] - dot(a[i], x);
      if (std::ranges::find(in, i) != in.end() || slope <= steepest) continue;
      best = i;
      steepest = slope;
    }
    if (best == parameters) break;
    in.push_back(best);
    while (!in.empty()) {
      const Vector aim = solved(a, b, in);
      if (std::ranges::all_of(in, [&](std::size_t i) { return aim[i] > 0; })) {
        x = aim;
        break;
      }
      step_to_bound(x, aim, in);
    }
  }
  return x;
}

/// One measurement as an equation of the fit. `weights`: the factors of the parameters in its overhead. `aim`: its
/// measured overhead. `weights` and `aim` are both divided by `measured`. `trust`: the weight of the measurement in the
/// fit.
struct Row {
  Vector weights{};
  double aim = 0;
  double trust = 1;
};

/// Returns the parameters that minimise the sum of squared weighted errors. If no measurement depends on a parameter,
/// the parameter keeps its value in `before`.
Vector least_squares(std::span<const Row> rows, const Vector& before) {
  constexpr double inertia = 1e-9; // the weight of `before`; the measurements of a parameter together have weight 1
  Vector scale{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < parameters; ++i) scale[i] += row.trust * row.weights[i] * row.weights[i];
  for (double& each : scale) each = each > 0 ? std::sqrt(each) : 1;
  Matrix a{};
  Vector b{};
  for (std::size_t i = 0; i < parameters; ++i) {
    a[i][i] = inertia;
    b[i] = inertia * before[i] * scale[i];
  }
  for (const Row& row : rows)
    for (std::size_t i = 0; i < parameters; ++i) {
      const double weight = row.trust * row.weights[i] / scale[i];
      for (std::size_t j = 0; j < parameters; ++j) a[i][j] += weight * row.weights[j] / scale[j];
      b[i] += weight * row.aim;
    }
  Vector found = non_negative(a, b);
  for (std::size_t i = 0; i < parameters; ++i) found[i] /= scale[i];
  return found;
}

/// Sets the weights (Row::trust) by Huber's rule: an error above the usual size counts linearly instead of squared.
void trust(std::span<Row> rows, const Vector& values) {
  /// The usual size, as a multiple of the median error: 1.345 standard deviations if errors are normal
  constexpr double usual = 1.345 * 1.4826;
  constexpr double exact = 1e-9;
  std::vector<double> errors;
  for (const Row& row : rows) errors.push_back(std::abs(dot(row.weights, values) - row.aim));
  const double limit = std::max(usual * config::median_of(errors), exact);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].trust = std::min(1.0, limit / std::max(errors[i], exact));
}

/// The result of a fit for one size of the device's cache.
struct Fitted {
  Vector values{};
  double cached = 0;
  double loss = 0; // the sum of the absolute errors
};

Fitted fitted_with(double cached, const MemoryCosts& costs, std::span<const MemoryMeasurement* const> measurements) {
  constexpr int rounds = 15; // the number of times that Huber's weights are computed
  std::vector<Row> rows;
  for (const MemoryMeasurement* each : measurements) {
    const double measured = number(each->measured);
    Row& row = rows.emplace_back();
    row.weights = terms_of(each->policy, costs.unified, cached, each->traffic).all();
    for (double& weight : row.weights) weight /= measured;
    row.aim = (measured - number(each->execution)) / measured;
  }
  const Vector before = numbers(costs);
  Fitted found{.values = before, .cached = cached};
  for (int round = 0; round < rounds; ++round) {
    found.values = least_squares(rows, before);
    trust(rows, found.values);
  }
  for (const Row& row : rows) found.loss += std::abs(dot(row.weights, found.values) - row.aim);
  return found;
}

/// Fits the parameters and the size of the cache. The sizes that are tried are between the smallest and the largest
/// number of bytes that one launch writes. Measurements contain no information about other sizes.
Fitted fitted(const MemoryCosts& costs, std::span<const MemoryMeasurement* const> measurements) {
  double least = 0, most = 0;
  for (const MemoryMeasurement* each : measurements)
    if (each->policy == MemoryPolicy::managed)
      for (const KernelTraffic& kernel : each->traffic.kernels) {
        if (kernel.written == Bytes{0}) continue;
        least = least > 0 ? std::min(least, number(kernel.written)) : number(kernel.written);
        most = std::max(most, number(kernel.written));
      }
  if (!costs.unified || most == 0) return fitted_with(cached_bytes(costs), costs, measurements);

  constexpr int steps = 24;
  double apart = std::pow(most / least, 1.0 / steps);
  Fitted best = fitted_with(least, costs, measurements);
  const auto consider = [&](double cached) {
    Fitted found = fitted_with(std::clamp(cached, least, most), costs, measurements);
    if (found.loss < best.loss) best = found;
  };
  for (int step = 1; step <= steps; ++step) consider(least * std::pow(apart, step));
  for (int halving = 0; halving < 10; ++halving) {
    apart = std::sqrt(apart);
    const double middle = best.cached;
    consider(middle / apart);
    consider(middle * apart);
  }
  return best;
}

/// Returns the error of the estimate for `measurement`, in percent.
double error_of(const MemoryMeasurement& measurement, bool unified, const Fitted& found) {
  const Vector terms = terms_of(measurement.policy, unified, found.cached, measurement.traffic).all();
  const double measured = number(measurement.measured);
  return 100 * std::abs(number(measurement.execution) + dot(terms, found.values) - measured) / measured;
}

ModelError summary(std::span<const double> errors) {
  ModelError summary;
  for (const double error : errors) {
    summary.mean += error / static_cast<double>(errors.size());
    summary.worst = std::max(summary.worst, error);
  }
  return summary;
}

/// Assigns a number to each different traffic. Returns for each measurement the number of its traffic.
std::vector<std::size_t> groups_of(std::span<const MemoryMeasurement> measurements) {
  std::vector<const MemoryTraffic*> traffics;
  std::vector<std::size_t> groups;
  for (const MemoryMeasurement& each : measurements) {
    const auto same = std::ranges::find_if(traffics, [&](const auto* other) { return *other == each.traffic; });
    groups.push_back(static_cast<std::size_t>(same - traffics.begin()));
    if (same == traffics.end()) traffics.push_back(&each.traffic);
  }
  return groups;
}

ModelError held_out(const MemoryCosts& costs, std::span<const MemoryMeasurement> measurements,
                    std::span<const std::size_t> groups, std::size_t turns) {
  std::vector<double> errors;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    std::vector<const MemoryMeasurement*> seen;
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (groups[i] % turns != turn) seen.push_back(&measurements[i]);
    const Fitted found = fitted(costs, seen);
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (groups[i] % turns == turn) errors.push_back(error_of(measurements[i], costs.unified, found));
  }
  return summary(errors);
}

Result<> valid(std::span<const MemoryMeasurement> measurements) {
  for (const MemoryMeasurement& each : measurements)
    if (each.measured <= Duration::zero() || each.policy == MemoryPolicy::automatic)
      return fail(Errc::bad_input, "a measurement of a memory policy must name the policy and be above 0 ns");
  return {};
}

Fitted fitted_to_all(const MemoryCosts& costs, std::span<const MemoryMeasurement> measurements) {
  std::vector<const MemoryMeasurement*> all;
  for (const MemoryMeasurement& each : measurements) all.push_back(&each);
  return fitted(costs, all);
}

} // namespace

MemoryOverhead memory_overhead(MemoryPolicy policy, const MemoryCosts& costs, const MemoryTraffic& traffic) {
  const Vector values = numbers(costs);
  const Terms terms = terms_of(policy, costs.unified, cached_bytes(costs), traffic);
  const auto time = [&](const Vector& part) { return duration(std::ceil(dot(part, values))); };
  return {.copies = time(terms.copies),
          .mapping = time(terms.mapping),
          .host_flush = time(terms.host_flush),
          .device_flush = time(terms.device_flush),
          .uncached = time(terms.uncached)};
}

MemoryFootprint memory_footprint(MemoryPolicy policy, const MemoryTraffic& traffic) {
  switch (policy) {
  case MemoryPolicy::managed: return {.device = traffic.device_only + traffic.exchanged, .host = {}};
  case MemoryPolicy::host: return {.device = traffic.device_only, .host = traffic.exchanged};
  case MemoryPolicy::device:
  case MemoryPolicy::switching:
  case MemoryPolicy::automatic: break;
  }
  return {.device = traffic.device_only + traffic.exchanged, .host = traffic.exchanged};
}

Result<MemoryFit> fit(const MemoryCosts& costs, std::span<const MemoryMeasurement> measurements) {
  if (auto usable = valid(measurements); !usable) return Unexpected(usable.error());
  const std::vector<std::size_t> groups = groups_of(measurements);
  const std::size_t traffics = groups.empty() ? 0 : std::ranges::max(groups) + 1;
  if (traffics < 2)
    return fail(Errc::bad_input, "the costs of memory policies were measured with " + std::to_string(traffics) +
                                     " kinds of traffic; the fit and its cross-validation need at least 2");

  constexpr std::size_t max_turns = 5;
  const Fitted best = fitted_to_all(costs, measurements);
  MemoryFit found{.costs = with_numbers(costs, best.values, best.cached), .error = {}, .held_out = {}};
  std::vector<double> errors;
  for (const MemoryMeasurement& each : measurements) errors.push_back(error_of(each, costs.unified, best));
  found.error = summary(errors);
  found.held_out = held_out(costs, measurements, groups, std::min(traffics, max_turns));
  return found;
}

Result<MemoryCosts> fit_costs(const MemoryCosts& costs, std::span<const MemoryMeasurement> measurements) {
  if (auto usable = valid(measurements); !usable) return Unexpected(usable.error());
  if (measurements.empty()) return costs;
  const Fitted best = fitted_to_all(costs, measurements);
  return with_numbers(costs, best.values, best.cached);
}

} // namespace rtexec::policies
