// Interference load for measurements of a task set. On each core of the set, a thread that yields to all others sweeps
// as much memory as the core's private caches hold. So jobs find these caches filled by others.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"
#include "tasks/loads/traffic/generator_thread.hpp"

#include <set>
#include <vector>

namespace rtexec::executive {

/// Runs the load threads from start() until its destruction.
class Neighbours {
 public:
  Neighbours() = default;
  /// Starts the threads on `cores`. `partition`: the cpuset partition of these cores, or null; it must outlive this.
  /// Set-up.
  [[nodiscard]] static Result<Neighbours> start(const std::set<unsigned>& cores, hal::CpusetPartition* partition);

 private:
  std::vector<tasks::GeneratorThread> threads_;
};

} // namespace rtexec::executive
