// Results of the isolation experiment as text, JSON, CSV and pictures.
#pragma once

#include "rtexec/cli/text/report_files.hpp"
#include "rtexec/studies/experiments/isolation_setup.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <span>

namespace rtexec::study {

/// Prints the results. `isolations` has one element for each platform (`platforms`) of `setup`.
void print(std::ostream& out, const IsolationSetup& setup, std::span<const Isolation> isolations);
[[nodiscard]] nlohmann::json to_json(const IsolationSetup& setup, std::span<const Isolation> isolations);
/// Returns results.csv, limits.csv, speedup-*.svg and mean-*.svg. If single executions were measured, also returns
/// runs.csv and runs-*.svg.
[[nodiscard]] report::Files files_of(std::span<const Isolation> isolations);

} // namespace rtexec::study
