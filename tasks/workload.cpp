#include "tasks/workload.hpp"

#include "tasks/dnn/dnn_workload.hpp"
#include "tasks/synthetic/synthetic_workload.hpp"

namespace rtexec::tasks {
namespace {

Result<std::unique_ptr<Workload>> make_synthetic(const Task& task) {
  if (!task.wcet) return fail(Errc::bad_input, "task '" + task.name + "' is synthetic and needs a wcet: it runs for as long as that says");
  return std::make_unique<SyntheticWorkload>(*task.wcet, task.footprint);
}

Result<std::unique_ptr<Workload>> make_dnn(const Task& task) {
  auto workload = DnnWorkload::load(task.model, task.input);
  if (!workload) return fail(workload.error().code, "task '" + task.name + "': " + workload.error().what);
  return std::move(*workload);
}

} // namespace

Result<std::unique_ptr<Workload>> make_workload(const Task& task) {
  switch (task.workload) {
    case WorkloadKind::dnn: return make_dnn(task);
    case WorkloadKind::synthetic: return make_synthetic(task);
  }
  return fail(Errc::unsupported, "task '" + task.name + "' asks for a workload that is not known");
}

} // namespace rtexec::tasks
