// Plans without an executive: proves or rejects a task set, for this machine or another machine.
//
//   auto set = rtexec::read_task_set("robot.toml");
//   auto robot = rtexec::read_machine("robot.probe.json"); // written on the robot by `rtexec probe --json`
//   if (set && robot)
//     if (auto planned = rtexec::plan(*set, *robot)) std::cout << (planned->plan.proved ? "proved\n" : "not proved\n");
//
// Set-up code: allocates and reads files. For this machine it also probes what the kernel permits. Thread-safe. Throws
// std::bad_alloc, and the exceptions of custom workloads' constructors.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/machine.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/resolved_set.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rtexec {

/// A resolved set with its plan. Its tasks contain the execution times on which the plan relies.
struct PlannedSet : ResolvedSet {
  Plan plan;
};

/// Returns the facts of this machine. Probes the scheduling classes that the kernel permits.
[[nodiscard]] RTEXEC_API MachineFacts this_machine();

/// Reads the facts of a machine from a file that `rtexec probe --json` wrote. Returns bad_input if the file has other
/// contents, refused if the file cannot be read.
[[nodiscard]] RTEXEC_API Result<MachineFacts> read_machine(const std::filesystem::path& file);

/// Makes the plan of `tasks` on `machine`. `workloads` are custom workloads, by task name. An unproved set is no error:
/// Plan::proved is then false. Returns bad_input if the set, its board, models, workloads or profile are invalid, or if
/// the size of the device memory is unknown. Returns not_proved if the memory does not fit even with swapping. Returns
/// unsupported or refused if the device must be queried but cannot be queried.
[[nodiscard]] RTEXEC_API Result<PlannedSet> plan(TaskSet tasks, MachineFacts machine = this_machine(),
                                                 std::map<std::string, std::unique_ptr<Workload>> workloads = {});

/// Returns the assumptions of the plan's verdict, with the evidence for or against each assumption on the machine of
/// `set`. The assumptions concern execution times, scheduling class, locked memory, threads of higher priority than the
/// executive's threads, and the costs of swapping. If Board::platform_stall is not 0, they also concern platform
/// stalls.
[[nodiscard]] RTEXEC_API std::vector<Condition> conditions(const ResolvedSet& set, const Plan& plan);

} // namespace rtexec
