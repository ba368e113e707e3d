#include "policies/device/overlap.hpp"

#include "policies/device/swap_bounds.hpp"

#include <algorithm>
#include <span>

namespace rtexec::policies {
namespace {

constexpr std::size_t max_charges = 4096; // the approximate limit on computed charges: values of lambda times tasks
constexpr std::size_t fewest_lambdas = 8;
constexpr std::size_t max_lambdas = 64;

/// Returns the values of lambda to examine. Lambda is the time in which an execution and a load overlap (overlap.hpp).
/// The values are 0, the execution time less the delay of each part, and each load time that is at most the longest
/// execution time. Between these values the charges are linear in lambda, so no other value gives a smaller sum of
/// charges. If there are too many values, returns only some of them. Leaving out values is safe, since the charges for
/// each value are sound.
std::vector<Nanos> lambdas(std::span<const DevicePart> parts) {
  std::vector<Nanos> values{0};
  const Nanos longest = std::ranges::max(parts, {}, &DevicePart::execution).execution;
  for (const DevicePart& part : parts) {
    values.push_back(part.execution - part.delay);
    if (part.load <= longest) values.push_back(part.load);
  }
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  const std::size_t enough = std::clamp(max_charges / parts.size(), fewest_lambdas, max_lambdas);
  if (values.size() <= enough) return values;
  std::vector<Nanos> some;
  for (std::size_t k = 0; k < enough; ++k) some.push_back(values[k * (values.size() - 1) / (enough - 1)]);
  return some;
}

Overlap overlap(std::span<const DevicePart> parts, const Below& below, std::optional<std::size_t> rests, Nanos lambda) {
  Overlap result;
  result.tasks.reserve(parts.size());
  LongestExecutions gammas;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (i != rests) gammas.add(std::max(parts[i].execution - lambda, parts[i].delay));
  for (const DevicePart& part : parts) {
    const Nanos gamma = std::max(part.execution - lambda, part.delay);
    const Nanos omega = std::max(part.load - lambda, Nanos{0});
    const Nanos beside = std::max(gammas.other_than(gamma), below.run);
    result.tasks.push_back({.cost = lambda + gamma + omega,
                            .lead = lambda + omega,
                            .tail = part.execution - gamma,
                            .blocking = lambda + gamma + omega + beside + below.flight});
  }
  result.background = std::max(gammas.longest, below.run) + below.flight;
  return result;
}

} // namespace

std::vector<Overlap> overlaps(std::vector<DevicePart> parts, DevicePart background, const Below& below,
                              std::optional<std::size_t> rests) {
  std::vector<Overlap> list;
  if (parts.empty()) return list;
  const std::size_t tasks = parts.size();
  if (tasks == 1) rests = 0;
  // While one best-effort job executes, another best-effort job can be staged. So the best-effort part is added twice
  if (background.execution > 0 || background.load > 0) parts.insert(parts.end(), 2, background);
  for (const Nanos lambda : lambdas(parts)) {
    Overlap& added = list.emplace_back(overlap(parts, below, rests, lambda));
    if (parts.size() > tasks) added.background = added.tasks.back().blocking;
    added.tasks.resize(tasks);
  }
  return list;
}

} // namespace rtexec::policies
