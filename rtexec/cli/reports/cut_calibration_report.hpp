// What a calibration of cuts found, for people and for other programs.
#pragma once

#include "rtexec/studies/calibration/cut_calibration.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rtexec::study {

void print(std::ostream& out, const CutCalibration& calibration);
/// `file`: that has the cost.
[[nodiscard]] nlohmann::json to_json(const CutCalibration& calibration, const std::string& file);

} // namespace rtexec::study
