// Interference load for measurements of a task set. On each core of the set, a thread runs while the core is otherwise
// idle. The thread repeatedly writes a memory area of the size of the core's private caches. Therefore, jobs find these
// caches filled with other data.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"
#include "tasks/loads/traffic/generator_thread.hpp"

#include <set>
#include <vector>

namespace rtexec::executive {

/// The threads of the interference load, which run from start() until this object is destroyed.
class InterferenceLoad {
 public:
  InterferenceLoad() = default;
  /// Starts the threads on `cores`. `partition`: the cpuset partition of these cores, or null; it must outlive the
  /// returned object. Set-up only.
  [[nodiscard]] static Result<InterferenceLoad> start(const std::set<unsigned>& cores, hal::CpusetPartition* partition);

 private:
  std::vector<tasks::GeneratorThread> threads_;
};

} // namespace rtexec::executive
