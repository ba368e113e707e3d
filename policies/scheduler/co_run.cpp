#include "policies/scheduler/co_run.hpp"

#include "config/memory_policy.hpp"

namespace rtexec::policies {
namespace {

std::optional<CoRun> asked(const Task& task, MemoryPolicy policy, const Board& board) {
  if (!task.co_run_wcet || !task.wcet->uses_device() || !can_use_both_engines(task, board)) return std::nullopt;
  CoRun co_run{.wcet = std::max(*task.co_run_wcet, task.wcet->device), .idle = {}};
  if (config::waits_for_pages(policy)) co_run.idle = task.mapping_idle.value_or(Duration(0));
  return co_run;
}

} // namespace

std::vector<TaskPair> pairs(const Plan& plan) {
  std::vector<TaskPair> all;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i)
    for (std::size_t j = 0; j < plan.tasks.size(); ++j) {
      const auto &executes = plan.tasks[i].co_run, &waits = plan.tasks[j].co_run;
      if (executes && waits && !executes->idle && may_pair(*executes, *waits)) all.push_back({i, j});
    }
  return all;
}

bool can_use_both_engines(const Task& task, const Board& board) {
  return !board.has_driver() || (task.workload != WorkloadKind::custom && task.backend.empty());
}

void plan_co_running(Plan& plan, const TaskSet& tasks, const Board& board) {
  if (!tasks.device.co_run) return;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i)
    plan.tasks[i].co_run = asked(tasks.tasks[i], plan.tasks[i].memory_policy, board);
  std::vector<bool> has_partner(plan.tasks.size());
  for (const TaskPair& pair : pairs(plan)) has_partner[pair.executes] = has_partner[pair.waits] = true;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    PlannedTask& task = plan.tasks[i];
    if (!has_partner[i]) task.co_run.reset();
    task.scratch_at_end = task.co_run && task.co_run->idle;
  }
}

} // namespace rtexec::policies
