// Response times on a device that executes jobs non-preemptively by static priority, or in segments.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <span>

namespace rtexec::policies {

/// Bounds on the end of a device part. If `settled` is false, `from_release` either exceeds the limit or is only the
/// value at which the iteration stopped.
struct DeviceResponse {
  Nanos from_release = 0; // the longest time from the nominal release to the end
  Nanos from_request = 0; // the longest time from the request to the end, whenever the request comes
  bool settled = false;
};

/// Returns the smaller of two bounds on the same response. If a bound is not settled and does not exceed `limit`, it is
/// ignored.
[[nodiscard]] DeviceResponse better(const DeviceResponse& a, const DeviceResponse& b, Nanos limit);

/// The work of the examined job, in three successive parts: lead, body, rest. Jobs of higher priority may execute
/// before `lead` is done. Jobs of more urgent classes may execute before `lead` and `body` are done. No other job
/// delays `rest`. The sum of the three parts may differ from `Load::cost`, the time that the job costs later jobs.
struct Course {
  Nanos lead = 0;
  Nanos rest = 0;
  Nanos body = 0; // the part between lead and rest
};

/// Returns the response of a job of task `own`. `higher`: loads of higher priority; `above`: loads of more urgent
/// classes. `blocking`: the longest device part of lower priority, which blocks at most once. `Load::jitter` is the
/// longest time from the nominal release to the request. Stops as soon as from_release exceeds `limit`.
///
/// The function examines every job of the busy period of this priority level, not only the first job. Reason: the
/// previous job of the same task can delay a job (Davis, Burns, Bril, Lukkien: Controller Area Network
/// schedulability analysis: refuted, revisited and revised, 2007).
[[nodiscard]] DeviceResponse device_response(const Load& own, Course course, std::span<const Load> higher,
                                             Nanos blocking, Nanos limit, std::span<const Load> above = {});

/// Returns the latest beginning of `rest` (see Course) for the first job of a busy period, counted from the job's
/// request. For later jobs `rest` may begin later. Stops when the result exceeds `limit`.
[[nodiscard]] FixedPoint first_start(Nanos lead, std::span<const Load> higher, Nanos blocking, Nanos limit);

/// Returns the response of a job that executes without interruption once it has started.
[[nodiscard]] inline DeviceResponse device_response(const Load& own, std::span<const Load> higher, Nanos blocking,
                                                    Nanos limit) {
  return device_response(own, {.lead = 0, .rest = own.cost}, higher, blocking, limit);
}

} // namespace rtexec::policies
