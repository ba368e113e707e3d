#include "tasks/engine/models/graph_writer.hpp"
#include "tasks/engine/models/models.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "test/support/file_size_limit.hpp"
#include "test/support/test_files.hpp"

#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {
namespace {

namespace fs = std::filesystem;

class Models : public testing::Test {
 protected:
  onnx::ModelProto build(std::string_view name, const ModelOptions& options = {}) {
    const auto path = folder_ / "model.onnx";
    const auto written = write_model(name, options, path);
    EXPECT_TRUE(written) << written.error().what;
    std::ifstream stream(path, std::ios::binary);
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromIstream(&stream));
    return model;
  }

  std::string bytes(std::string_view name, const ModelOptions& options) {
    const auto path = folder_ / "bytes.onnx";
    EXPECT_TRUE(write_model(name, options, path));
    return test::read_text(path);
  }

  test::ScratchFolder folder_;
};

/// The numbers of floats of weights, and of the running statistics of batch normalisation, which do not count as
/// parameters.
struct Count {
  std::int64_t parameters = 0;
  std::int64_t statistics = 0;
};

Count count(const onnx::ModelProto& model) {
  std::set<std::string> statistics, others; // others: shapes and scales
  for (const auto& node : model.graph().node()) {
    if (node.op_type() == "BatchNormalization") statistics.insert({node.input(3), node.input(4)});
    if (node.op_type() == "Resize") others.insert(node.input(2));
    if (node.op_type() == "Reshape" || node.op_type() == "Pad") others.insert(node.input(1));
  }
  Count sum;
  for (const auto& tensor : model.graph().initializer()) {
    if (others.contains(tensor.name())) continue;
    const auto size = static_cast<std::int64_t>(tensor.raw_data().size() / sizeof(float));
    (statistics.contains(tensor.name()) ? sum.statistics : sum.parameters) += size;
  }
  return sum;
}

/// Returns twice the multiply-adds of all convolutions and matrix products, in 10^9.
double gflop(onnx::ModelProto model) {
  onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                     onnx::ShapeInferenceOptions{true, 1, true});
  const auto volume = [](const auto& shape) {
    double product = 1;
    for (const auto& dimension : shape.dim()) product *= static_cast<double>(dimension.dim_value());
    return product;
  };
  std::map<std::string, double> elements;
  for (const auto* values : {&model.graph().value_info(), &model.graph().output()})
    for (const auto& value : *values) elements[value.name()] = volume(value.type().tensor_type().shape());
  std::map<std::string, const onnx::TensorProto*> weights;
  for (const auto& tensor : model.graph().initializer()) weights[tensor.name()] = &tensor;
  double sum = 0;
  for (const auto& node : model.graph().node()) {
    if (node.op_type() != "Conv" && node.op_type() != "Gemm") continue;
    const auto& w = *weights.at(node.input(1));
    double for_each_output = 2;
    for (int d = 1; d < w.dims_size(); ++d) for_each_output *= static_cast<double>(w.dims(d));
    sum += elements.at(node.output(0)) * for_each_output;
  }
  return sum * 1e-9;
}

std::int64_t thousandths(double value) { return std::lround(value * 1e3); }

