// A plan without an executive: whether a task set can be promised, on this machine or on another one.
//
//   auto set = rtexec::read_task_set("robot.toml");
//   auto robot = rtexec::read_machine("robot.probe.json"); // written there by `rtexec probe --json`
//   if (set && robot)
//     if (auto planned = rtexec::plan(*set, *robot)) std::cout << (planned->plan.proved ? "proved\n" : "not proved\n");
//
// Set-up code: allocates, reads files, and on this machine tries what it gives. Thread-safe. Throws std::bad_alloc, and
// what constructors of one's own workloads throw.
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

/// With the execution times that the plan rests on.
struct PlannedSet : ResolvedSet {
  Plan plan;
};

/// This machine: tries which scheduling classes it gives.
[[nodiscard]] RTEXEC_API MachineFacts this_machine();

/// A machine that `rtexec probe --json` described. bad_input: the file is not that; refused: it cannot be read.
[[nodiscard]] RTEXEC_API Result<MachineFacts> read_machine(const std::filesystem::path& file);

/// Makes the plan of `tasks` on `machine`. Workloads of one's own are given by task name, as to an executive. A set
/// that is not proved is no error: Plan::proved tells. bad_input: the set, its board, models, workloads or profile, or
/// the memory of its device is not known; not_proved: its memory does not fit, swapped or not; unsupported, refused:
/// its device must be asked, and cannot.
[[nodiscard]] RTEXEC_API Result<PlannedSet> plan(TaskSet tasks, MachineFacts machine = this_machine(),
                                                 std::map<std::string, std::unique_ptr<Workload>> workloads = {});

/// What the verdict of `plan` supposes, and what is known of it on the machine of `set`: execution times, scheduling
/// class and locked memory, nothing above the executive, how long the machine may stop where its board says that, and
/// the costs of what is swapped.
[[nodiscard]] RTEXEC_API std::vector<Condition> conditions(const ResolvedSet& set, const Plan& plan);

} // namespace rtexec
