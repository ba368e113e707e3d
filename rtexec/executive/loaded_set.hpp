// A task set with everything that planning and running it needs: its board, its workloads, and what they demand.
#pragma once

#include "config/board.hpp"
#include "config/plan.hpp"
#include "config/reader.hpp"
#include "config/task_set.hpp"
#include "tasks/workload.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::executive {

/// Vectors are parallel to `tasks.tasks`.
struct LoadedSet {
  TaskSet tasks;
  Board board;
  std::vector<std::unique_ptr<tasks::Workload>> workloads;
  std::vector<MemoryDemand> memory;
  std::vector<std::string> fingerprints;
};

using Workloads = std::map<std::string, std::unique_ptr<tasks::Workload>>;

/// Reads the board and makes the workloads, save those given by task name; all errors at once. Settles what the task set leaves to the
/// machine: the scheduling class of the threads, and the cores of the scheduler and the compute engine.
[[nodiscard]] Result<LoadedSet> load(TaskSet tasks, Workloads given = {});

/// Takes missing WCETs from the profile file, then plans.
[[nodiscard]] Result<Plan> make_plan(LoadedSet& set);

/// The files of boards/, compiled in.
[[nodiscard]] std::span<const BuiltinBoard> builtin_boards();

} // namespace rtexec::executive
