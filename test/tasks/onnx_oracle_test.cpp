// Tests the oracle against the operator tests of the package onnx, which write_onnx_node_tests.py writes into a folder:
// RTEXEC_ONNX_NODE_TESTS=FOLDER tasks-tests --gtest_filter='OnnxOracle.*'.
#include "test/tasks/onnx_oracle/kinds.hpp"
#include "test/tasks/onnx_oracle/oracle.hpp"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace rtexec::test {
namespace {

using std::filesystem::path;

template <class Message> Message read(const path& file) {
  std::ifstream from(file, std::ios::binary);
  Message message;
  if (!message.ParseFromIstream(&from)) throw std::runtime_error("cannot read " + file.string());
  return message;
}

double of_float16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : NAN;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}
double of_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// Returns the elements as the file stores them: as bytes, or in the field of their type.
template <class T, class Field> std::vector<T> elements(const onnx::TensorProto& tensor, const Field& field) {
  std::vector<T> all(field.begin(), field.end());
  if (!tensor.has_raw_data()) return all;
  all.resize(tensor.raw_data().size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), tensor.raw_data().data(), tensor.raw_data().size());
  return all;
}

template <class T, class Field> void put(Array& to, const onnx::TensorProto& tensor, const Field& field) {
  const auto all = elements<T>(tensor, field);
  to.values.assign(all.begin(), all.end());
}

void put_halves(Array& to, const onnx::TensorProto& tensor, double (*value_of)(std::uint16_t)) {
  to.values.clear();
  for (const std::uint16_t bits : elements<std::uint16_t>(tensor, tensor.int32_data()))
    to.values.push_back(value_of(bits));
}

Array array_of(const onnx::TensorProto& tensor) {
  Array x(Ints(tensor.dims().begin(), tensor.dims().end()), kind_of(tensor.data_type()));
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT: put<float>(x, tensor, tensor.float_data()); break;
  case onnx::TensorProto::DOUBLE: put<double>(x, tensor, tensor.double_data()); break;
  case onnx::TensorProto::FLOAT16: put_halves(x, tensor, of_float16); break;
  case onnx::TensorProto::BFLOAT16: put_halves(x, tensor, of_bfloat16); break;
  case onnx::TensorProto::BOOL:
  case onnx::TensorProto::UINT8: put<std::uint8_t>(x, tensor, tensor.int32_data()); break;
  case onnx::TensorProto::INT8: put<std::int8_t>(x, tensor, tensor.int32_data()); break;
  case onnx::TensorProto::UINT16: put<std::uint16_t>(x, tensor, tensor.int32_data()); break;
  case onnx::TensorProto::INT16: put<std::int16_t>(x, tensor, tensor.int32_data()); break;
  case onnx::TensorProto::INT32: put<std::int32_t>(x, tensor, tensor.int32_data()); break;
  case onnx::TensorProto::INT64: put<std::int64_t>(x, tensor, tensor.int64_data()); break;
  case onnx::TensorProto::UINT32: put<std::uint32_t>(x, tensor, tensor.uint64_data()); break;
  case onnx::TensorProto::UINT64: put<std::uint64_t>(x, tensor, tensor.uint64_data()); break;
  default: break;
  }
  if (x.size() != product(x.shape)) throw std::runtime_error("a tensor of another size than its shape");
  return x;
}

Attribute attribute_of(const onnx::AttributeProto& from) {
  switch (from.type()) {
  case onnx::AttributeProto::INT: return Index{from.i()};
  case onnx::AttributeProto::FLOAT: return from.f();
  case onnx::AttributeProto::STRING: return from.s();
  case onnx::AttributeProto::INTS: return Ints(from.ints().begin(), from.ints().end());
  case onnx::AttributeProto::FLOATS: return Floats(from.floats().begin(), from.floats().end());
  case onnx::AttributeProto::STRINGS: return Strings(from.strings().begin(), from.strings().end());
  case onnx::AttributeProto::TENSOR: return array_of(from.t());
  default: throw std::invalid_argument("an attribute of another type");
  }
}

using Tensors = std::map<std::string, Array>;

void run_node(const onnx::NodeProto& node, int opset, Tensors& tensors) {
  Operator how{node.op_type(), opset, {}, {}, static_cast<std::size_t>(node.output_size())};
  for (const std::string& input : node.input()) how.inputs.push_back(input.empty() ? nullptr : &tensors.at(input));
  for (const onnx::AttributeProto& attribute : node.attribute())
    how.attributes[attribute.name()] = attribute_of(attribute);
  std::vector<Array> outputs = evaluate(how);
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty()) tensors[node.output(i)] = std::move(outputs.at(static_cast<std::size_t>(i)));
}

int opset_of(const onnx::ModelProto& model) {
  for (const onnx::OperatorSetIdProto& opset : model.opset_import()) {
    if (opset.domain().empty()) return static_cast<int>(opset.version());
  }
  throw std::invalid_argument("operators of another domain");
}

