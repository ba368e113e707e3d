// Measures the WCETs of a task set on this machine by running it, as `rtexec profile` does.
//
//   const auto measured = rtexec::profile(set);
//   if (measured) set.tasks[0].wcet = measured->entries[0].wcet;   // or write_profile(*measured, file)
//
// First each workload is tuned: it measures on the device which of its ways to compute are fastest. Then the set runs
// with its own periods, a tenth of the jobs or up to 10 s; with periods a little apart, half as long; and at a load
// that keeps the busiest core busy most of the time, while threads without priority use its cores and their caches,
// too. So CPU parts and device parts are measured after pauses as well as beside each other. Where workloads have
// layers on the device, a last, short run at that load times them: a tenth of the jobs or of the time that is asked
// for, else 3 s, and 8 jobs of each task at least.
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
  /// How many jobs of each task; absent: as long as `time`, and without that as well until the WCETs that the first
  /// half of the executions make held for the other half: looked at after 20 s, 30 s and 40 s.
  std::optional<std::uint64_t> jobs{};
  std::optional<Duration> time{};
  /// A part's WCET is the longest execution times this at least, and more where its executions vary so much that longer
  /// ones are to be expected (traces/wcet/part_wcet.hpp), or where the longest executions of its layers sum up to more.
  double margin = 1.2;
  /// An earlier profile of this machine and device: its executions count as well, and its tuning stays. Each task was
  /// measured then, with the same workload.
  std::optional<Profile> before{};
};

/// Told how far it is, on the calling thread; false ends it: Errc::cancelled. Null functions are not called.
struct ProfileObserver {
  /// Steps of tuning `task` done, and how many are wanted.
  std::function<bool(const std::string& task, std::size_t done, std::size_t wanted)> tuning = {};
  /// Jobs done so far of the slowest task, and how many are wanted; those whose layers are timed come on top.
  std::function<bool(std::uint64_t done, std::uint64_t wanted)> measuring = {};
  /// Where no number of jobs is asked for: for how long it has measured, and how long it will, as it stands.
  std::function<bool(Duration done, Duration wanted)> measuring_for = {};
};

/// Makes the setup with workloads of one's own anew for each of the runs.
using MakeSetup = std::function<Result<ExecutiveSetup>()>;

/// WCETs that the task set gives are measured as well. A task that leaves its memory policy open and gives no WCET is
/// measured under each that it may have: the whole set once for each, in a share of the time; one for which memory is
/// missing is left out and told. The first entries are parallel to the tasks, those of further policies stand behind
/// them. Errors: as those of
/// Executive, of Workload::tune() and of `make_setup`; cancelled; device_fault, when a job failed.
[[nodiscard]] RTEXEC_API Result<Profile> profile(const TaskSet& tasks, const ProfileOptions& options = {},
                                                 const ProfileObserver& observer = {},
                                                 const MakeSetup& make_setup = {});

} // namespace rtexec
