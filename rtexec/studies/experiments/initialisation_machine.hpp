// The initialisation experiment on a board's device: the managed memory of a GPU, or the host's memory if there is no
// GPU.
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
  std::unique_ptr<InitialisationPlant> plant; // platform on this device
  std::string description;                    // in one line
};

/// Returns refused if the device is not on this machine.
[[nodiscard]] Result<InitialisationMachine> initialisation_machine(const Board& board);
/// `device` must outlive the platform. A timeline is also recorded, as first contents of task 0. measure() returns
/// out_of_memory if it needs more than is free on the device.
[[nodiscard]] Result<std::unique_ptr<InitialisationPlant>> initialisation_plant(
    hal::Device& device, std::span<const tasks::cuda::KernelImage> images = tasks::cuda::kernel_images());

} // namespace rtexec::study
