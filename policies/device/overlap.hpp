// What jobs cost on a device that loads the chunks of one staged job beside the execution of another: the `pipelined`
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
  Nanos load = 0;      // o: of its chunks, when none is there and every frame is taken; 0: it never swaps
  Nanos delay = 0;     // by how much a load may end later for being beside its execution; at most C
};

/// What less urgent classes have begun and do not stop.
struct Below {
  Nanos run = 0;    // of segments, the longest
  Nanos flight = 0; // of chunks
};

/// Charges for one lambda. Between the starts of two jobs k and m that are staged one after the other lie at most
/// max(C_k, o_m + delay_k) <= lambda + gamma_k + omega_m, with gamma = max(C - lambda, delay), omega = max(o - lambda,
/// 0).
struct Overlap {
  struct Charge {
    Nanos cost = 0; // e = lambda + gamma + omega: a job that is more urgent, or due
    Nanos lead = 0; // lambda + omega: of it, what comes before the execution
    Nanos tail = 0; // C - gamma: what the last execution takes beyond the sum of e
    /// gamma + omega + lambda + max(longest gamma of another that does not rest, run below) + flight below: a less
    /// urgent job that is staged, beside one that executes
    Nanos blocking = 0;
  };
  std::vector<Charge> tasks;
  /// Blocking by best-effort jobs; where there are none: flight below + max(longest gamma of one that does not rest,
  /// run below)
  Nanos background = 0;
};

/// One for each lambda at which a sum of charges can be least. Each is sound by itself. `background`: the longest of
/// best-effort tasks. `rests`: a task of which no job executes when the interval begins; a task without others does.
[[nodiscard]] std::vector<Overlap> overlaps(std::vector<DevicePart> parts, DevicePart background,
                                            const Below& below = {}, std::optional<std::size_t> rests = {});

} // namespace rtexec::policies
