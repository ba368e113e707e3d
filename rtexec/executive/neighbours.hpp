// What may go on beside a task set while it is measured: on each core of the machine a thread that gives way to every
// other one sweeps as much memory as a core has caches of its own. So jobs find these used by others, and share with
// busy cores what cores share: the arithmetic units of two hyperthreads, a clock that falls when all cores work.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"
#include "tasks/traffic/generator_thread.hpp"

#include <set>
#include <vector>

namespace rtexec::executive {

/// While it lives.
class Neighbours {
 public:
  Neighbours() = default;
  /// `partition`: of the cores `in_partition`, where they have one; it must outlive this. Set-up.
  [[nodiscard]] static Result<Neighbours> start(const std::set<unsigned>& in_partition,
                                                hal::CpusetPartition* partition);

 private:
  std::vector<tasks::GeneratorThread> threads_;
};

} // namespace rtexec::executive
