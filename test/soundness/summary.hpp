// What a search found: as tables, and put together from its parts.
#pragma once

#include <rtexec/result.hpp>
#include "test/soundness/search.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <span>

namespace rtexec::soundness {

/// Of a search that begins.
[[nodiscard]] nlohmann::json summary_of(const Wanted& wanted);

void print_tests(const nlohmann::json& summary);
void print_tiny(const nlohmann::json& summary);
void print_errors(const nlohmann::json& summary);

/// Adds the sums, and whether every promise was kept ("held") and every error seen ("seen").
void conclude(nlohmann::json& summary);

/// What one machine would have found. bad_input: the parts are of different searches; one is missing, or there twice.
[[nodiscard]] Result<nlohmann::json> put_together(std::span<const std::filesystem::path> files);

} // namespace rtexec::soundness
