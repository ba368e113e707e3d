// Results of a calibration of memory policies, as text for people and as JSON for other programs.
#pragma once

#include "rtexec/studies/calibration/memory_calibration.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rtexec::study {

void print(std::ostream& out, const MemoryCalibration& calibration);
/// Returns the results. `file` is the board file that contains the costs.
[[nodiscard]] nlohmann::json to_json(const MemoryCalibration& calibration, const std::string& file);

} // namespace rtexec::study
