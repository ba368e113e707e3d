// Recognises files by their content, so that an error can name the kind of a file that was passed by mistake.
#pragma once

#include <rtexec/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace rtexec::config {

enum class Content { task_set, board, profile, daemon, onnx, picture, tensor, json, execution_times };

/// Returns the kind of a file, or nullopt if the kind cannot be recognised. A file of execution times, for example,
/// cannot be recognised. `bytes`: all bytes of the file, or the first bytes.
[[nodiscard]] std::optional<Content> content_of(std::string_view bytes);

/// Returns the error for a file of another kind than `wanted`: "FILE: error: this is a profile, not a task set: try
/// ...". The error also names the command or the setting that takes such a file. Returns nullopt if the file's kind is
/// `wanted` or unknown.
[[nodiscard]] std::optional<Error> mistaken(const std::filesystem::path& file, std::string_view bytes, Content wanted);

/// Returns the first bytes of a regular file; empty if the file cannot be read.
[[nodiscard]] std::string beginning_of(const std::filesystem::path& file);

} // namespace rtexec::config
