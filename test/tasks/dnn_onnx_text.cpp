#include "test/tasks/dnn_onnx_text.hpp"

#include <google/protobuf/text_format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <stdexcept>

namespace rtexec::tasks {
namespace {

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const auto dimension : shape) text += " dims: " + std::to_string(dimension);
  return text;
}

template <class Proto> std::string encode(const std::string& text) {
  Proto proto;
  if (!google::protobuf::TextFormat::ParseFromString(text, &proto))
    throw std::invalid_argument("not the text of a " + proto.GetTypeName() + ": " + text);
  return proto.SerializeAsString();
}

std::string varint(std::size_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
  return bytes + static_cast<char>(value);
}

} // namespace

std::string onnx_field(int number, const std::string& content) {
  constexpr int length_delimited = 2;
  return varint(static_cast<std::size_t>(number << 3 | length_delimited)) + varint(content.size()) + content;
}

std::string onnx_encoded_node(const std::string& text) { return encode<onnx::NodeProto>(text); }
std::string onnx_encoded_function(const std::string& text) { return encode<onnx::FunctionProto>(text); }
std::string onnx_encoded_attribute(const std::string& text) { return encode<onnx::AttributeProto>(text); }

std::vector<std::byte> onnx_model_bytes(const std::string& text) {
  const auto encoded = encode<onnx::ModelProto>(text);
  std::vector<std::byte> bytes(encoded.size());
  std::ranges::transform(encoded, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

std::vector<std::byte> onnx_bytes(std::string_view graph, int opset) {
  return onnx_model_bytes("ir_version: 8 opset_import { version: " + std::to_string(opset) +
                          " } graph { name: \"test\" " + std::string(graph) + " }");
}

std::string onnx_value(std::string_view role, std::string_view name, const std::vector<std::string>& dimensions,
                       int type) {
  std::string shape;
  for (const auto& dimension : dimensions) {
    const bool number = dimension.find_first_not_of("-0123456789") == std::string::npos;
    shape += " dim { " + (number ? "dim_value: " + dimension : "dim_param: " + in_quotes(dimension)) + " }";
  }
  return std::string(role) + " { name: " + in_quotes(name) +
         " type { tensor_type { elem_type: " + std::to_string(type) + " shape {" + shape + " } } } }\n";
}

std::string onnx_floats(std::string_view name, const Shape& shape) {
  std::string text = "initializer { name: " + in_quotes(name) + " data_type: 1" + shape_text(shape);
  for (std::int64_t i = 1; i <= element_count(shape); ++i) text += " float_data: " + std::to_string(i);
  return text + " }\n";
}

std::string onnx_ints(std::string_view name, const Shape& shape, const std::vector<std::int64_t>& values) {
  std::string text = "initializer { name: " + in_quotes(name) + " data_type: 7" + shape_text(shape);
  for (const auto value : values) text += " int64_data: " + std::to_string(value);
  return text + " }\n";
}

std::string onnx_node(std::string_view type, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs, std::string_view attributes) {
  std::string text = "node { name: " + in_quotes("the_" + std::string(type)) + " op_type: " + in_quotes(type);
  for (const auto& input : inputs) text += " input: " + in_quotes(input);
  for (const auto& output : outputs) text += " output: " + in_quotes(output);
  return text + " " + std::string(attributes) + " }\n";
}

std::string onnx_attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  std::string text = "attribute { name: " + in_quotes(name) + " type: INTS";
  for (const auto value : values) text += " ints: " + std::to_string(value);
  return text + " } ";
}

std::string onnx_attribute(std::string_view name, std::int64_t value) {
  return "attribute { name: " + in_quotes(name) + " type: INT i: " + std::to_string(value) + " } ";
}

std::string onnx_text(std::string_view name, std::string_view value) {
  return "attribute { name: " + in_quotes(name) + " type: STRING s: " + in_quotes(value) + " } ";
}

} // namespace rtexec::tasks
