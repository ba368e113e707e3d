// A task set with its board, its workloads, and their memory demand. This is the input of planning and of a run.
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

/// A resolved set with its workloads. Each vector by task has the order of `tasks.tasks`.
struct LoadedSet : ResolvedSet {
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<std::unique_ptr<channels::TaskIo>> io; // destroyed before the workloads
  /// Tensors that pass between tasks on the device. They are stored at the beginning of the producer's fixed memory.
  std::vector<channels::DeviceLink> links;
  /// The demand of each task's workload before the workload is cut into segments, plus the demand of its links.
  std::vector<MemoryDemand> memory;
  /// The fingerprint of each task, which includes the sources of its inputs and its tuning.
  std::vector<std::string> fingerprints;
  /// The tuning choices from the profile that were applied to each workload
  std::vector<std::vector<std::string>> tunings;
  std::vector<std::string> policy_reasons; // the reason for each task's memory policy; empty: the task names its policy
  std::optional<Profile> profile;          // the profile file, if it exists
  std::optional<std::string> measured_on;  // the device of the profile, if it provided WCETs or tuning
  /// True if jobs are not cut into segments, because the set is loaded for measuring.
  bool whole_jobs = false;
  bool measures_streams = false; // true: later runs will stream the constants of some of the measured jobs
  bool whole_device = false;     // true: neither board nor task set limits the device memory
  /// Opens the caller's own device instead of the board's device. Empty: the board's device is used.
  OpenDevice open_own;

  /// Opens the board's device, or the caller's own device, with chunks of the set's size (`chunk`).
  [[nodiscard]] Result<std::unique_ptr<hal::Device>> open_device(Bytes capacity) const;
};

/// Reads the board, resolves the set for `machine`, makes the workloads that `setup` does not provide, and connects all
/// workloads. Returns all errors of each of these steps at once. Uses these members of `setup`: board, workloads,
/// callbacks, tunings, open_device and picture observer. Moves workloads and callbacks out of `setup`. If neither board
/// nor task set states the capacity, queries the device; for another machine, uses the machine's facts. WCETs that the
/// task set does not state come from the profile. If a task has neither a WCET nor a memory policy, its policy comes
/// from the profile, too. If `setup` provides tunings, the profile is not used, because the caller is going to measure
/// WCETs.
[[nodiscard]] Result<LoadedSet> load(TaskSet tasks, Setup& setup, MachineFacts machine = this_machine());

/// Makes the plan of the set. The plan includes the fingerprint and tuning of each task, and the device on which the
/// tasks were measured. Pure function.
[[nodiscard]] Result<Plan> plan(const LoadedSet& set);

/// Cuts the workloads into segments as planned. Must be called before the workloads are bound.
[[nodiscard]] Result<> cut(LoadedSet& set, const Plan& plan);

/// Returns the fingerprint that a profile stores with a WCET: the workload's fingerprint combined with its tuning.
/// Therefore, an entry of the profile becomes stale if its tuning is edited.
[[nodiscard]] std::string with_tuning(const std::string& fingerprint, std::span<const std::string> tuning);

/// Returns the reason why the board's device does not support `precision`, with a remedy. Returns an empty text if the
/// device supports it. A device that computes on the host supports only fp32.
[[nodiscard]] std::string problem_of_precision(Precision precision, const Board& board);

} // namespace rtexec::executive
