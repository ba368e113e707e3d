// Reads ONNX files (opsets 11 to 17) into a Graph: every shape becomes static, shape arithmetic and other constant
// sub-graphs are evaluated. A symbolic batch dimension is taken as 1.
//
// Whatever the bytes are, the answer is a Graph or an Error: no crash, and no tensor above max_elements.
#pragma once

#include "config/result.hpp"
#include "tasks/dnn/graph.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace rtexec::tasks {

/// What protobuf can parse.
inline constexpr std::size_t max_onnx_file = 0x7fff'ffff;

/// bad_input: unreadable, damaged or contradictory; unsupported: an operator, attribute, type or shape that the engine does
/// not have, with the node that needs it and what is supported instead.
[[nodiscard]] Result<Graph> read_onnx(const std::filesystem::path& file);
/// The same from memory; `name` stands for the file in messages.
[[nodiscard]] Result<Graph> parse_onnx(std::span<const std::byte> bytes, std::string_view name = "model");

} // namespace rtexec::tasks
