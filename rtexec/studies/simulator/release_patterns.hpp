// Release and execution patterns for the simulator: functions that return when jobs are released and how long their
// parts take. Random patterns have a seed. Equal arguments give the same run, whatever the order of the calls. The
// functions own the data that they need.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/studies/simulator/simulator.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace rtexec::simulator {

using NextRelease = decltype(Options::release);
using ExecutionTime = decltype(Options::execution);
using CoRunExecution = decltype(Options::co_run_execution);

/// Returns a pattern with the releases that tasks list (Task::releases). A task without listed releases is released on
/// its grid. Returns an empty function if no task lists releases.
[[nodiscard]] NextRelease listed_releases(const TaskSet& tasks);

/// Returns by task true if a timer releases the task and the task belongs to a chain. The chain's bound assumes
/// releases on the task's grid, so patterns must not change them.
[[nodiscard]] std::vector<bool> kept_grids(const TaskSet& tasks);

/// Returns a pattern with gaps of one to two periods between releases, evenly distributed. The first release is at most
/// a period after the task's offset. Tasks whose releases must stay on their grids (kept_grids()) are unchanged.
[[nodiscard]] NextRelease sporadic_releases(const TaskSet& tasks, std::uint64_t seed);

/// Returns a pattern in which each part takes a random time, evenly distributed between `least` (0 to 1) times its
/// WCET and its WCET.
[[nodiscard]] ExecutionTime uniform_executions(const Plan& plan, double least, std::uint64_t seed);
[[nodiscard]] CoRunExecution uniform_co_run_executions(const Plan& plan, double least, std::uint64_t seed);

/// Recorded execution times of jobs on the device, by task, in the order of the jobs. No list is empty.
using RecordedExecutions = std::vector<std::vector<Duration>>;

/// Reads the execution times from a file that `rtexec run --jobs` wrote. Jobs that did not execute are left out.
/// Returns bad_input if there is no such file, if its format is not that of `--jobs`, or if it contains no job of a
/// task.
[[nodiscard]] Result<RecordedExecutions> read_executions(const std::filesystem::path& file, const TaskSet& tasks);

/// Returns a pattern in which device parts take the recorded times, one after the other or, if there is a seed, at
/// random. CPU parts take their WCETs, since a record does not distinguish their execution from preemptions.
[[nodiscard]] ExecutionTime recorded_executions(const Plan& plan, RecordedExecutions recorded,
                                                std::optional<std::uint64_t> seed);

} // namespace rtexec::simulator
