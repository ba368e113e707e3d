// A task set with everything that is needed to plan and run it: its board, its workloads, and their demand.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/plan.hpp>
#include "config/profile_file.hpp"
#include <rtexec/planning.hpp>
#include <rtexec/resolved_set.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/runtime/channels/connect.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include <rtexec/workload.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::executive {

/// A resolved set with its workloads. Vectors are parallel to `tasks.tasks`.
struct LoadedSet : ResolvedSet {
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<std::unique_ptr<channels::TaskIo>> io; // destroyed before the workloads
  std::vector<channels::DeviceLink> links;           // their memory is the first part of their producers' fixed memory
  std::vector<MemoryDemand> memory;                  // demand of the uncut workloads, and of links
  std::vector<std::string> fingerprints;             // include sources of inputs, and tuning
  /// Measured tuning choices that were applied to the workload
  std::vector<std::vector<std::string>> tunings;
  std::vector<std::string> policy_reasons; // reason for a task's memory policy, if the task left it open
  std::optional<Profile> profile;          // the profile file, if it exists
  std::optional<std::string> measured_on;  // the device of the profile, if it provided WCETs or tuning
  bool whole_jobs = false;                 // true: jobs are about to be measured, and are not cut
  bool measures_streams = false;           // true: some of them will be streamed
  bool whole_device = false;               // true: neither board nor task set limits the device memory
  OpenDevice open_own;                     // opens a device of the caller's own instead of the board's

  /// Opens the board's device, or the caller's own, in chunks of `chunk`.
  [[nodiscard]] Result<std::unique_ptr<hal::Device>> open_device(Bytes capacity) const;
};

/// Reads the board, resolves the set for `machine`, makes the workloads that `setup` does not provide, and connects
/// them. Returns all errors of each of these steps at once. Uses board, workloads, callbacks, tunings, the opener of a
/// device and the tap of `setup`; workloads and callbacks are moved out of it. A capacity that only the device knows is
/// queried from it; for another machine it is taken from the machine's facts. Missing WCETs come from the profile, and
/// so do memory policies that tasks leave open. If `setup` provides tunings, they do not, because they are about to be
/// measured.
[[nodiscard]] Result<LoadedSet> load(TaskSet tasks, Setup& setup, MachineFacts machine = this_machine());

/// Makes the plan of the set. Adds the fingerprint and tuning of each task, and the device that they were measured on.
/// Pure.
[[nodiscard]] Result<Plan> plan(const LoadedSet& set);

/// Cuts the workloads as planned. Called before they are bound.
[[nodiscard]] Result<> cut(LoadedSet& set, const Plan& plan);

/// Returns the fingerprint that a WCET depends on: that of the workload, combined with its tuning. A profile whose
/// tuning was edited is stale.
[[nodiscard]] std::string with_tuning(const std::string& fingerprint, std::span<const std::string> tuning);

/// Checks the precision: a device that computes on the host supports only fp32. Returns an empty text, or the problem
/// with a remedy.
[[nodiscard]] std::string problem_of_precision(Precision precision, const Board& board);

} // namespace rtexec::executive
