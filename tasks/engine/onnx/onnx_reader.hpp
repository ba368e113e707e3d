// Reads ONNX files into a Graph: every shape becomes static, shape arithmetic and other constant
// sub-graphs are evaluated. Dimensions of inputs that a file leaves open are fixed by who reads it, and by nobody else.
// Constants may lie in other files of the model's folder.
//
// Whatever the bytes are, the answer is a Graph or an Error: no crash, and no tensor above max_elements.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rtexec::tasks {

using BytesObserver = std::function<void(std::span<const std::byte>)>;

/// Of ONNX.
inline constexpr std::int64_t oldest_opset = 7, newest_opset = 28;

/// An operator of ONNX that is read, from an opset on.
struct SupportedOperator {
  std::string_view name;
  std::int64_t oldest = oldest_opset, newest = newest_opset;
  std::string_view limits; // what of it is not supported, for people; empty: nothing
};
/// By name.
[[nodiscard]] std::vector<SupportedOperator> supported_operators();

/// What protobuf can parse; tensors in other files may have more.
inline constexpr std::size_t max_onnx_file = 0x7fff'ffff;

/// bad_input: unreadable, damaged or contradictory, a dimension that nobody fixes, or what is given does not fit the
/// file; unsupported: operators, attributes, types or shapes that the engine does not have, all at once, with the nodes
/// that need them and what is supported instead. The file's symbols stand for one size each, also in inputs whose
/// shapes are not given. `seen` is told all bytes that the graph was made from: the file's, then those of each tensor
/// in another file.
[[nodiscard]] Result<Graph> read_onnx(const std::filesystem::path& file, const GivenInputs& given = {},
                                      const BytesObserver& seen = {});
/// The same from memory; `name` stands for the file in messages. Other files are looked for in `folder`; without one,
/// tensors in them are refused. `seen` is told the bytes of those only.
[[nodiscard]] Result<Graph> parse_onnx(std::span<const std::byte> bytes, std::string_view name = "model",
                                       const std::optional<std::filesystem::path>& folder = {},
                                       const GivenInputs& given = {}, const BytesObserver& seen = {});

} // namespace rtexec::tasks
