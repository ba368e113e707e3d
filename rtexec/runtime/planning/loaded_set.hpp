// A task set with everything that is needed to plan and run it: its board, its workloads, and their memory demand.
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
  std::vector<channels::DeviceLink> links;           // tensors that pass between tasks on the device; they lie at the
                                                     // beginning of the producer's fixed memory
  std::vector<MemoryDemand> memory;                  // demand of each task's workload before it is cut into segments,
                                                     // and of its links
  std::vector<std::string> fingerprints;             // of each task, with the sources of its inputs and its tuning
  /// The tuning choices from the profile that were applied to each workload
  std::vector<std::vector<std::string>> tunings;
  std::vector<std::string> policy_reasons; // the reason for each task's memory policy; empty: the task names its policy
  std::optional<Profile> profile;          // the profile file, if it exists
  std::optional<std::string> measured_on;  // the device of the profile, if it provided WCETs or tuning
  bool whole_jobs = false;                 // true: jobs are not cut into segments, because they are about to be
                                           // measured
  bool measures_streams = false;           // true: later runs will stream the constants of some of the measured jobs
  bool whole_device = false;               // true: neither board nor task set limits the device memory
  OpenDevice open_own;                     // opens a device of the caller's own instead of the board's

  /// Opens the board's device, or the caller's own, with chunks of the set's size (`chunk`).
  [[nodiscard]] Result<std::unique_ptr<hal::Device>> open_device(Bytes capacity) const;
};

/// Reads the board, resolves the set for `machine`, makes the workloads that `setup` does not provide, and connects
/// them. Returns all errors of each of these steps at once. Uses these members of `setup`: board, workloads, callbacks,
/// tunings, open_device and picture observer. Workloads and callbacks are moved out of it. If only the device knows its
/// capacity, queries the device; for another machine, uses the machine's facts. WCETs that tasks do not give come from
/// the profile, and so do memory policies that tasks leave open. If `setup` provides tunings, the profile is not used,
/// because WCETs are about to be measured.
[[nodiscard]] Result<LoadedSet> load(TaskSet tasks, Setup& setup, MachineFacts machine = this_machine());

/// Makes the plan of the set. The plan includes the fingerprint and tuning of each task, and the device that they were
/// measured on. Pure.
[[nodiscard]] Result<Plan> plan(const LoadedSet& set);

/// Cuts the workloads into segments as planned. Called before they are bound.
[[nodiscard]] Result<> cut(LoadedSet& set, const Plan& plan);

/// Returns the fingerprint that a profile stores with a WCET: the workload's fingerprint combined with its tuning. So
/// an entry becomes stale if somebody edits its tuning.
[[nodiscard]] std::string with_tuning(const std::string& fingerprint, std::span<const std::string> tuning);

/// Returns the reason why the board's device does not support `precision`, with a remedy. A device that computes on the
/// host supports only fp32. Empty: it does.
[[nodiscard]] std::string problem_of_precision(Precision precision, const Board& board);

} // namespace rtexec::executive
