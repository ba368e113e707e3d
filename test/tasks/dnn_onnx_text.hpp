// ONNX models written as protobuf text.
#pragma once

#include "tasks/engine/onnx/onnx_reader.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::tasks {

/// Returns the encoded model, with `graph` as the text of its GraphProto.
[[nodiscard]] std::vector<std::byte> onnx_bytes(std::string_view graph, int opset = 13);
/// Returns an encoded model from any text of a ModelProto.
[[nodiscard]] std::vector<std::byte> onnx_model_bytes(const std::string& model);

/// Returns the text of an input or output. `type` is a value of onnx.TensorProto.DataType: 1 is float.
[[nodiscard]] std::string onnx_value(std::string_view role, std::string_view name,
                                     const std::vector<std::string>& dimensions, int type = 1);
/// Return the text of a float initialiser that counts up from 1, and of an int64 one.
[[nodiscard]] std::string onnx_floats(std::string_view name, const Shape& shape);
[[nodiscard]] std::string onnx_ints(std::string_view name, const Shape& shape, const std::vector<std::int64_t>& values);
/// Returns the text of a node. `attributes` is protobuf text.
[[nodiscard]] std::string onnx_node(std::string_view type, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs, std::string_view attributes = "");
[[nodiscard]] std::string onnx_attribute(std::string_view name, const std::vector<std::int64_t>& values);
[[nodiscard]] std::string onnx_attribute(std::string_view name, std::int64_t value);
[[nodiscard]] std::string onnx_text(std::string_view name, std::string_view value); // a text attribute

// Parts of an encoded model, for fields that the installed onnx.proto does not know.
/// Returns a length-delimited field.
[[nodiscard]] std::string onnx_field(int number, const std::string& content);
/// Return the encoded text of a NodeProto, a FunctionProto, an AttributeProto.
[[nodiscard]] std::string onnx_encoded_node(const std::string& text);
[[nodiscard]] std::string onnx_encoded_function(const std::string& text);
[[nodiscard]] std::string onnx_encoded_attribute(const std::string& text);

} // namespace rtexec::tasks
