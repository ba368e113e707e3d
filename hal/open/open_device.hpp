// Opens the device that a board's file describes. This is the only place that knows all back ends.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "hal/device_interface.hpp"
#include "hal/machine_files.hpp"

#include <memory>

namespace rtexec::hal {

/// Opens the device of `board` with the given capacity and chunk size. The error says what the board or the machine
/// lacks (refused: this machine does not have the device). A capacity of 0 means all: on a GPU its free memory, up to
/// the board's maximum. On a GPU, a chunk of 0 means its driver's granularity. `completion` concerns a GPU's engines
/// only.
[[nodiscard]] Result<std::unique_ptr<Device>> open_device(const Board& board, Bytes capacity, Bytes chunk,
                                                          Completion completion = Completion::block,
                                                          const Machine& machine = Machine());

/// Returns the capacity to pass to open_device() if `needed` suffices. It is 0 (all free memory) for a device with its
/// own memory.
[[nodiscard]] inline Bytes capacity_for(const Board& board, Bytes needed) {
  return board.memory_is_of_host() ? needed : Bytes{0};
}

/// Returns refused if the board's device needs a driver that this machine does not have.
[[nodiscard]] Result<> find_driver(const Board& board);

} // namespace rtexec::hal
