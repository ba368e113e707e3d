// A load on the machine while an item measures. On each core, a thread without real-time priority sweeps memory. One
// more thread writes files and starts processes. Set-up only.
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
  /// Starts the load on `cores`. The load writes files in `folder`. `partition`: the cpuset partition that contains the
  /// cores in `has`. The partition must outlive this object.
  [[nodiscard]] static Result<Load> start(std::span<const unsigned> cores, const std::filesystem::path& folder,
                                          std::span<const unsigned> has, hal::CpusetPartition* partition);

 private:
  std::vector<tasks::GeneratorThread> sweeps_;
  std::jthread activity_;
};

} // namespace rtexec::bringup
