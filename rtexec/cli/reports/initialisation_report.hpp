// Results of the initialisation experiment as text, JSON, CSV and pictures.
#pragma once

#include "rtexec/cli/text/report_files.hpp"
#include "rtexec/studies/experiments/initialisation.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rtexec::study {

/// The name of the experiment's platform, which every output contains.
struct InitialisationSource {
  bool simulated = false;
  std::string name;    // "model of tx2", "measured"; a few words without commas
  std::string preface; // the first line of the text
};

void print(std::ostream& out, const InitialisationSource& source, const InitialisationFound& found);
[[nodiscard]] nlohmann::json to_json(const InitialisationSource& source, const InitialisationFound& found);
/// Returns initialisation.csv and kernel.csv with pictures. If there is a GPU, also returns crossover.csv and
/// timeline.csv with pictures.
[[nodiscard]] report::Files files_of(const InitialisationSource& source, const InitialisationFound& found);

} // namespace rtexec::study
