// From the executions of one part of one task that were measured, to the WCET that promises rest on, and to how far it
// may be trusted. Pure; any thread may call.
//
// Where both models of the tail hold, it is the larger upper limit of what one job in 1 / exceedance exceeds: if it is
// at most twice the longest execution (else too few were measured to say), and at least what growth says (else model
// and samples contradict each other). Everywhere else it is the longest execution, grown over as many doublings of the
// jobs as lead to that exceedance, of six at most; at least `margin` times the longest, and at least as far above it as
// the shortest is below, or half of it if that is less, since what made executions so different may do so once more. A
// device part whose layers were measured takes at least the sum of the longest of their pieces (hybrid measurement: the
// longest of all need never have been seen in one job).
//
// What grew is claimed to be exceeded with a probability of 1 - 0.05^(1/n) a job at most, 95 % confidence, which is
// what the longest of n independent executions allows to say; n is what dependence leaves of their number. Where
// executions drift, or fewer than 1000 jobs were measured, nothing is claimed. What changes more slowly than the
// measurement lasts is in no sample.
#pragma once

#include <rtexec/profile.hpp>
#include "traces/wcet/sample_series.hpp"

namespace rtexec::traces {

struct WcetOptions {
  double exceedance = 1e-6; // a job
  double margin = 1.1;      // at least so many times the longest execution
};

struct PartWcet {
  double value = 0; // ns
  double longest = 0;
  WcetMethod method = WcetMethod::growth;
  double exceedance = 0; // a job exceeds `value` with at most this probability, 95 % confidence; 0: nothing is claimed
};

/// `latest`: what the models of the tail are fitted to; `all`: with what was measured before. Neither is empty.
[[nodiscard]] PartWcet part_wcet(const SampleSeries& latest, const SampleSeries& all, const WcetOptions& options);
[[nodiscard]] inline PartWcet part_wcet(const SampleSeries& executions, const WcetOptions& options) {
  return part_wcet(executions, executions, options);
}

/// Whether the WCET that the first half of them makes held for the other half; not of fewer than 16.
[[nodiscard]] bool first_half_holds(const SampleSeries& executions, const WcetOptions& options);

/// The same of what `entry` rests on for `part`.
[[nodiscard]] bool first_half_holds(const ProfileEntry& entry, Part part, const WcetOptions& options);

/// Adds `executions` to those on which `entry` rests for `part`, and makes its WCET anew; `longest` of them are in no
/// series where a block was not filled. Its observed maximum, WCET and basis change; its layers count as they are.
void add_executions(ProfileEntry& entry, Part part, const SampleSeries& executions, Duration longest,
                    const WcetOptions& options);

} // namespace rtexec::traces
