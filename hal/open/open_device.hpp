// From what a board's file says to its device: the one place that knows all back ends.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "hal/device_interface.hpp"
#include "hal/machine_files.hpp"

#include <memory>

namespace rtexec::hal {

/// Opens the device of `board` with the capacity and chunk asked for; the error says what the board or the machine
/// lacks (refused: the device is not on this machine). A capacity of 0 is what there is: on a GPU what the device has
/// free, and what the board has at most. On a GPU, a chunk of 0 is its driver's granularity; `completion` is of its
/// engines only.
[[nodiscard]] Result<std::unique_ptr<Device>> open_device(const Board& board, Bytes capacity, Bytes chunk,
                                                          Completion completion = Completion::block,
                                                          const Machine& machine = Machine());

/// What to ask open_device() for where `needed` is enough: a device with memory of its own tells what it has free.
[[nodiscard]] inline Bytes capacity_for(const Board& board, Bytes needed) {
  return board.memory_is_of_host() ? needed : Bytes{0};
}

/// refused: the board's device needs a driver that this machine does not have.
[[nodiscard]] Result<> find_driver(const Board& board);

} // namespace rtexec::hal
