#include <rtexec/planning.hpp>

#include "rtexec/runtime/planning/loaded_set.hpp"

namespace rtexec {

Result<PlannedSet> plan(TaskSet tasks, MachineFacts machine,
                        std::map<std::string, std::unique_ptr<Workload>> workloads) {
  executive::Setup setup;
  setup.workloads = std::move(workloads);
  auto set = executive::load(std::move(tasks), setup, std::move(machine));
  if (!set) return Unexpected(set.error());
  auto made = executive::plan(*set);
  if (!made) return Unexpected(made.error());
  return PlannedSet{static_cast<ResolvedSet&&>(*set), std::move(*made)};
}

} // namespace rtexec
