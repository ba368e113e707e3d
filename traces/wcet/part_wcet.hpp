// Derives, from the measured executions of one part of one task, the WCET on which promises rest, and how far it may be
// trusted. Pure; any thread may call.
//
// If both models of the tail hold, the WCET is the larger of their upper limits for the time that one job in 1 /
// exceedance exceeds. This limit must be at most twice the longest execution (else too few were measured to say), and
// at least what growth says (else model and samples contradict each other). Otherwise the WCET is the longest
// execution, grown over as many doublings of the jobs as lead to that exceedance, at most six. If the longest is above
// the shortest by more than the growth, that difference is added instead, since its causes may do so once more. At most
// half of the longest is added (a single outlier would else grow to a multiple of itself). The result is at least
// `margin` times the longest. If no model answers, a device part with measured layers gets at least the sum of the
// longest executions of their pieces (hybrid measurement: these need never have been seen in one job).
//
// An event that lengthens one short CPU part (an interrupt, a kernel thread, a hypervisor) may lengthen any other. It
// hits each of them too seldom to be seen there: allow_interruptions() combines what was seen in any of them. Likewise,
// an event that lengthens a short device part (a delayed launch) may lengthen any other device part.
//
// The claim for a grown WCET is that a job exceeds it with a probability of at most 1 - 0.05^(1/n), with 95 %
// confidence. The longest of n independent executions permits this claim; n is their number less what dependence takes
// of it. If executions drift, or fewer than 1000 jobs were measured, nothing is claimed. A change that is slower than
// the measurement is in no sample.
#pragma once

#include <rtexec/profile.hpp>
#include "traces/wcet/sample_series.hpp"

#include <span>
#include <vector>

namespace rtexec::traces {

struct WcetOptions {
  double exceedance = 1e-6; // probability per job
  double margin = 1.1;      // minimum ratio of the WCET to the longest execution
};

struct PartWcet {
  double value = 0; // ns
  double longest = 0;
  WcetMethod method = WcetMethod::growth;
  double exceedance = 0; // maximum probability that a job exceeds `value`, with 95 % confidence; 0: nothing is claimed
};

/// Returns the WCET. The models of the tail are fitted to `latest`, which is empty if no block was filled. `all`
/// includes earlier measurements and must not be empty.
[[nodiscard]] PartWcet part_wcet(const SampleSeries& latest, const SampleSeries& all, const WcetOptions& options);
[[nodiscard]] inline PartWcet part_wcet(const SampleSeries& executions, const WcetOptions& options) {
  return part_wcet(executions, executions, options);
}

struct MeasuredPart {
  Part part = Part::device;
  SampleSeries executions;
};
/// Returns for each of several parts that were measured together: true if the WCET from the first half of its
/// executions holds for the second half. False for a part with fewer than 16 samples.
[[nodiscard]] std::vector<bool> first_halves_hold(std::span<const MeasuredPart> parts, const WcetOptions& options);

/// Returns the executions on which the parts of `entry` rest, for the parts that it has.
[[nodiscard]] std::vector<MeasuredPart> measured_parts(const ProfileEntry& entry);

/// Adds `executions` to those on which `entry` rests for `part`, and derives its WCET anew. `longest` is their longest,
/// also if no series has it because its block was not filled. Changes the observed maximum, the WCET and the basis;
/// uses the layers as they are.
void add_executions(ProfileEntry& entry, Part part, const SampleSeries& executions, Duration longest,
                    const WcetOptions& options);

/// Call once all `entries` of a profile are made. Finds by how much the WCET of any CPU part below 100 us exceeds its
/// shortest kept execution (each is the longest of a block). Raises the WCET of each CPU part to at least its shortest
/// plus that excess. Does the same for device parts.
void allow_interruptions(std::span<ProfileEntry> entries);

} // namespace rtexec::traces
