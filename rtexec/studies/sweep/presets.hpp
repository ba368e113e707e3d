// Predefined studies, most of them from the literature, as data.
#pragma once

#include "rtexec/studies/sweep/study.hpp"

namespace rtexec::study {

struct Preset {
  std::string_view name;
  std::string_view title;
  Study study; // the number of sets and the seed are not set; empty `tests` stands for all tests
};

[[nodiscard]] const std::vector<Preset>& presets();

} // namespace rtexec::study
