// A sweep that several machines share. Each machine computes one part of the task sets, in its own folder. Together the
// parts equal the sweep of a single machine, because a set depends only on its number.
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

/// Writes FOLDER/part.json, which states which part of which sweep is in FOLDER/outcomes.csv. Returns bad_input if the
/// folder already contains another part.
[[nodiscard]] Result<> write_part(const std::filesystem::path& folder, const Part& part, const SweepOptions& options);

struct WholeSweep {
  Study study;
  Outcomes outcomes; // the outcomes of all sets; all are known
};
/// Joins the parts in `folders`, and returns the whole sweep. Returns bad_input if the parts belong to different sweeps
/// or versions of rtexec, or were divided differently. Also returns bad_input if a part is missing, duplicate or
/// unfinished.
[[nodiscard]] Result<WholeSweep> put_together(std::span<const std::filesystem::path> folders);

} // namespace rtexec::study
