// Response times on a device that executes jobs non-preemptively by static priority, or in segments.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <span>

namespace rtexec::policies {

/// Bounds on the end of a device part. If it is not settled, `from_release` exceeds the limit, or is only the value at
/// which the iteration stopped.
struct DeviceResponse {
  Nanos from_release = 0; // after the nominal release
  Nanos from_request = 0; // after the request, however early that came
  bool settled = false;
};

/// Returns the better of two bounds on the same response. A bound that is neither settled nor above `limit` gives no
/// information.
[[nodiscard]] DeviceResponse better(const DeviceResponse& a, const DeviceResponse& b, Nanos limit);

/// The work of the examined job. Jobs of higher priority may go before it until its `lead` is done. Jobs of more urgent
/// classes may do so until its `body` is done as well. Nothing goes before its `rest`. The sum may differ from
/// `Load::cost`, the time that the job costs the jobs after it.
struct Course {
  Nanos lead = 0;
  Nanos rest = 0;
  Nanos body = 0; // between lead and rest
};

/// Returns the response of a job of task `own`. `higher`: loads of higher priority; `above`: loads of more urgent
/// classes. `blocking`: the longest device part of lower priority, which blocks at most once. `Load::jitter` is the
/// latest request after the nominal release. Stops as soon as from_release exceeds `limit`.
///
/// Examines every job of the busy period of this priority level, not just the first, since a job can be delayed by the
/// job of its own task before it (Davis, Burns, Bril, Lukkien: Controller Area Network schedulability analysis:
/// refuted, revisited and revised, 2007).
[[nodiscard]] DeviceResponse device_response(const Load& own, Course course, std::span<const Load> higher,
                                             Nanos blocking, Nanos limit, std::span<const Load> above = {});

/// Returns when the `rest` (see Course) of the first job of a busy period begins, counted from its request. Later jobs
/// may exceed this value. Stops beyond `limit`.
[[nodiscard]] FixedPoint first_start(Nanos lead, std::span<const Load> higher, Nanos blocking, Nanos limit);

/// Returns the response of a job that nothing overtakes once it has begun.
[[nodiscard]] inline DeviceResponse device_response(const Load& own, std::span<const Load> higher, Nanos blocking,
                                                    Nanos limit) {
  return device_response(own, {.lead = 0, .rest = own.cost}, higher, blocking, limit);
}

} // namespace rtexec::policies
