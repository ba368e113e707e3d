// The interface of an inference back end, which makes workloads from model files. engine/engine_backend.hpp is the
// built-in back end. Other back ends come from shared objects (<rtexec/backend.h>, backends/loaded_backend.hpp).
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>

#include <array>
#include <memory>
#include <span>

namespace rtexec::tasks {

/// All memory policies that a task can choose for its memory: device memory (D), managed memory (M), host memory (H).
inline constexpr std::array every_memory_policy{MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};

class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// Returns the memory policies that the memory of `task` can have, regardless of the board. D (device memory) comes
  /// first.
  [[nodiscard]] virtual std::span<const MemoryPolicy> memory_policies(const Task& task) const = 0;
  /// Opens the network of `task`, to run on a device of `kind`, which need not exist on this machine. Call it during
  /// set-up, from any thread. Errors name the file, and the part of it that cannot be used.
  [[nodiscard]] virtual Result<std::unique_ptr<Workload>> open(const Task& task, DeviceKind kind) const = 0;
};

} // namespace rtexec::tasks
