// Studies, most of them from the literature, ready to be repeated: data only.
#pragma once

#include "rtexec/studies/sweep/study.hpp"

namespace rtexec::study {

struct Preset {
  std::string_view name;
  std::string_view title;
  Study study; // without sets and seed; empty tests stand for all tests
};

[[nodiscard]] const std::vector<Preset>& presets();

} // namespace rtexec::study
