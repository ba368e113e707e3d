// A short task set whose deadlines must hold: two tasks whose jobs the device executes, and one that stays on its core.
// Their execution times are measured, admission promises their deadlines with them, and then they run.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"

namespace rtexec::bringup {

/// Without execution times.
[[nodiscard]] TaskSet short_task_set(const Subject& subject);
/// On the subject's board, with the workload of the task that stays on its core.
[[nodiscard]] executive::Setup setup_for(const Subject& subject);

/// So far that each job has time on an emulator; `set` has execution times.
void lengthen_periods(TaskSet& set);

struct ShortRun {
  Plan plan;
  Report report; // of a plan that is proved
};
/// Measures, plans and runs it. Errors are those of the executive and of profile().
[[nodiscard]] Result<ShortRun> run_short_set(const Subject& subject);

[[nodiscard]] Answer judge(const ShortRun& run, const Subject& subject);

} // namespace rtexec::bringup
