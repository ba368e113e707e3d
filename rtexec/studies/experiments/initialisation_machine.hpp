// The initialisation experiment (initialisation.hpp) on a board's device. It uses the managed memory of a GPU, or the
// host's memory if there is no GPU.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/device_interface.hpp"
#include "rtexec/studies/experiments/initialisation.hpp"
#include "tasks/engine/cuda/network_kernel_images.hpp"

#include <memory>
#include <span>
#include <string>

namespace rtexec::study {

struct InitialisationMachine {
  std::unique_ptr<hal::Device> device;
  std::unique_ptr<InitialisationPlatform> platform; // the platform on the board's device
  std::string description;                          // the device in one line
};

/// Opens the board's device. Returns refused if this machine does not have it.
[[nodiscard]] Result<InitialisationMachine> initialisation_machine(const Board& board);
/// Returns the experiment's platform on `device`, which must outlive the platform. timeline() also writes the measured
/// timeline to the trace, as the initialisation of buffer 0 of task 0. measure() returns out_of_memory if the device
/// does not have enough free memory.
[[nodiscard]] Result<std::unique_ptr<InitialisationPlatform>> initialisation_platform(
    hal::Device& device, std::span<const tasks::cuda::KernelImage> images = tasks::cuda::kernel_images());

} // namespace rtexec::study
