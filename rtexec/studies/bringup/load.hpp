// A load on the machine while an item measures. It has a thread without priority on each core that sweeps memory, and
// one that writes files and starts processes. Set-up only.
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
  /// Starts the load. It writes files in `folder`. `partition` is the cpuset partition of the cores in `has`; it must
  /// outlive this object.
  [[nodiscard]] static Result<Load> start(std::span<const unsigned> cores, const std::filesystem::path& folder,
                                          std::span<const unsigned> has, hal::CpusetPartition* partition);

 private:
  std::vector<tasks::GeneratorThread> sweeps_;
  std::jthread activity_;
};

} // namespace rtexec::bringup
