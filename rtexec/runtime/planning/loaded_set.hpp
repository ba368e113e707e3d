// A task set with everything that planning and running it needs: its board, its workloads, and what they demand.
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

/// Vectors are parallel to `tasks.tasks`.
struct LoadedSet : ResolvedSet {
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<std::unique_ptr<channels::TaskIo>> io; // goes before the workloads
  std::vector<channels::DeviceLink> links;           // their memory is the first of what is fixed of their producers'
  std::vector<MemoryDemand> memory;                  // of workloads that are not cut, and of links
  std::vector<std::string> fingerprints;             // sources of inputs and tuning included
  /// Ways to compute that were measured and that the workload was given
  std::vector<std::vector<std::string>> tunings;
  std::vector<std::string> policy_reasons; // why a task has its memory policy, where it left that open
  std::optional<Profile> profile;          // the profile file, where there is one
  std::optional<std::string> measured_on;  // the device of what was taken from the profile, if anything was
  bool whole_jobs = false;                 // they are about to be measured, and not cut
  bool measures_streams = false;           // some of them will be streamed
  bool whole_device = false;               // neither board nor task set says how much of the device may be used
  OpenDevice open_own;                     // a device of the caller's own instead of the board's

  /// The board's device, or the caller's own, in chunks of `chunk`.
  [[nodiscard]] Result<std::unique_ptr<hal::Device>> open_device(Bytes capacity) const;
};

/// Reads the board, resolves the set for `machine`, makes the workloads, save those that `setup` gives, and connects
/// them; all errors at once of each. Takes from `setup` its board, workloads, callbacks, tunings, the opener of a
/// device and what is shown. A capacity that only the device knows is asked of it, or of a machine that is not this one
/// taken from its facts. Missing WCETs come from the profile, and with them the memory policies that tasks leave open,
/// save where `setup` gives tunings: then they are about to be measured.
[[nodiscard]] Result<LoadedSet> load(TaskSet tasks, Setup& setup, MachineFacts machine = this_machine());

/// The plan that policies make of the set, with what each task executes and where that was measured. Pure.
[[nodiscard]] Result<Plan> plan(const LoadedSet& set);

/// Cuts the workloads as its plan says; before they are bound.
[[nodiscard]] Result<> cut(LoadedSet& set, const Plan& plan);

/// What a WCET depends on: the workload, and the ways to compute that it was given. A profile whose tuning was changed
/// by hand is stale.
[[nodiscard]] std::string with_tuning(const std::string& fingerprint, std::span<const std::string> tuning);

/// fp32 where the board's device computes on the host: empty, or what to do.
[[nodiscard]] std::string problem_of_precision(Precision precision, const Board& board);

} // namespace rtexec::executive
