// The memory bandwidth that one core and all cores together reach, held against what the board's file says.
#pragma once

#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/studies/calibration/bandwidth_calibration.hpp"

#include <cstddef>

namespace rtexec::bringup {

/// Of `cores`, with measurements as short as `subject` asks for.
[[nodiscard]] Answer measure_bandwidth(const Subject& subject, study::CalibratedCores cores);

/// About, of `cores` cores that sweep `sweep` each: the measurements, and before each the first touch of what is swept.
[[nodiscard]] Duration bandwidth_takes(std::size_t cores, Bytes sweep, Duration length);
/// On this machine.
[[nodiscard]] Duration bandwidth_takes(const Subject& subject);

} // namespace rtexec::bringup