// torchvision states costs in thousandths of 10^9 multiply-adds.
TEST_F(Models, TorchvisionNetworksHavePublishedParametersAndCost) {
  const auto expect = [&](std::string_view name, std::int64_t parameters, std::int64_t multiply_adds) {
    const auto model = build(name);
    EXPECT_EQ(count(model).parameters, parameters) << name;
    EXPECT_EQ(thousandths(gflop(model) / 2), multiply_adds) << name;
  };
  expect("resnet18", 11'689'512, 1'814);
  expect("resnet50", 25'557'032, 4'089);
  expect("resnet152", 60'192'808, 11'514);
  expect("resnext50", 25'028'904, 4'230);
  expect("resnext101-32x8d", 88'791'336, 16'414);
  expect("densenet201", 20'013'928, 4'291);
  expect("googlenet", 6'624'904, 1'498);
  expect("mobilenet_v3", 5'483'032, 217);
  expect("efficientnet_b0", 5'288'548, 386);
}

// 6 (3 * 25 + 1) + 16 (6 * 25 + 1) + 120 (400 + 1) + 84 (120 + 1) + 10 (84 + 1), and 652 thousand multiply-adds.
TEST_F(Models, LeNetHasExpectedParametersAndCost) {
  const auto model = build("lenet5");
  EXPECT_EQ(count(model).parameters, 62'006);
  EXPECT_NEAR(gflop(model) * 1e6 / 2, 651.72, 1e-6);
}

// darknet's weight files also contain the running statistics, after a header of 20 bytes, or 16 in files of YOLOv2's
// time.
TEST_F(Models, DarknetNetworksMatchWeightFileSizesAndCost) {
  const auto expect = [&](std::string_view name, std::int64_t header, std::int64_t file_size, std::int64_t cost) {
    const auto model = build(name, {.size = 416});
    const auto [parameters, statistics] = count(model);
    EXPECT_EQ(header + 4 * (parameters + statistics), file_size) << name;
    EXPECT_EQ(thousandths(gflop(model)), cost) << name;
  };
  expect("yolov2", 16, 203'934'260, 29'464);
  expect("yolov3", 20, 248'007'048, 65'864);
  expect("yolov3-tiny", 20, 35'434'956, 5'565);
  expect("resnext152-32x4d", 20, 226'923'700, 74'458);
}

// GoogLeNet has 6,998,552 parameters without its auxiliary classifiers, 1,025,000 of them in its last layer. Two heads
// replace that layer.
TEST_F(Models, DetectNetHasParametersOfGoogLeNetAndItsHeads) {
  const auto model = build("detectnet");
  EXPECT_EQ(count(model).parameters, 6'998'552 - 1'025'000 + (1 + 4) * (1024 + 1));
  EXPECT_EQ(thousandths(gflop(model)), 13'437);
}

TEST_F(Models, PassOnnxCheckerAndShapeInference) {
  for (const auto& info : models()) {
    SCOPED_TRACE(info.name);
    auto model = build(info.name, {.size = info.size == 416 ? 96 : 97, .classes = 7, .seed = 3});
    EXPECT_NO_THROW(onnx::checker::check_model(model));
    EXPECT_NO_THROW(onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                                       // Strict: a wrong output shape throws.
                                                       onnx::ShapeInferenceOptions{true, 1, true}));
    EXPECT_EQ(model.opset_import(0).version(), 14);
    EXPECT_EQ(model.ir_version(), 8);
  }
}

TEST_F(Models, DetectorsHaveAHeadForEachScale) {
  const auto model = build("yolov3", {.size = 64, .classes = 2, .seed = 1});
  ASSERT_EQ(model.graph().output_size(), 3);
  for (int i = 0; i < 3; ++i) {
    const auto& shape = model.graph().output(i).type().tensor_type().shape();
    EXPECT_EQ(shape.dim(1).dim_value(), 3 * (5 + 2));
    EXPECT_EQ(shape.dim(2).dim_value(), 2 << i);
  }
}

TEST_F(Models, DetectNetHasAStrideOf16) {
  const auto model = build("detectnet", {.size = 112, .classes = 3});
  ASSERT_EQ(model.graph().output_size(), 2);
  for (const int channels : {3, 4}) {
    const auto& shape = model.graph().output(channels - 3).type().tensor_type().shape();
    EXPECT_EQ(shape.dim(1).dim_value(), channels);
    EXPECT_EQ(shape.dim(2).dim_value(), 112 / 16);
    EXPECT_EQ(shape.dim(3).dim_value(), 112 / 16);
  }
}

/// Returns the output of a model's only layer for 0, 1, 2, .... The reader computes a model of constants while it
/// reads.
std::vector<float> applied_to_iota(onnx::ModelProto model, std::span<const std::int64_t> shape) {
  auto& input = *model.mutable_graph()->add_initializer();
  input.set_name(model.graph().input(0).name());
  input.set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t elements = 1;
  for (const auto size : shape) elements *= size, input.add_dims(size);
  for (std::int64_t i = 0; i < elements; ++i) input.add_float_data(static_cast<float>(i));
  model.mutable_graph()->clear_input();
  const std::string bytes = model.SerializeAsString();
  const auto graph = parse_onnx(std::as_bytes(std::span(bytes)), "model");
  EXPECT_TRUE(graph) << graph.error().what;
  return graph->tensors.at(graph->outputs.at(0)).values;
}

// darknet's reorg_cpu with forward = 0, and the input sizes with which forward_reorg_layer calls it.
TEST_F(Models, ReorgMatchesDarknetOrder) {
  constexpr int c = 8, h = 6, w = 6, stride = 2;
  GraphWriter graph("reorg", 1);
  const Value out = graph.reorg(graph.input(c, h));
  EXPECT_EQ(out.channels, 4 * c);
  EXPECT_EQ(out.height, h / 2);
  graph.output(out);
  const auto values = applied_to_iota(graph.model(), std::array<std::int64_t, 4>{1, c, h, w});
  ASSERT_EQ(values.size(), static_cast<std::size_t>(c * h * w));
  const int out_c = c / (stride * stride);
  for (int k = 0; k < c; ++k)
    for (int j = 0; j < h; ++j)
      for (int i = 0; i < w; ++i) {
        const int c2 = k % out_c, offset = k / out_c;
        const int w2 = i * stride + offset % stride, h2 = j * stride + offset / stride;
        EXPECT_EQ(values[static_cast<std::size_t>(i + w * (j + h * k))],
                  static_cast<float>(w2 + w * stride * (h2 + h * stride * c2)));
      }
}

TEST_F(Models, ChannelPaddingAppendsZeros) {
  GraphWriter graph("pad", 1);
  graph.output(graph.pad_channels(graph.input(2, 2), 3));
  const auto values = applied_to_iota(graph.model(), std::array<std::int64_t, 4>{1, 2, 2, 2});
  EXPECT_EQ(values, (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0}));
}

TEST_F(Models, SeedDeterminesFileBytes) {
  const ModelOptions options{.size = 32, .classes = 1, .seed = 7};
  std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
  for (const char c : bytes("googlenet", options)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  EXPECT_EQ(hash, 3681775894603141837u);
  EXPECT_NE(bytes("googlenet", options), bytes("googlenet", {.size = 32, .classes = 1, .seed = 8}));
}

TEST_F(Models, ImpossibleOptionsAreRejected) {
  const auto message = [&](std::string_view name, const ModelOptions& options) {
    const auto result = write_model(name, options, folder_ / "refused.onnx");
    EXPECT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::bad_input);
    EXPECT_FALSE(fs::exists(folder_ / "refused.onnx"));
    return result.error().what;
  };
  EXPECT_NE(message("yolov9", {}).find("known are yolov3-tiny, yolov3, yolov2"), std::string::npos);
  EXPECT_NE(message("yolov3", {.size = 100}).find("size 100 is not possible; it takes multiples of 32"),
            std::string::npos);
  EXPECT_NE(message("resnet18", {.size = 31}).find("size 31"), std::string::npos);
  EXPECT_NE(message("resnet18", {.size = 1 << 20}).find("to 4096"), std::string::npos);
  EXPECT_NE(message("resnet18", {.classes = -1}).find("-1 classes"), std::string::npos);
}

TEST_F(Models, WriteErrorIsReportedAndKeepsOldFile) {
  const auto missing = write_model("yolov3-tiny", {}, folder_ / "no/such/folder/m.onnx");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::refused);
  EXPECT_NE(missing.error().what.find("m.onnx: error: cannot write it: No such file"), std::string::npos);

  const auto path = folder_ / "kept.onnx";
  test::write_text(path, "old");
  const auto full = [&] {
    const test::FileSizeLimit limit(1 << 20); // write() fails half-way
    return write_model("yolov3-tiny", {}, path);
  }();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::refused);
  EXPECT_NE(full.error().what.find("kept.onnx: error: cannot write it, the old file is unchanged: File too large"),
            std::string::npos)
      << full.error().what;
  EXPECT_EQ(fs::file_size(path), 3u);
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1);
}

} // namespace
} // namespace rtexec::tasks
