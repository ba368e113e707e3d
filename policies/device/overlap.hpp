// The costs of jobs on a device that loads the chunks of one job while another job executes. The job whose chunks are
// loaded is *staged*: it is chosen to execute next. The rule `pipelined` loads in this way, and so does each level
// (preemption class) of `segmented`. Formulas and proofs: proofs/pipelined.md, segmented.md.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace rtexec::policies {

/// A task's device part.
struct DevicePart {
  Nanos execution = 0; // C: the time that a job executes on the device
  /// o: the time to load its chunks if none is resident and all frames are occupied; 0: the task never swaps
  Nanos load = 0;
  Nanos delay = 0; // the longest time by which its execution delays a concurrent load; at most C
};

/// Work of tasks in less urgent classes that has started and cannot be interrupted.
struct Below {
  /// The longest sequence of segments of these tasks between two points at which other jobs can take the device
  Nanos run = 0;
  Nanos flight = 0; // the time until the chunk transfers of these tasks that are in flight have ended
};

/// Charges (costs of jobs in the analysis) for one value of lambda: a time in which an execution and the load of the
/// next job overlap (proofs/pipelined.md). Let jobs k and m be staged one after the other. The time between their
/// starts is at most max(C_k, o_m + delay_k) <= lambda + gamma_k + omega_m. gamma = max(C - lambda, delay) and omega =
/// max(o - lambda, 0). C, o and delay are the members of DevicePart.
struct Overlap {
  struct Charge {
    /// e = lambda + gamma + omega: the charge for each job that is more urgent (static priority) or due (EDF)
    Nanos cost = 0;
    Nanos lead = 0; // lambda + omega: the part of e before the job's execution
    Nanos tail = 0; // C - gamma: the time that the last job may take beyond the sum of the charges e
    /// Blocking by a less urgent job that is staged while another job executes: gamma + omega + lambda + max(longest
    /// gamma of another task, `Below::run`) + `Below::flight`. The task `rests` (a parameter of overlaps()) does not
    /// count in the longest gamma, because no job of it executes when the interval begins
    Nanos blocking = 0;
  };
  std::vector<Charge> tasks;
  /// Blocking by best-effort jobs. If there are no best-effort jobs: max(longest gamma of a task other than `rests`,
  /// `Below::run`) + `Below::flight`
  Nanos background = 0;
};

/// Returns the charges for each value of lambda at which a sum of charges can be smallest. The charges for each value
/// give a sound bound. `background`: the longest parts of best-effort tasks. `rests`: the index of a task that executes
/// no job when the examined interval begins, and so does not block. If there is only one task, this task always counts
/// as `rests`.
[[nodiscard]] std::vector<Overlap> overlaps(std::vector<DevicePart> parts, DevicePart background,
                                            const Below& below = {}, std::optional<std::size_t> rests = {});

} // namespace rtexec::policies
