#include "tasks/make/make_workload.hpp"

#include "config/task_set_rules.hpp"
#include "tasks/base/buffer_kind.hpp"
#include "tasks/backends/custom_workload.hpp"
#include "tasks/backends/loaded_backend.hpp"
#include "tasks/engine/engine_backend.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"
#include "tasks/loads/synthetic/synthetic_workload.hpp"
#include "tasks/loads/traffic/traffic_workload.hpp"
#include "tasks/loads/winograd/winograd_workload.hpp"

namespace rtexec::tasks {
namespace {

template <class Made> Result<std::unique_ptr<Workload>> of_task(const Task& task, Result<std::unique_ptr<Made>> made) {
  if (!made) return fail(made.error().code, "task '" + task.name + "': " + made.error().what);
  return std::unique_ptr<Workload>(std::move(*made));
}

Result<std::unique_ptr<Workload>> make_synthetic(const Task& task, DeviceKind kind) {
  if (!task.wcet)
    return fail(Errc::bad_input, "task '" + task.name + "' is synthetic and needs a wcet, its execution time");
  return of_task(task, SyntheticWorkload::make(task, kind));
}

Result<> has_no_footprint(const Task& task, const char* instead) {
  if (!task.footprint) return {};
  return fail(Errc::bad_input, "task '" + task.name + "': footprint = " + to_string(*task.footprint) +
                                   ": only for synthetic tasks, and for dnn tasks under D; this one " + instead);
}

Result<std::unique_ptr<Workload>> make_dnn(const Task& task, DeviceKind kind) {
  if (kind_of(task.memory_policy) != BufferKind::device)
    if (const auto none = has_no_footprint(task, "uses the memory of its network"); !none)
      return Unexpected(none.error());
  const auto backend = backend_of(task);
  return of_task(task, backend ? (*backend)->open(task, kind) : Unexpected(backend.error()));
}

Result<std::unique_ptr<Workload>> make_traffic(const Task& task) {
  if (const auto none = has_no_footprint(task, "uses no device memory"); !none) return Unexpected(none.error());
  return of_task(task, TrafficWorkload::make(task));
}

Result<std::unique_ptr<Workload>> make_winograd(const Task& task, DeviceKind kind) {
  if (const auto none = has_no_footprint(task, "uses the memory that its resolution needs"); !none)
    return Unexpected(none.error());
  CudnnWinograd::Options options;
  options.policy = task.memory_policy;
  return of_task(task, WinogradWorkload::make(task.resolution, kind, options));
}

Result<std::unique_ptr<Workload>> make_benchmark(const Task& task, DeviceKind kind) {
  if (const auto none = has_no_footprint(task, "uses the memory that its size needs"); !none)
    return Unexpected(none.error());
  return of_task(task, KernelWorkload::make(
                           {.kind = task.workload, .size = task.size.value_or(0), .policy = task.memory_policy}, kind));
}

Result<std::unique_ptr<Workload>> make_custom(const Task& task) {
  if (task.library.empty())
    return fail(Errc::bad_input, "task '" + task.name +
                                     "': workload = \"custom\" needs a program that provides it; in a file, write "
                                     "workload = \"lib:FILE\", a shared object");
  return of_task(task, CustomWorkload::load(task));
}

} // namespace

Result<const Backend*> backend_of(const Task& task) {
  return config::is_built_in(task) ? &engine_backend() : load_backend(task.backend);
}

Result<std::unique_ptr<Workload>> make_workload(const Task& task, DeviceKind kind) {
  if (task.swappable > task.footprint)
    return fail(Errc::bad_input, "task '" + task.name + "': swappable = " + to_string(*task.swappable) +
                                     " is more than its footprint, " +
                                     (task.footprint ? to_string(*task.footprint) : "which is missing"));
  if (is_micro_benchmark(task.workload)) return make_benchmark(task, kind);
  switch (task.workload) {
  case WorkloadKind::dnn: return make_dnn(task, kind);
  case WorkloadKind::synthetic: return make_synthetic(task, kind);
  case WorkloadKind::traffic: return make_traffic(task);
  case WorkloadKind::winograd: return make_winograd(task, kind);
  case WorkloadKind::custom: return make_custom(task);
  default: break;
  }
  return fail(Errc::unsupported, "task '" + task.name + "' has an unknown workload");
}

std::span<const MemoryPolicy> memory_policies(const Task& task) {
  constexpr auto only_device = std::span(every_memory_policy).first(1);
  if (is_micro_benchmark(task.workload)) return every_memory_policy;
  if (task.workload == WorkloadKind::winograd) return engine_backend().memory_policies(task);
  if (task.workload != WorkloadKind::dnn) return only_device;
  const auto backend = backend_of(task);
  return backend ? (*backend)->memory_policies(task) : only_device;
}

} // namespace rtexec::tasks
