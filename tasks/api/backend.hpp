// An inference back end: makes workloads of model files. The built-in one is engine/engine_backend.hpp; others are
// shared objects (<rtexec/backend.h>, backends/loaded_backend.hpp).
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>

#include <array>
#include <memory>
#include <span>

namespace rtexec::tasks {

/// All that memory can live under, D first.
inline constexpr std::array every_memory_policy{MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};

class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// What the memory of `task` can live under, whatever a board has; D first.
  [[nodiscard]] virtual std::span<const MemoryPolicy> memory_policies(const Task& task) const = 0;
  /// The network of `task`, to run on a device of `kind`, which need not be there. Set-up, any thread. Errors name the
  /// file, and what cannot be used.
  [[nodiscard]] virtual Result<std::unique_ptr<Workload>> open(const Task& task, DeviceKind kind) const = 0;
};

} // namespace rtexec::tasks
