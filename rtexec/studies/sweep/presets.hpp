// Predefined studies, most of them from the literature, as data.
#pragma once

#include "rtexec/studies/sweep/study.hpp"

namespace rtexec::study {

struct Preset {
  std::string_view name;
  std::string_view title;
  Study study; // has no number of sets and no seed; empty `tests` stands for all tests
};

[[nodiscard]] const std::vector<Preset>& presets();

} // namespace rtexec::study
