// Recognises files by their content, so that an error can say which kind of file was given in place of the wanted one.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace rtexec::config {

enum class Content { task_set, board, profile, daemon, onnx, picture, tensor, json, execution_times };

/// Returns the kind of a file from all of its bytes, or from its first ones. Returns nullopt if these do not show it,
/// as with execution times.
[[nodiscard]] std::optional<Content> content_of(std::string_view bytes);

/// Returns the error for a file that is of another kind than `wanted`. It says where the file belongs: "FILE: error:
/// this is a profile, not a task set: try ...". Returns nullopt if the file is not known to be of another kind.
[[nodiscard]] std::optional<Error> mistaken(const std::filesystem::path& file, std::string_view bytes, Content wanted);

/// Returns the first bytes of a regular file; empty if they cannot be read.
[[nodiscard]] std::string beginning_of(const std::filesystem::path& file);

} // namespace rtexec::config
