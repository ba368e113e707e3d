// The experiment of initialisation on a board's device: a GPU's managed memory, or, where there is none, the host's.
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
  std::unique_ptr<InitialisationPlant> plant; // on it
  std::string description;                    // in one line
};

/// refused: the device is not on this machine.
[[nodiscard]] Result<InitialisationMachine> initialisation_machine(const Board& board);
/// `device` outlives the plant. A timeline goes into a recording, too, as first contents of task 0. Errors of
/// measure(): out_of_memory: more than is free on the device.
[[nodiscard]] Result<std::unique_ptr<InitialisationPlant>> initialisation_plant(
    hal::Device& device, std::span<const tasks::cuda::KernelImage> images = tasks::cuda::kernel_images());

} // namespace rtexec::study
