// What the simulator is told of a run that is not worked out: when jobs come, and how long their parts take. Seeded:
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

/// At the instants that tasks list (Task::releases), and on the grid of those that list none. Empty where no task does.
[[nodiscard]] NextRelease listed_releases(const TaskSet& tasks);

/// By task: whether a timer releases it and it stands in a chain. What is promised of the chain rests on its grid, and
/// it keeps that under every pattern.
[[nodiscard]] std::vector<bool> kept_grids(const TaskSet& tasks);

/// With gaps of one to two periods, evenly distributed; the first job comes within a period of its offset. Grids are
/// kept.
[[nodiscard]] NextRelease sporadic_releases(const TaskSet& tasks, std::uint64_t seed);

/// Each part takes between `least` (0 to 1) of its WCET and all of it, evenly distributed.
[[nodiscard]] ExecutionTime uniform_executions(const Plan& plan, double least, std::uint64_t seed);
[[nodiscard]] ExecutionBeside uniform_executions_beside(const Plan& plan, double least, std::uint64_t seed);

/// How long jobs of each task executed on the device, by task, in order. Not empty.
using RecordedExecutions = std::vector<std::vector<Duration>>;

/// Of a file that `rtexec run --jobs` wrote, the jobs that executed. bad_input: no such file, another format, or no job
/// of some task.
[[nodiscard]] Result<RecordedExecutions> read_executions(const std::filesystem::path& file, const TaskSet& tasks);

/// Device parts take what was recorded: in turn, or with a seed at random. CPU parts, which a record cannot tell from
/// what preempted them, take their WCETs.
[[nodiscard]] ExecutionTime recorded_executions(const Plan& plan, RecordedExecutions recorded,
                                                std::optional<std::uint64_t> seed);

} // namespace rtexec::simulator
