// Opens the device that a board's description names. Only this code knows all back ends.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "hal/device_interface.hpp"
#include "hal/machine_files.hpp"

#include <memory>

namespace rtexec::hal {

/// Opens the device of `board` with the given capacity and chunk size. A capacity of 0 means all memory: on a GPU its
/// free memory, up to the board's maximum. On a GPU, a chunk of 0 means the driver's granularity. `completion` is used
/// only by the engines of a GPU. The error says what the board or the machine lacks. Returns refused if this machine
/// does not have the device.
[[nodiscard]] Result<std::unique_ptr<Device>> open_device(const Board& board, Bytes capacity, Bytes chunk,
                                                          Completion completion = Completion::block,
                                                          const Machine& machine = Machine());

/// Returns the capacity to pass to open_device() for a run that needs `needed`. The result is 0 (all free memory) for a
/// device with its own memory.
[[nodiscard]] inline Bytes capacity_for(const Board& board, Bytes needed) {
  return board.memory_is_of_host() ? needed : Bytes{0};
}

/// Returns refused if the board's device needs a driver that this machine does not have.
[[nodiscard]] Result<> find_driver(const Board& board);

} // namespace rtexec::hal
