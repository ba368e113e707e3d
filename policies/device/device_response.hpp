// Response times on a device that executes jobs non-preemptively by static priority, or in segments.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <span>

namespace rtexec::policies {

/// Bounds on the end of a device part. Not settled: `from_release` exceeds the limit, or is only what was reached.
struct DeviceResponse {
  Nanos from_release = 0; // after the nominal release
  Nanos from_request = 0; // after the request, however early that came
  bool settled = false;
};

/// Of two bounds on the same: one that is not settled and not late stopped where nothing could be said.
[[nodiscard]] DeviceResponse better(const DeviceResponse& a, const DeviceResponse& b, Nanos limit);

/// The job that is examined: more urgent ones still go before it until `lead` of it is done, and then no more, those of
/// more urgent classes until `body` is done as well. What it takes in all may differ from what each job of its task
/// costs the ones after it.
struct Course {
  Nanos lead = 0;
  Nanos rest = 0;
  Nanos body = 0; // between the two
};

/// For `own`, among `higher` (of higher priority) and `above` (of more urgent classes), and blocked at most once by
/// `blocking`, the longest device part of lower priority. `jitter` of a load is the latest request after its nominal
/// release. Stops as soon as from_release exceeds `limit`.
///
/// Every job of the level busy period is examined, not just the first, since a job can be pushed through by the one
/// before (Davis, Burns, Bril, Lukkien: Controller Area Network schedulability analysis: refuted, revisited and
/// revised, 2007).
[[nodiscard]] DeviceResponse device_response(const Load& own, Course course, std::span<const Load> higher,
                                             Nanos blocking, Nanos limit, std::span<const Load> above = {});

/// Of the first job of a busy period, which others may exceed; `value` is when its rest begins, after the request.
/// Stops beyond `limit`.
[[nodiscard]] FixedPoint first_start(Nanos lead, std::span<const Load> higher, Nanos blocking, Nanos limit);

/// Of jobs that are not overtaken once they begin.
[[nodiscard]] inline DeviceResponse device_response(const Load& own, std::span<const Load> higher, Nanos blocking,
                                                    Nanos limit) {
  return device_response(own, {.lead = 0, .rest = own.cost}, higher, blocking, limit);
}

} // namespace rtexec::policies
