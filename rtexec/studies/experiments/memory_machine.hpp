// The memory experiment (memory_experiment.hpp) on a machine. Micro-benchmarks run on the device of a board, each with
// its own buffers. Device parts run on the two compute engines as the device scheduler starts them. CPU parts run on
// the calling thread. The time of a device part is measured as in the executive. This time excludes the submission to a
// GPU, the notification of its end, and the time of other threads on the core of a software device. The time from the
// release to the end of a device part includes all of these times.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "rtexec/studies/experiments/memory_experiment.hpp"

#include <memory>
#include <string>
#include <vector>

namespace rtexec::study {

struct MemoryMachine {
  std::string where;              // "NVIDIA H200, fed by core 3"
  std::vector<std::string> notes; // one line each
  std::unique_ptr<MemoryPlatform> platform;
};
/// Opens the device of `board` and claims the core that feeds it. Returns refused if another run has claimed that core,
/// or if the device is not on this machine.
[[nodiscard]] Result<MemoryMachine> memory_machine(const Board& board);

/// Returns workloads with sizes at which a job takes less than about 100 ms on a device of this kind. No array is
/// larger than `largest`.
[[nodiscard]] std::vector<MemoryWorkload> measured_workloads(DeviceKind device, Bytes largest);

} // namespace rtexec::study
