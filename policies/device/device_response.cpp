#include "policies/device/device_response.hpp"

namespace rtexec::policies {
namespace {

/// Returns the length of the longest interval in which the device is busy with jobs of `own` and more urgent work.
FixedPoint busy_period(const Load& own, std::span<const Load> higher, std::span<const Load> above, Nanos blocking,
                       Nanos first_jobs) {
  return least_fixed_point(std::min(blocking + own.cost + first_jobs, unbounded), unbounded, [&](Nanos length) {
    Wide work = blocking + jobs_in(own, length) * own.cost;
    for (const auto loads : {higher, above})
      for (const Load& load : loads) work += jobs_in(load, length) * load.cost;
    return work;
  });
}

Wide work_until(Nanos start, std::span<const Load> loads) {
  Wide work = 0;
  for (const Load& load : loads) work += jobs_in_closed(load, start) * load.cost;
  return work;
}

/// Returns the instant at which a job begins: when the device has done the work `once`, which occurs only once, and all
/// jobs of `higher` and `above` that are requested by then. `higher`: loads of higher priority. `above`: loads of more
/// urgent classes. `from`: where the iteration starts; it must not exceed the result.
FixedPoint start_after(Wide once, std::span<const Load> higher, std::span<const Load> above, Nanos from, Nanos limit) {
  return least_fixed_point(from, limit,
                           [&](Nanos start) { return once + work_until(start, higher) + work_until(start, above); });
}

/// Returns the sum of the costs of one job of each load. Every interval in which a job waits contains at least these
/// jobs.
Nanos first_jobs_of(std::span<const Load> higher) {
  Wide sum = 0;
  for (const Load& load : higher) sum += load.cost;
  return bounded(sum);
}

bool overloaded(const Load& own, std::span<const Load> higher, std::span<const Load> above) {
  Utilisation utilisation;
  utilisation.add(own.cost, own.period);
  for (const auto loads : {higher, above})
    for (const Load& load : loads) utilisation.add(load.cost, load.period);
  return !utilisation.below_one();
}

} // namespace

DeviceResponse better(const DeviceResponse& a, const DeviceResponse& b, Nanos limit) {
  if (a.settled && b.settled)
    return {std::min(a.from_release, b.from_release), std::min(a.from_request, b.from_request), true};
  if (a.settled != b.settled) return a.settled ? a : b;
  const bool a_is_late = a.from_release > limit;
  if (a_is_late != (b.from_release > limit)) return a_is_late ? a : b;
  return a.from_release < b.from_release ? a : b;
}

FixedPoint first_start(Nanos lead, std::span<const Load> higher, Nanos blocking, Nanos limit) {
  const Nanos once = blocking + lead;
  return start_after(once, higher, {}, std::min(once + first_jobs_of(higher), unbounded), limit);
}

DeviceResponse device_response(const Load& own, Course course, std::span<const Load> higher, Nanos blocking,
                               Nanos limit, std::span<const Load> above) {
  const Nanos once = blocking + course.lead;
  const Nanos alone = once + course.body + course.rest;
  DeviceResponse response{.from_release = own.jitter + alone, .from_request = alone};
  if (overloaded(own, higher, above)) return response;
  const Nanos first_jobs = std::min(first_jobs_of(higher) + first_jobs_of(above), unbounded);
  const FixedPoint busy = busy_period(own, higher, above, blocking, first_jobs);
  if (!busy.settled) return response;

  const Wide jobs = std::max<Wide>(jobs_in(own, busy.value), 1);
  // The beginning of `Course::rest` of job number `job`, counted from the beginning of the busy period
  Nanos start = std::min(once + first_jobs, unbounded);
  for (Wide job = 0; job < jobs; ++job) {
    const Wide before = once + job * own.cost;
    const FixedPoint found = start_after(before, higher, above, start, unbounded);
    const FixedPoint last = above.empty() ? FixedPoint{found.value + course.body, found.settled}
                                          : start_after(before + course.body + work_until(found.value, higher), {},
                                                        above, found.value + course.body, unbounded);
    // Job 0 is requested when the busy period begins, or later. Job k may be requested up to `jitter` earlier than k
    // periods after the beginning of the busy period.
    const auto offset = static_cast<Nanos>(job * own.period);
    const Nanos end = last.value + course.rest;
    response.from_release = std::max(response.from_release, own.jitter + end - offset);
    response.from_request = std::max(response.from_request, job == 0 ? end : own.jitter + end - offset);
    if (!found.settled || !last.settled || response.from_release > limit) return response;
    start = found.value + own.cost;
  }
  response.settled = true;
  return response;
}

} // namespace rtexec::policies
