// Compares the memory bandwidth of one core, and of all cores together, with the board's file.
#pragma once

#include "rtexec/studies/bringup/item.hpp"
#include "rtexec/studies/calibration/bandwidth_calibration.hpp"

#include <cstddef>

namespace rtexec::bringup {

/// Measures `cores`, and compares the result with the board's file. If `subject.length` is short, the measurements are
/// short, too.
[[nodiscard]] Answer measure_bandwidth(const Subject& subject, study::CalibratedCores cores);

/// Estimates how long measure_bandwidth() takes for `cores` cores, each with sweeps of `sweep` bytes. `length`: see
/// Subject::length. The estimate includes the first touch of the swept memory before each measurement.
[[nodiscard]] Duration bandwidth_takes(std::size_t cores, Bytes sweep, Duration length);
/// Estimates how long measure_bandwidth() takes on this machine.
[[nodiscard]] Duration bandwidth_takes(const Subject& subject);

} // namespace rtexec::bringup
