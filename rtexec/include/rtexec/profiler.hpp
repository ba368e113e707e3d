// Measures the WCETs of a task set by running the set on this machine, as `rtexec profile` does.
//
//   const auto measured = rtexec::profile(set);
//   if (measured) set.tasks[0].wcet = measured->entries[0].wcet;   // or write_profile(*measured, file)
//
// First each workload is tuned: it measures on the device which implementations are fastest. Then the set runs three
// times. The first run uses the set's own periods, for a tenth of the jobs or up to 10 s. The second run uses slightly
// different periods, and is half as long. The third run uses periods so short that the busiest core is almost always
// busy. During the third run, threads without priority load the set's cores and caches. So both CPU parts and device
// parts are measured after idle times, and also while other parts execute.
// If workloads have layers on the device, a last, short run times the layers, with the periods of the third run. That
// run lasts for a tenth of the requested jobs or of the requested time. The last run has at least 8 jobs of each task
// if at least 8 jobs are requested. If neither is requested, it lasts for 3 s and 8 jobs of each task.
#pragma once

#include <rtexec/executive.hpp>
#include <rtexec/export.hpp>
#include <rtexec/profile.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace rtexec {

struct ProfileOptions {
  /// The number of jobs of each task. Absent: measures for `time`. If `time` is absent too, measures until the WCETs of
  /// the first half of the executions hold for the second half. This is checked after 20 s, 30 s and 40 s.
  std::optional<std::uint64_t> jobs{};
  std::optional<Duration> time{};
  /// A factor: a part's WCET is at least `margin` * its longest execution. The WCET is larger if executions vary so
  /// much that longer executions are likely (traces/wcet/part_wcet.hpp). It is also larger if the longest executions of
  /// the part's layers add up to more than that.
  double margin = 1.2;
  /// An earlier profile of this machine and device, to which this measurement is added. The earlier executions count as
  /// well, and the earlier tuning is kept. The profile must contain each task, with the same workload.
  std::optional<Profile> before{};
};

/// Functions that receive reports of progress. They are called on the thread that called profile(). Each function
/// returns true to continue. If a function returns false, profiling ends with Errc::cancelled. Empty functions are not
/// called.
struct ProfileObserver {
  /// Called with the number of finished tuning steps of `task`, and the total number.
  std::function<bool(const std::string& task, std::size_t done, std::size_t wanted)> tuning = {};
  /// Called with the number of finished jobs of the slowest task, and the required number. Jobs whose layers are timed
  /// are not counted.
  std::function<bool(std::uint64_t done, std::uint64_t wanted)> measuring = {};
  /// Called if no number of jobs is requested. The arguments are the time measured so far and the expected total time.
  std::function<bool(Duration done, Duration wanted)> measuring_for = {};
};

/// A function that returns a new setup, with new custom workloads. Called once for each run.
using MakeSetup = std::function<Result<ExecutiveSetup>()>;

/// Measures all tasks, including tasks whose WCETs are in the task set. If the task set states neither the WCET nor the
/// memory policy of a task, the task is measured under each policy that it may use. The whole set then runs once for
/// each policy, for a share of the time. A policy under which the set does not fit into memory is omitted, and listed
/// in Profile::unmeasured. The profile begins with one entry for each task, in the order of the tasks; entries of
/// further policies follow. Returns the errors of Executive, of Workload::tune() and of `make_setup`; cancelled;
/// device_fault if a job failed.
[[nodiscard]] RTEXEC_API Result<Profile> profile(const TaskSet& tasks, const ProfileOptions& options = {},
                                                 const ProfileObserver& observer = {},
                                                 const MakeSetup& make_setup = {});

} // namespace rtexec
