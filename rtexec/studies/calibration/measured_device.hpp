// The device of a board for who measures on it without an executive: the core that feeds it is claimed, and its compute
// engines have that core and the class that the executive would give them. Set-up only.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/core_claim.hpp"
#include "hal/device_interface.hpp"

#include <memory>
#include <string>
#include <vector>

namespace rtexec::study {

struct MeasuredDevice {
  hal::CoreClaim claim;
  std::unique_ptr<hal::Device> device;
  std::string where;              // "NVIDIA H200, fed by core 3"
  std::vector<std::string> notes; // what the machine refused, a line each
};

/// `beside`: with its second compute engine. refused: another run has that core, or the device is not on this machine.
[[nodiscard]] Result<MeasuredDevice> measured_device(const Board& board, bool beside);

/// Of work that its engine ended with `code`: `what` failed, and what the device says of it.
[[nodiscard]] Error device_error(const hal::Device& device, Errc code, const std::string& what);

} // namespace rtexec::study
