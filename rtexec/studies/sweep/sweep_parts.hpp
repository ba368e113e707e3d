// A sweep that several machines share: each computes one part of its sets in a folder. Together the parts equal the
// sweep of one machine, because a set depends on its number alone.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/studies/sweep/study.hpp"
#include "rtexec/studies/sweep/sweep_options.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace rtexec::study {

/// Parses "2/3": the second of three parts.
[[nodiscard]] Result<Part> parse_part(std::string_view text);
[[nodiscard]] std::string to_string(const Part& part);

/// Writes FOLDER/part.json, which says which part of which sweep FOLDER/outcomes.csv is. Returns bad_input if the
/// folder has another part.
[[nodiscard]] Result<> write_part(const std::filesystem::path& folder, const Part& part, const SweepOptions& options);

struct WholeSweep {
  Study study;
  Outcomes outcomes; // all of them are known
};
/// Returns the sweep that the parts in these folders make together. Returns bad_input if they are of different sweeps
/// or versions of rtexec, or divided differently, or if one is missing, duplicate or unfinished.
[[nodiscard]] Result<WholeSweep> put_together(std::span<const std::filesystem::path> folders);

} // namespace rtexec::study
