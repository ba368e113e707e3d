// The memory experiment on a machine: micro-benchmarks on the device of a board, each with buffers of its own. Device
// parts run on the two compute engines as the scheduler core starts them, CPU parts on the calling thread. Device parts
// are timed as in the executive: without what others take of a core that is the device, or the way to a GPU and back.
// Ends count everything since the release.
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
  std::unique_ptr<MemoryPlant> plant;
};
/// Opens the device of `board` and claims the core that feeds it. Returns refused if another run has that core, or the
/// device is not on this machine.
[[nodiscard]] Result<MemoryMachine> memory_machine(const Board& board);

/// Returns sizes for such a device with which a job takes less than about 100 ms. No array is above `largest`.
[[nodiscard]] std::vector<MemoryWorkload> measured_workloads(DeviceKind device, Bytes largest);

} // namespace rtexec::study
