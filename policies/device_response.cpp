#include "policies/device_response.hpp"

namespace rtexec::policies {
namespace {

/// Longest interval in which the device is busy with `own` and `higher`.
FixedPoint busy_period(const Load& own, std::span<const Load> higher, Nanos blocking, Nanos first_jobs) {
  return least_fixed_point(std::min(blocking + own.cost + first_jobs, unbounded), unbounded, [&](Nanos length) {
    Wide work = blocking + jobs_in(own, length) * own.cost;
    for (const Load& load : higher) work += jobs_in(load, length) * load.cost;
    return work;
  });
}

/// When a job begins after others have taken `once` and what `higher` brings meanwhile; no sooner than `from`.
FixedPoint start_after(Wide once, std::span<const Load> higher, Nanos from, Nanos limit) {
  return least_fixed_point(from, limit, [&](Nanos window) {
    Wide work = once;
    for (const Load& load : higher) work += jobs_in_closed(load, window) * load.cost;
    return work;
  });
}

/// One job of each: the least that they bring to any window in which `own` waits.
Nanos first_jobs_of(std::span<const Load> higher) {
  Wide sum = 0;
  for (const Load& load : higher) sum += load.cost;
  return bounded(sum);
}

bool overloaded(const Load& own, std::span<const Load> higher) {
  Utilisation utilisation;
  utilisation.add(own.cost, own.period);
  for (const Load& load : higher) utilisation.add(load.cost, load.period);
  return !utilisation.below_one();
}

} // namespace

FixedPoint first_start(Nanos lead, std::span<const Load> higher, Nanos blocking, Nanos limit) {
  const Nanos once = blocking + lead;
  return start_after(once, higher, std::min(once + first_jobs_of(higher), unbounded), limit);
}

DeviceResponse device_response(const Load& own, Course course, std::span<const Load> higher, Nanos blocking,
                               Nanos limit) {
  const Nanos once = blocking + course.lead;
  DeviceResponse response{.from_release = own.jitter + once + course.rest, .from_request = once + course.rest};
  if (overloaded(own, higher)) return response;
  const Nanos first_jobs = first_jobs_of(higher);
  const FixedPoint busy = busy_period(own, higher, blocking, first_jobs);
  if (!busy.settled) return response;

  const Wide jobs = std::max<Wide>(jobs_in(own, busy.value), 1);
  // Of what is left of job `job`, after the busy period began
  Nanos start = std::min(once + first_jobs, unbounded);
  for (Wide job = 0; job < jobs; ++job) {
    const FixedPoint found = start_after(once + job * own.cost, higher, start, unbounded);
    // Job 0 is requested inside the busy period; job k may be requested up to `jitter` before k periods of it have
    // passed.
    const auto offset = static_cast<Nanos>(job * own.period);
    const Nanos end = found.value + course.rest;
    response.from_release = std::max(response.from_release, own.jitter + end - offset);
    response.from_request = std::max(response.from_request, job == 0 ? end : own.jitter + end - offset);
    if (!found.settled || response.from_release > limit) return response;
    start = found.value + own.cost;
  }
  response.settled = true;
  return response;
}

} // namespace rtexec::policies
