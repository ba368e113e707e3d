// What else may go on where a task set runs, while it is measured: on each of its cores a thread that gives way to
// every other one sweeps as much memory as a core has caches of its own, so that jobs find these used by others.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"
#include "tasks/loads/traffic/generator_thread.hpp"

#include <set>
#include <vector>

namespace rtexec::executive {

/// While it lives.
class Neighbours {
 public:
  Neighbours() = default;
  /// `partition`: of these cores, where they have one; it must outlive this. Set-up.
  [[nodiscard]] static Result<Neighbours> start(const std::set<unsigned>& cores, hal::CpusetPartition* partition);

 private:
  std::vector<tasks::GeneratorThread> threads_;
};

} // namespace rtexec::executive
