#include "tasks/workload.hpp"

#include "tasks/dnn/dnn_workload.hpp"
#include "tasks/synthetic/synthetic_workload.hpp"

namespace rtexec::tasks {
namespace {

Result<std::unique_ptr<Workload>> make_synthetic(const Task& task, DeviceKind kind) {
  if (!task.wcet) return fail(Errc::bad_input, "task '" + task.name + "' is synthetic and needs a wcet: it runs for as long as that says");
  return std::make_unique<SyntheticWorkload>(*task.wcet, task.footprint, kind);
}

Result<std::unique_ptr<Workload>> make_dnn(const Task& task, DeviceKind kind) {
  auto workload = DnnWorkload::load(task.model, task.input, kind, task.precision);
  if (!workload) return fail(workload.error().code, "task '" + task.name + "': " + workload.error().what);
  return std::move(*workload);
}

} // namespace

Result<> Workload::use(std::span<const std::string> tuning) {
  if (tuning.empty()) return {};
  return fail(Errc::bad_input, "this workload has one way to compute, and was given a choice of them: " + tuning.front());
}

Result<std::vector<std::string>> Workload::tune(hal::Device&, const TuningProgress&) { return std::vector<std::string>{}; }

Result<std::unique_ptr<Workload>> make_workload(const Task& task, DeviceKind kind) {
  switch (task.workload) {
    case WorkloadKind::dnn: return make_dnn(task, kind);
    case WorkloadKind::synthetic: return make_synthetic(task, kind);
  }
  return fail(Errc::unsupported, "task '" + task.name + "' asks for a workload that is not known");
}

} // namespace rtexec::tasks
