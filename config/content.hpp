// What a file is, by its content: whoever names the wrong one is told which it is.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace rtexec::config {

enum class Content { task_set, board, profile, daemon, onnx, picture, tensor, json, execution_times };

/// Of all of a file, or of its beginning; none where that does not show, as with execution times.
[[nodiscard]] std::optional<Content> content_of(std::string_view bytes);

/// The error of a file that is something else than was `wanted`, with where it belongs: "FILE: error: this is a
/// profile, not a task set: try ..."; none where it is not known to be.
[[nodiscard]] std::optional<Error> mistaken(const std::filesystem::path& file, std::string_view bytes, Content wanted);

/// The first bytes of a regular file; empty where they cannot be read.
[[nodiscard]] std::string beginning_of(const std::filesystem::path& file);

} // namespace rtexec::config
