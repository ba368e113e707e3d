// Results of the memory experiment as text, JSON, CSV and pictures.
#pragma once

#include "rtexec/cli/text/report_files.hpp"
#include "rtexec/studies/experiments/memory_experiment_setup.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

namespace rtexec::study {

void print(std::ostream& out, const MemoryExperimentSetup& setup, const MemoryExperiment& found);
[[nodiscard]] nlohmann::json to_json(const MemoryExperimentSetup& setup, const MemoryExperiment& found);
/// Returns times.csv, errors.csv, policies.csv, pairs.csv, mix.csv, and pictures of them.
[[nodiscard]] report::Files files_of(const MemoryExperimentSetup& setup, const MemoryExperiment& found);

} // namespace rtexec::study
