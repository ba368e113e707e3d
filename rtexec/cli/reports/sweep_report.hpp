// Results of a sweep as text, JSON, CSV and a picture.
#pragma once

#include "rtexec/cli/text/report_files.hpp"
#include "rtexec/studies/sweep/study.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <span>

namespace rtexec::study {

void print(std::ostream& out, const Study& study, std::span<const Row> rows);
[[nodiscard]] nlohmann::json to_json(const Study& study, std::span<const Row> rows);
/// Returns results.csv and results.svg.
[[nodiscard]] report::Files files_of(const Study& study, std::span<const Row> rows);

} // namespace rtexec::study
