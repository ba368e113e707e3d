// The interface of an inference back end, which makes workloads from model files. The built-in back end is
// engine/engine_backend.hpp. Other back ends come from shared objects (<rtexec/backend.h>,
// backends/loaded_backend.hpp).
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>

#include <array>
#include <memory>
#include <span>

namespace rtexec::tasks {

/// The memory policies that a task can request: device memory (D), managed memory (M), host memory (H).
inline constexpr std::array every_memory_policy{MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};

class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// Returns the memory policies that this back end supports for `task`, regardless of the board. D (device memory)
  /// comes first.
  [[nodiscard]] virtual std::span<const MemoryPolicy> memory_policies(const Task& task) const = 0;
  /// Opens the network of `task`, to run on a device of `kind`. Such a device need not exist on this machine. Call this
  /// function during set-up, from any thread. Errors name the file and the part of the file that cannot be used.
  [[nodiscard]] virtual Result<std::unique_ptr<Workload>> open(const Task& task, DeviceKind kind) const = 0;
};

} // namespace rtexec::tasks
