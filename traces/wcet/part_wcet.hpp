// From the executions of one part of one task that were measured, to the WCET that promises rest on, and to how far it
// may be trusted. Pure; any thread may call.
//
// Where both models of the tail hold, it is the larger upper limit of what one job in 1 / exceedance exceeds: if it is
// at most twice the longest execution (else too few were measured to say), and at least what growth says (else model
// and samples contradict each other). Everywhere else it is the longest execution, grown over as many doublings of the
// jobs as lead to that exceedance, of six at most; or as far above the longest as the shortest is below it, if that is
// more, since what made executions so different may do so once more; but half of the longest above it at most (one that
// stands alone would else grow to a multiple of itself), and `margin` times the longest at least. Where no model
// answers, a device part whose layers were measured takes at least the sum of the longest of their pieces (hybrid
// measurement: the longest of all need never have been seen in one job).
//
// What adds to one short CPU part (an interrupt, a thread of the kernel, a hypervisor) may as well meet any other, and
// meets each of them too seldom to be seen there: allow_interruptions() takes together what was seen in any. What adds
// to a short device part (a launch that was held up) may meet any other device part, likewise.
//
// What grew is claimed to be exceeded with a probability of 1 - 0.05^(1/n) a job at most, 95 % confidence, which is
// what the longest of n independent executions allows to say; n is what dependence leaves of their number. Where
// executions drift, or fewer than 1000 jobs were measured, nothing is claimed. What changes more slowly than the
// measurement lasts is in no sample.
#pragma once

#include <rtexec/profile.hpp>
#include "traces/wcet/sample_series.hpp"

#include <span>
#include <vector>

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

/// `latest`: what the models of the tail are fitted to, empty where no block was filled; `all`: with what was measured
/// before, not empty.
[[nodiscard]] PartWcet part_wcet(const SampleSeries& latest, const SampleSeries& all, const WcetOptions& options);
[[nodiscard]] inline PartWcet part_wcet(const SampleSeries& executions, const WcetOptions& options) {
  return part_wcet(executions, executions, options);
}

struct MeasuredPart {
  Part part = Part::device;
  SampleSeries executions;
};
/// Of parts that were measured together: whether the WCETs that the first half of the executions make hold for the
/// other half. No part holds of fewer than 16.
[[nodiscard]] std::vector<bool> first_halves_hold(std::span<const MeasuredPart> parts, const WcetOptions& options);

/// The executions that the parts of `entry` rest on, of those that it has.
[[nodiscard]] std::vector<MeasuredPart> measured_parts(const ProfileEntry& entry);

/// Adds `executions` to those on which `entry` rests for `part`, and makes its WCET anew; `longest` of them are in no
/// series where a block was not filled. Its observed maximum, WCET and basis change; its layers count as they are.
void add_executions(ProfileEntry& entry, Part part, const SampleSeries& executions, Duration longest,
                    const WcetOptions& options);

/// Once all `entries` of a profile are made: what the WCET of any CPU part below 100 us is above its shortest execution
/// (of those that are kept, the longest of a block), each CPU part is allowed; each device part likewise.
void allow_interruptions(std::span<ProfileEntry> entries);

} // namespace rtexec::traces
