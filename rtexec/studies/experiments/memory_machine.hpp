// The memory experiment on a machine: micro-benchmarks on the device of a board, each with buffers of its own, their
// device parts on its two compute engines as the scheduler core starts them, their CPU parts on the calling thread.
// Times of device parts are the executive's: without what others take of a core that is the device, or the way to a GPU
// and back. Ends count everything since the release.
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
  std::vector<std::string> notes; // a line each
  std::unique_ptr<MemoryPlant> plant;
};
/// The device of `board`, and a claim of the core that feeds it. refused: another run has that core, or the device is
/// not on this machine.
[[nodiscard]] Result<MemoryMachine> memory_machine(const Board& board);

/// Sizes for such a device, by which a job takes less than about 100 ms; no array is above `largest`.
[[nodiscard]] std::vector<MemoryWorkload> measured_workloads(DeviceKind device, Bytes largest);

} // namespace rtexec::study
