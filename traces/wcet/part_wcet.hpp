// Derives the WCET of one part of one task from its measured executions, and the probability with which a job may
// exceed that WCET. Pure; any thread may call.
//
// An exceedance is the probability that a job exceeds a time. The growth (growth.hpp) estimates how the longest
// execution rises with each doubling of the number of jobs.
//
// The *grown longest execution* is the longest execution plus an addition. The addition is the growth up to
// 1 / exceedance jobs, over at most six doublings. If the longest execution exceeds the shortest by more than this
// growth, that difference is the addition. The reason: the disturbances that caused the difference may occur once more
// in one job. The addition is at most half of the longest execution, because a single outlier would otherwise grow to a
// multiple of itself.
//
// These rules give the WCET, in this order:
//
//   1. If the tests of both tail models (pwcet.hpp) pass, each model gives a confidence interval for the time that a
//      job exceeds with probability `exceedance`. The limit is the larger of the upper ends of both intervals. The
//      limit is the WCET if it is at most twice the longest execution and at least the grown longest execution. A
//      larger limit shows that too few executions were measured. A smaller limit shows that the model and the samples
//      contradict each other.
//   2. Otherwise the WCET is the grown longest execution.
//   3. The WCET is at least `margin` times the longest execution.
//   4. After rule 2, the WCET of a device part with measured layers is at least the sum of the layers' longest times
//      (MeasuredLayers::sum), even if these times never occurred in one job (hybrid measurement).
//
// An event that lengthens one short CPU part (an interrupt, a kernel thread, a hypervisor) may lengthen any other CPU
// part, but hits each part too seldom to be measured in every part. So allow_interruptions() applies the largest
// lengthening that was measured in any short CPU part to all CPU parts. It treats device parts in the same way, for
// example for a delayed launch.
//
// The claim for a WCET by rule 2: with 95 % confidence, a job exceeds the WCET with a probability of at most
// 1 - 0.05^(1/n). This claim holds for the longest of n independent executions. n is the number of executions, reduced
// for their correlation (independent_samples()). There is no claim if the executions drift, or if fewer than 1000 jobs
// were measured. The samples cannot show changes that are slower than the measurement.
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
  double exceedance = 0; // maximum probability that a job exceeds `value`, with 95 % confidence; 0: no claim
};

/// Returns the WCET. The models of the tail are fitted to `latest`, which may be empty if it has no complete block.
/// `all` also includes earlier measurements and must not be empty.
[[nodiscard]] PartWcet part_wcet(const SampleSeries& latest, const SampleSeries& all, const WcetOptions& options);
[[nodiscard]] inline PartWcet part_wcet(const SampleSeries& executions, const WcetOptions& options) {
  return part_wcet(executions, executions, options);
}

struct MeasuredPart {
  Part part = Part::device;
  SampleSeries executions;
};
/// Returns one value for each of `parts`, which were measured together. True if the WCET derived from the first half of
/// the part's executions is not exceeded in the second half. False for a part with fewer than 16 samples.
[[nodiscard]] std::vector<bool> first_halves_hold(std::span<const MeasuredPart> parts, const WcetOptions& options);

/// Returns the stored executions of `entry`, one element for each measured part.
[[nodiscard]] std::vector<MeasuredPart> measured_parts(const ProfileEntry& entry);

/// Adds `executions` to the stored executions of `part` in `entry`, and derives the part's WCET again. `longest` must
/// be the longest of all new executions. It is a separate argument, because a series drops its last block if the block
/// is incomplete. Changes the entry's observed maximum, WCET and stored executions. Reads the entry's times of layers,
/// and does not change them.
void add_executions(ProfileEntry& entry, Part part, const SampleSeries& executions, Duration longest,
                    const WcetOptions& options);

/// Must be called once, after all `entries` of a profile were made. The excess of a CPU part is its WCET less its
/// shortest stored execution (each stored execution is the longest of a block). Finds the largest excess among CPU
/// parts whose shortest stored execution is below 100 us. Raises the WCET of each CPU part to at least its shortest
/// stored execution plus that excess. Treats device parts in the same way, separately.
void allow_interruptions(std::span<ProfileEntry> entries);

} // namespace rtexec::traces
