// A board's device for measurements without an executive. The core that feeds it is claimed. Its compute engines get
// that core, and the scheduling class that the executive would give them. Set-up only.
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
  std::vector<std::string> notes; // refused requests, one line each
};

/// Opens the device. `beside`: also with its second compute engine. Returns refused if another run has the core, or the
/// device is not on this machine.
[[nodiscard]] Result<MeasuredDevice> measured_device(const Board& board, bool beside);

/// Returns an error for work that its engine ended with `code`: `what` failed, and the device's own explanation.
[[nodiscard]] Error device_error(const hal::Device& device, Errc code, const std::string& what);

} // namespace rtexec::study