/// True for tests whose expected outputs have only four digits.
bool is_rounded(const std::string& test) {
  return test.starts_with("test_roialign_aligned") || test == "test_averagepool_2d_ceil_last_window_starts_on_pad";
}

/// Returns the tolerance of an output relative to its largest element. Integers are exact.
double tolerance_of(const std::string& test, const onnx::TensorProto& expected) {
  switch (expected.data_type()) {
  case onnx::TensorProto::FLOAT:
  case onnx::TensorProto::DOUBLE: return is_rounded(test) ? 5e-4 : 1e-5;
  case onnx::TensorProto::FLOAT16: return 2e-3;
  case onnx::TensorProto::BFLOAT16: return 2e-2;
  default: return 0;
  }
}

/// Returns the difference between `got` and `right`, or an empty text if they agree.
std::string difference(const Array& got, const Array& right, double tolerance) {
  if (got.shape != right.shape) return "shape " + to_text(got.shape) + " in place of " + to_text(right.shape);
  if (got.kind != right.kind) return "elements of another kind";
  double largest = 0;
  for (const double value : right.values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (Index i = 0; i < right.size(); ++i) {
    const bool same = got[i] == right[i] || (std::isnan(got[i]) && std::isnan(right[i]));
    if (!same && !(std::abs(got[i] - right[i]) <= tolerance * largest))
      return "[" + std::to_string(i) + "] of " + to_text(right.shape) + ": " + std::to_string(got[i]) +
             " in place of " + std::to_string(right[i]);
  }
  return {};
}

/// Returns the errors in the outputs of the test in `folder`. Throws std::invalid_argument if the oracle lacks an
/// operator or type.
std::string run_test(const path& folder) {
  const auto model = read<onnx::ModelProto>(folder / "model.onnx");
  const int opset = opset_of(model);
  const path data = folder / "test_data_set_0";
  Tensors tensors;
  for (int i = 0; i < model.graph().input_size(); ++i)
    tensors[model.graph().input(i).name()] =
        array_of(read<onnx::TensorProto>(data / ("input_" + std::to_string(i) + ".pb")));
  for (const onnx::NodeProto& node : model.graph().node()) run_node(node, opset, tensors);
  for (int i = 0; i < model.graph().output_size(); ++i) {
    const auto expected = read<onnx::TensorProto>(data / ("output_" + std::to_string(i) + ".pb"));
    const std::string& name = model.graph().output(i).name();
    const std::string wrong =
        difference(tensors.at(name), array_of(expected), tolerance_of(folder.filename(), expected));
    if (!wrong.empty()) return name + wrong;
  }
  return {};
}

/// The reasons why tests whose names begin with these texts are excluded.
const std::map<std::string, std::string>& excluded() {
  static const std::map<std::string, std::string> reasons{
      {"test_attention_local_window", "windows: opset 25 or later"},
      {"test_attention_3d_local_window", "windows: opset 25 or later"},
      {"test_attention_bidirectional_window", "windows: opset 25 or later"},
      {"test_batchnorm_epsilon_training_mode", "training"},
      {"test_batchnorm_example_training_mode", "training"},
      {"test_training_dropout", "training"},
      {"test_mod_float_edge_cases_fmod_0", "integer modulo of floats: opset 25 or later"},
      {"test_spacetodepth_crd_mode_example", "a mode: opset 25 or later"},
      {"test_resize_downsample_scales_cubic_align_corners", "length_resized is a fraction there"},
      {"test_resize_downsample_scales_linear_align_corners", "length_resized is a fraction there"}};
  return reasons;
}

bool is_excluded(const std::string& test) {
  return std::ranges::any_of(excluded(), [&](const auto& item) { return test.starts_with(item.first); });
}

std::vector<path> tests_in(const path& folder) {
  std::vector<path> tests;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) tests.push_back(entry.path());
  std::ranges::sort(tests);
  return tests;
}

TEST(OnnxOracle, PassesOnnxNodeTests) {
  const char* const folder = std::getenv("RTEXEC_ONNX_NODE_TESTS");
  if (folder == nullptr) GTEST_SKIP() << "RTEXEC_ONNX_NODE_TESTS names no folder";
  int agree = 0;
  std::map<std::string, int> beyond;
  for (const path& test : tests_in(folder)) {
    if (is_excluded(test.filename())) continue;
    try {
      const std::string wrong = run_test(test);
      EXPECT_TRUE(wrong.empty()) << test.filename() << ": " << wrong;
      if (wrong.empty()) ++agree;
    } catch (const std::invalid_argument& error) { ++beyond[error.what()]; }
  }
  std::cout << agree << " tests agree\n";
  for (const auto& [reason, count] : beyond) std::cout << count << ": " << reason << '\n';
}

} // namespace
} // namespace rtexec::test
