#include "tasks/engine/engine_backend.hpp"

#include "tasks/engine/dnn_workload.hpp"

#include <optional>

namespace rtexec::tasks {
namespace {

class EngineBackend final : public Backend {
 public:
  /// Returns only D for a task with a footprint or a swap volume: both need memory in chunks, which only policy D has.
  std::span<const MemoryPolicy> memory_policies(const Task& task) const override {
    return std::span(every_memory_policy).first(task.footprint || task.swap_volume ? 1 : every_memory_policy.size());
  }

  Result<std::unique_ptr<Workload>> open(const Task& task, DeviceKind kind) const override {
    std::optional<DnnWorkload::Footprint> footprint;
    if (task.footprint)
      footprint = {
          .size = *task.footprint, .swappable = task.swappable.value_or(*task.footprint), .kind = task.memory_class};
    auto made = DnnWorkload::load(task.model, kind, task.precision, footprint, task.memory_policy,
                                  {.inputs = {.shapes = task.shape, .constants = task.constant}, .state = task.state});
    if (!made) return Unexpected(made.error());
    return std::unique_ptr<Workload>(std::move(*made));
  }
};

} // namespace

const Backend& engine_backend() {
  static const EngineBackend backend;
  return backend;
}

} // namespace rtexec::tasks
