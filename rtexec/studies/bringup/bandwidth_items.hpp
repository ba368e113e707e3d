// Compares the memory bandwidth of one core, and of all cores together, with the board's file.
#pragma once

#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/studies/calibration/bandwidth_calibration.hpp"

#include <cstddef>

namespace rtexec::bringup {

/// Measures `cores`, with measurements as short as `subject` requires.
[[nodiscard]] Answer measure_bandwidth(const Subject& subject, study::CalibratedCores cores);

/// Estimates the time to measure `cores` cores that sweep `sweep` each. This includes the first touch of the swept
/// memory before each measurement.
[[nodiscard]] Duration bandwidth_takes(std::size_t cores, Bytes sweep, Duration length);
/// Estimates the time on this machine.
[[nodiscard]] Duration bandwidth_takes(const Subject& subject);

} // namespace rtexec::bringup
