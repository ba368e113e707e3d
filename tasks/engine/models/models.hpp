// Builders of well-known networks as ONNX files (opset 14). Layers have the shapes of the original networks, and
// weights come from a seed, so that nothing is downloaded. The same name and options give the same bytes on every
// machine.
#pragma once

#include <rtexec/result.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace rtexec::tasks {

struct ModelInfo {
  std::string_view name;
  int size;    // default height and width of the input in pixels
  int classes; // default number of classes
  std::string_view description;
};

struct ModelOptions {
  int size = 0;    // height and width of the input in pixels; 0: the model's default
  int classes = 0; // 0: the model's default
  std::uint64_t seed = 1;
};

[[nodiscard]] std::span<const ModelInfo> models();

/// Writes model `name` to a temporary file next to `out`, and renames the temporary file to `out` when it is complete.
/// Returns bad_input for an unknown name (the message lists the known names) or for options that the network cannot
/// have. Returns refused if the file cannot be written.
[[nodiscard]] Result<> write_model(std::string_view name, const ModelOptions& options,
                                   const std::filesystem::path& out);

} // namespace rtexec::tasks
