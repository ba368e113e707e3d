// Release and execution patterns for the simulator: when jobs come, and how long their parts take. Patterns are seeded:
// the same arguments give the same run, whatever the order in which jobs ask. The functions own what they need.
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
using ExecutionBeside = decltype(Options::execution_beside);

/// Releases tasks at the instants that they list (Task::releases), and on their grid if they list none. Empty if no
/// task lists any.
[[nodiscard]] NextRelease listed_releases(const TaskSet& tasks);

/// Returns by task: true if a timer releases it and it belongs to a chain. The promise of the chain depends on its
/// grid, so the task keeps the grid under every pattern.
[[nodiscard]] std::vector<bool> kept_grids(const TaskSet& tasks);

/// Releases with gaps of one to two periods, evenly distributed. The first job comes within a period of its offset.
/// Tasks that keep their grids are not changed.
[[nodiscard]] NextRelease sporadic_releases(const TaskSet& tasks, std::uint64_t seed);

/// Each part takes between `least` (0 to 1) and all of its WCET, evenly distributed.
[[nodiscard]] ExecutionTime uniform_executions(const Plan& plan, double least, std::uint64_t seed);
[[nodiscard]] ExecutionBeside uniform_executions_beside(const Plan& plan, double least, std::uint64_t seed);

/// The execution times of each task's jobs on the device, by task, in order. Not empty.
using RecordedExecutions = std::vector<std::vector<Duration>>;

/// Reads the jobs that executed from a file written by `rtexec run --jobs`. Returns bad_input if there is no such file,
/// it has another format, or it holds no job of some task.
[[nodiscard]] Result<RecordedExecutions> read_executions(const std::filesystem::path& file, const TaskSet& tasks);

/// Device parts take the recorded times: in turn, or at random with a seed. CPU parts take their WCETs, since a record
/// cannot tell them from what preempted them.
[[nodiscard]] ExecutionTime recorded_executions(const Plan& plan, RecordedExecutions recorded,
                                                std::optional<std::uint64_t> seed);

} // namespace rtexec::simulator
