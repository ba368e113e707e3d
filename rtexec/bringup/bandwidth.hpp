// The memory bandwidth that one core and all cores together reach, held against what the board's file says.
#pragma once

#include "rtexec/bringup/item.hpp"
#include "rtexec/study/bandwidth_calibration.hpp"

namespace rtexec::bringup {

/// Of `cores`, with measurements as short as `subject` asks for.
[[nodiscard]] Answer measure_bandwidth(const Subject& subject, study::CalibratedCores cores);

} // namespace rtexec::bringup
