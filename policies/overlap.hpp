// What jobs cost on a device that loads the chunks of one staged job beside the execution of another: the `pipelined`
// rule. Formulas and proof: proofs/pipelined.md.
#pragma once

#include "policies/arithmetic.hpp"

#include <vector>

namespace rtexec::policies {

/// A task's device part.
struct DevicePart {
  Nanos execution = 0; // C
  Nanos load = 0;      // o: of its chunks, when none is there and every frame is taken; 0: it never swaps
};

/// Charges for one lambda. Between the starts of two jobs k and m that are staged one after the other lie at most
/// max(C_k, o_m) <= lambda + gamma_k + omega_m, with gamma = max(C - lambda, 0), omega = max(o - lambda, 0).
struct Overlap {
  struct Charge {
    Nanos cost = 0; // e = lambda + gamma + omega: a job that is more urgent, or due
    Nanos lead = 0; // lambda + omega: of it, what comes before the execution
    Nanos tail = 0; // C - gamma: what the last execution takes beyond the sum of e
    /// gamma + omega + max(lambda, longest C of another): a less urgent job that is staged, beside one that executes
    Nanos blocking = 0;
  };
  std::vector<Charge> tasks;
  Nanos background = 0; // blocking by best-effort jobs; longest gamma, of a job that executes, where there are none
};

/// One for each lambda at which a sum of charges can be least. Each is sound by itself. `background`: the longest of
/// best-effort tasks.
[[nodiscard]] std::vector<Overlap> overlaps(std::vector<DevicePart> parts, DevicePart background);

} // namespace rtexec::policies
