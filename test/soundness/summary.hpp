// The findings of a search: prints them as tables, and merges those of its parts.
#pragma once

#include <rtexec/result.hpp>
#include "test/soundness/search.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <span>

namespace rtexec::soundness {

/// Returns the summary of a search that has not begun.
[[nodiscard]] nlohmann::json summary_of(const Wanted& wanted);

void print_tests(const nlohmann::json& summary);
void print_tiny(const nlohmann::json& summary);
void print_errors(const nlohmann::json& summary);

/// Adds the sums, and whether every bound was kept ("held") and every deliberate error detected ("seen").
void conclude(nlohmann::json& summary);

/// Merges summaries of parts into that of one machine. Returns bad_input if the parts are of different searches, or if
/// one is missing or duplicate.
[[nodiscard]] Result<nlohmann::json> put_together(std::span<const std::filesystem::path> files);

} // namespace rtexec::soundness
