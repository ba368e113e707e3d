// Reads ONNX files into a Graph. Every shape becomes static. Shape arithmetic and other constant sub-graphs are
// evaluated. If the file does not specify the size of an input's dimension, the caller must supply the size. Constants
// may be in other files of the model's folder (external data).
//
// For any sequence of bytes the result is a Graph or an Error. The reader does not crash, and makes no tensor with more
// than max_elements elements.
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

/// The supported range of ONNX opsets.
inline constexpr std::int64_t oldest_opset = 7, newest_opset = 28;

/// An ONNX operator that the reader supports.
struct SupportedOperator {
  std::string_view name;
  std::int64_t oldest = oldest_opset, newest = newest_opset;
  std::string_view limits; // unsupported features of the operator, as text; empty: none
};
/// Returns all supported operators, sorted by name.
[[nodiscard]] std::vector<SupportedOperator> supported_operators();

/// The maximum size of a file that protobuf can parse, in bytes. Tensors in other files may be larger.
inline constexpr std::size_t max_onnx_file = 0x7fff'ffff;

/// Reads `file`. Returns bad_input if the file is unreadable, damaged or contradictory, or if `given` does not fit the
/// file. Also returns bad_input if neither the file nor `given` specifies the size of an input's dimension. Returns
/// unsupported for operators, attributes, types or shapes that the engine does not support. That error lists all of
/// them, with their nodes and the supported alternatives. A symbolic dimension has one size in all inputs, including
/// inputs for which the user supplied no shape. `seen` receives all bytes from which the graph is made: the bytes of
/// the file, then the bytes of each tensor in another file.
[[nodiscard]] Result<Graph> read_onnx(const std::filesystem::path& file, const GivenInputs& given = {},
                                      const BytesObserver& seen = {});
/// Reads a model from memory. Messages use `name` as the name of the file. External data is searched in `folder`;
/// without a folder, tensors with external data are refused. `seen` receives the bytes of external data only.
[[nodiscard]] Result<Graph> parse_onnx(std::span<const std::byte> bytes, std::string_view name = "model",
                                       const std::optional<std::filesystem::path>& folder = {},
                                       const GivenInputs& given = {}, const BytesObserver& seen = {});

} // namespace rtexec::tasks
