// A board's device for measurements without an executive. The core that feeds the device is claimed, so that no other
// run uses it. The threads of the compute engines run on this core, in the scheduling class that the executive would
// use. Set-up only.
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
  std::vector<std::string> notes; // settings that the machine refused, one line each
};

/// Opens the device. If `secondary_compute` is true, also sets up its second compute engine. Returns refused if another
/// run has claimed the core, or if the machine does not have the device.
[[nodiscard]] Result<MeasuredDevice> measured_device(const Board& board, bool secondary_compute);

/// Returns an error for work that an engine of the device ended with `code`. The text says that `what` failed, and adds
/// the device's own explanation.
[[nodiscard]] Error device_error(const hal::Device& device, Errc code, const std::string& what);

} // namespace rtexec::study
