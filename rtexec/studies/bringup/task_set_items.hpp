// Runs a short task set whose deadlines must be kept: two tasks with jobs on the device, and one task that uses only
// its core. First the execution times are measured. Then admission promises deadlines on the basis of these times, and
// the tasks run.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"

namespace rtexec::bringup {

/// Returns the task set, without execution times.
[[nodiscard]] TaskSet short_task_set(const Subject& subject);
/// Returns a set-up for the subject's board. The set-up includes a workload for the one task of the set that has no
/// device part.
[[nodiscard]] executive::Setup setup_for(const Subject& subject);

/// Makes the periods long enough for an emulator to execute each job. `set` must have execution times.
void lengthen_periods(TaskSet& set);

struct ShortRun {
  Plan plan;
  Report report; // empty if the plan does not promise all deadlines
};
/// Measures the execution times, plans and runs the set. Returns errors of the executive and of profile().
[[nodiscard]] Result<ShortRun> run_short_set(const Subject& subject);

[[nodiscard]] Answer judge(const ShortRun& run, const Subject& subject);

} // namespace rtexec::bringup
