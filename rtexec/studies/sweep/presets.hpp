// Studies, most of them of the literature, ready to be repeated: data only.
#pragma once

#include "rtexec/studies/sweep/study.hpp"

namespace rtexec::study {

struct Preset {
  std::string_view name;
  std::string_view title;
  Study study; // without sets and seed; tests: none, that is all
};

[[nodiscard]] const std::vector<Preset>& presets();

} // namespace rtexec::study
