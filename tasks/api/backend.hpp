// An inference back end, which makes workloads of model files. The built-in one is engine/engine_backend.hpp. Others
// are shared objects (<rtexec/backend.h>, backends/loaded_backend.hpp).
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/workload.hpp>

#include <array>
#include <memory>
#include <span>

namespace rtexec::tasks {

/// All memory policies that memory can have; D comes first.
inline constexpr std::array every_memory_policy{MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};

class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// Returns the memory policies that the memory of `task` can have, regardless of the board. D comes first.
  [[nodiscard]] virtual std::span<const MemoryPolicy> memory_policies(const Task& task) const = 0;
  /// Opens the network of `task`, to run on a device of `kind`, which need not exist here. Set-up, any thread. Errors
  /// name the file, and the part that cannot be used.
  [[nodiscard]] virtual Result<std::unique_ptr<Workload>> open(const Task& task, DeviceKind kind) const = 0;
};

} // namespace rtexec::tasks
