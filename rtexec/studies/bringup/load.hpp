// What else a machine does while an item measures: a thread without priority on each core that sweeps memory, and one
// that writes files and starts processes. Set-up only.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/loads/traffic/generator_thread.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace rtexec::bringup {

class Load {
 public:
  /// `folder`: where it writes. `partition`: of those among `cores` that `has` one; it outlives this.
  [[nodiscard]] static Result<Load> start(std::span<const unsigned> cores, const std::filesystem::path& folder,
                                          std::span<const unsigned> has, hal::CpusetPartition* partition);

 private:
  std::vector<tasks::GeneratorThread> sweeps_;
  std::jthread activity_;
};

} // namespace rtexec::bringup
