// Results of the initialisation experiment, for people, for other programs, and as pictures.
#pragma once

#include "rtexec/cli/text/report_files.hpp"
#include "rtexec/studies/experiments/initialisation.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rtexec::study {

/// The platform of the experiment, which every output names.
struct InitialisationSource {
  bool simulated = false;
  std::string name;    // "model of tx2", "measured": one word or a few, without commas
  std::string preface; // the first line of the text
};

void print(std::ostream& out, const InitialisationSource& source, const InitialisationFound& found);
[[nodiscard]] nlohmann::json to_json(const InitialisationSource& source, const InitialisationFound& found);
/// Returns initialisation.csv and kernel.csv, with a GPU also crossover.csv and timeline.csv, and pictures of each.
[[nodiscard]] report::Files files_of(const InitialisationSource& source, const InitialisationFound& found);

} // namespace rtexec::study
