// Recognises files by their content, so that an error can say which kind of file was given instead of the expected one.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace rtexec::config {

enum class Content { task_set, board, profile, daemon, onnx, picture, tensor, json, execution_times };

/// Returns the kind of a file. `bytes`: all of its bytes, or the first ones. Returns nullopt if they do not show the
/// kind; a file of execution times, for example, is not recognised.
[[nodiscard]] std::optional<Content> content_of(std::string_view bytes);

/// Returns the error for a file that is of another kind than `wanted`, such as "FILE: error: this is a profile, not a
/// task set: try ...". It also says where such a file belongs. Returns nullopt if the file is not known to be of
/// another kind.
[[nodiscard]] std::optional<Error> mistaken(const std::filesystem::path& file, std::string_view bytes, Content wanted);

/// Returns the first bytes of a regular file; empty if they cannot be read.
[[nodiscard]] std::string beginning_of(const std::filesystem::path& file);

} // namespace rtexec::config
