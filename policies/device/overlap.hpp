// The costs of jobs on a device that loads the chunks of one staged job while another job executes: the `pipelined`
// rule, and each level of `segmented`. Formulas and proofs: proofs/pipelined.md, segmented.md.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace rtexec::policies {

/// A task's device part.
struct DevicePart {
  Nanos execution = 0; // C
  Nanos load = 0;      // o: of its chunks, if none is loaded and every frame is taken; 0: it never swaps
  Nanos delay = 0;     // by how much a load during its execution may end later; at most C
};

/// Work that less urgent classes have begun and do not stop.
struct Below {
  Nanos run = 0;    // the longest run of segments
  Nanos flight = 0; // chunk transfers in flight
};

/// Charges for one lambda. The time between the starts of two jobs k and m that are staged one after the other is at
/// most max(C_k, o_m + delay_k) <= lambda + gamma_k + omega_m, with gamma = max(C - lambda, delay), omega = max(o -
/// lambda, 0).
struct Overlap {
  struct Charge {
    Nanos cost = 0; // e = lambda + gamma + omega: for a job that is more urgent, or due
    Nanos lead = 0; // lambda + omega: the part of e before the execution
    Nanos tail = 0; // C - gamma: what the last execution takes beyond the sum of e
    /// The blocking by a less urgent job that is staged while another one executes: gamma + omega + lambda +
    /// max(longest gamma of another task that does not rest, run below) + flight below
    Nanos blocking = 0;
  };
  std::vector<Charge> tasks;
  /// Blocking by best-effort jobs. If there are none: flight below + max(longest gamma of a task that does not rest,
  /// run below)
  Nanos background = 0;
};

/// Returns the charges for each lambda at which a sum of charges can be least. Each is sound by itself. `background`:
/// the longest parts of best-effort tasks. `rests`: a task of which no job executes when the interval begins; a task
/// alone on the device always rests.
[[nodiscard]] std::vector<Overlap> overlaps(std::vector<DevicePart> parts, DevicePart background,
                                            const Below& below = {}, std::optional<std::size_t> rests = {});

} // namespace rtexec::policies
