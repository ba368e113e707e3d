// Turns the command line's options of a sweep into a study.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/studies/sweep/study.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::study {

/// The options of `rtexec sweep` as texts. If an option is empty, the preset's value or the default applies.
struct SweepOptions {
  std::string preset;
  std::string tasks, utilisation, reduced, high;
  std::string period, periods, footprint;
  std::optional<double> swappable, constants;
  std::string layers;
  std::string capacity, chunk, in_per_chunk, out_per_chunk, drop_per_chunk, in_fixed, out_fixed, cut_overhead;
  std::string order = "edf";
  std::vector<std::string> tests;
  std::size_t sets = 200;
  std::uint64_t seed = 1;
};

/// Converts options into a study. Returns bad_input with the name of the invalid option.
[[nodiscard]] Result<Study> study_of(const SweepOptions& options);

} // namespace rtexec::study
