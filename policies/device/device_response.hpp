// Response times on a device that executes jobs non-preemptively by static priority, or in segments.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <span>

namespace rtexec::policies {

/// Bounds on the end of a device part. Not settled: `from_release` exceeds the limit, or is only the value that was
/// reached.
struct DeviceResponse {
  Nanos from_release = 0; // after the nominal release
  Nanos from_request = 0; // after the request, however early that came
  bool settled = false;
};

/// Returns the better of two bounds on the same response. A bound that is neither settled nor late gives no
/// information.
[[nodiscard]] DeviceResponse better(const DeviceResponse& a, const DeviceResponse& b, Nanos limit);

/// The examined job. More urgent jobs go before it until `lead` of it is done, and then no more. Jobs of more urgent
/// classes do so until `body` is done as well. Its total time may differ from what each job of its task costs the jobs
/// after it.
struct Course {
  Nanos lead = 0;
  Nanos rest = 0;
  Nanos body = 0; // between lead and rest
};

/// Returns the response of `own` among `higher` (loads of higher priority) and `above` (loads of more urgent classes).
/// It is blocked at most once by `blocking`, the longest device part of lower priority. The `jitter` of a load is its
/// latest request after its nominal release. Stops as soon as from_release exceeds `limit`.
///
/// Every job of the level busy period is examined, not just the first, since a job can be pushed through by the one
/// before (Davis, Burns, Bril, Lukkien: Controller Area Network schedulability analysis: refuted, revisited and
/// revised, 2007).
[[nodiscard]] DeviceResponse device_response(const Load& own, Course course, std::span<const Load> higher,
                                             Nanos blocking, Nanos limit, std::span<const Load> above = {});

/// Returns when the rest of the first job of a busy period begins, after its request. Later jobs may exceed this value.
/// Stops beyond `limit`.
[[nodiscard]] FixedPoint first_start(Nanos lead, std::span<const Load> higher, Nanos blocking, Nanos limit);

/// Returns the response of jobs that are not overtaken once they begin.
[[nodiscard]] inline DeviceResponse device_response(const Load& own, std::span<const Load> higher, Nanos blocking,
                                                    Nanos limit) {
  return device_response(own, {.lead = 0, .rest = own.cost}, higher, blocking, limit);
}

} // namespace rtexec::policies
