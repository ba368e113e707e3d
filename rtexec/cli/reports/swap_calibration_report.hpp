// Results of a calibration of swapping, as text for people and as JSON for other programs.
#pragma once

#include "rtexec/runtime/measuring/calibrator.hpp"

#include <filesystem>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

namespace rtexec::study {

void print(std::ostream& out, const executive::Calibration& calibration);
/// Returns the results. `file` is the board file that contains the costs.
[[nodiscard]] nlohmann::json to_json(const executive::Calibration& calibration, const std::filesystem::path& file);

} // namespace rtexec::study
