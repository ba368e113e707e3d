// Results of a calibration of cuts, as text for people and as JSON for other programs.
#pragma once

#include "rtexec/studies/calibration/cut_calibration.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rtexec::study {

void print(std::ostream& out, const CutCalibration& calibration);
/// Returns the results. `file` is the board file that contains the cost.
[[nodiscard]] nlohmann::json to_json(const CutCalibration& calibration, const std::string& file);

} // namespace rtexec::study
