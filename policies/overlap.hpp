// What jobs cost on a device that loads the chunks of one staged job beside the execution of another: the `pipelined`
// rule. Formulas and proof: README.md.
#pragma once

#include "policies/arithmetic.hpp"

#include <span>
#include <vector>

namespace rtexec::policies {

/// A task's device part.
struct DevicePart {
  Nanos execution = 0; // C
  Nanos load = 0;      // o: of its chunks, when none is there and every frame is taken; 0: it never swaps
};

/// Charges for one lambda. Between the starts of two jobs k and m that are staged one after the other lie at most
/// max(C_k, o_m) <= lambda + p_k + q_m, with p = max(C - lambda, 0) and q = max(o - lambda, 0).
struct Overlap {
  struct Charge {
    Nanos cost = 0; // e = lambda + p + q: a job that is more urgent, or due
    Nanos lead = 0; // lambda + q: of it, what comes before the execution
    Nanos tail = 0; // C - p: what the last execution takes beyond the sum of e
    /// P + q + max(lambda, longest C of another): a less urgent job that is staged, beside one that executes
    Nanos blocking = 0;
  };
  std::vector<Charge> tasks;
  Nanos background = 0; // blocking by best-effort jobs; longest p, of a job that executes, where there are none
};

/// One for each lambda at which a sum of charges can be least. Each is sound by itself. `background`: the longest of
/// best-effort tasks.
[[nodiscard]] std::vector<Overlap> overlaps(std::vector<DevicePart> parts, DevicePart background);

} // namespace rtexec::policies
