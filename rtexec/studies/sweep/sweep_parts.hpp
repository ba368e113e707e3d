// A sweep that several machines share: each works out one part of its sets and leaves it in a folder; put together,
// the parts are the sweep that one machine would have made. What a set is depends on its number alone.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/studies/sweep/study.hpp"
#include "rtexec/studies/sweep/sweep_options.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace rtexec::study {

/// "2/3": the second of three parts.
[[nodiscard]] Result<Part> parse_part(std::string_view text);
[[nodiscard]] std::string to_string(const Part& part);

/// Writes FOLDER/part.json: which part of which sweep FOLDER/outcomes.csv is. bad_input: the folder has another part.
[[nodiscard]] Result<> write_part(const std::filesystem::path& folder, const Part& part, const SweepOptions& options);

struct WholeSweep {
  Study study;
  Outcomes outcomes; // all known
};
/// What the parts in these folders are together. bad_input: they are of different sweeps, of another version of rtexec
/// or divided otherwise; one is missing, there twice, or not finished.
[[nodiscard]] Result<WholeSweep> put_together(std::span<const std::filesystem::path> folders);

} // namespace rtexec::study
