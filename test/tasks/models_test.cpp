#include "tasks/dnn/models/models.hpp"
#include "test/support/file_size_limit.hpp"
#include "test/support/files.hpp"

#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

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

/// Floats of weights, and of the running statistics of batch normalisation, which are no parameters.
struct Count {
  std::int64_t parameters = 0;
  std::int64_t statistics = 0;
};

Count count(const onnx::ModelProto& model) {
  std::set<std::string> statistics, others;
  for (const auto& node : model.graph().node()) {
    if (node.op_type() == "BatchNormalization") statistics.insert({node.input(3), node.input(4)});
    if (node.op_type() == "Resize") others.insert(node.input(2));
  }
  Count sum;
  for (const auto& tensor : model.graph().initializer()) {
    if (others.contains(tensor.name())) continue;
    const auto size = static_cast<std::int64_t>(tensor.raw_data().size() / sizeof(float));
    (statistics.contains(tensor.name()) ? sum.statistics : sum.parameters) += size;
  }
  return sum;
}

TEST_F(Models, TorchvisionNetworksHaveTheirParameters) {
  EXPECT_EQ(count(build("resnet18")).parameters, 11'689'512);
  EXPECT_EQ(count(build("resnet50")).parameters, 25'557'032);
  EXPECT_EQ(count(build("resnet152")).parameters, 60'192'808);
  EXPECT_EQ(count(build("resnext50")).parameters, 25'028'904);
  EXPECT_EQ(count(build("densenet201")).parameters, 20'013'928);
  EXPECT_EQ(count(build("googlenet")).parameters, 6'624'904);
}

// darknet's weight files hold the running statistics as well, after a header of 20 bytes.
TEST_F(Models, DarknetNetworksHaveTheFloatsOfTheirWeightFiles) {
  const auto file_size = [](const Count& floats) { return 20 + 4 * (floats.parameters + floats.statistics); };
  EXPECT_EQ(file_size(count(build("yolov3"))), 248'007'048);
  EXPECT_EQ(file_size(count(build("yolov3-tiny"))), 35'434'956);
}

TEST_F(Models, PassTheOnnxCheckerAndHaveTheShapesThatInferenceFinds) {
  for (const auto& info : models()) {
    SCOPED_TRACE(info.name);
    auto model = build(info.name, {.size = info.size == 224 ? 97 : 96, .classes = 7, .seed = 3});
    EXPECT_NO_THROW(onnx::checker::check_model(model));
    EXPECT_NO_THROW(onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                                       onnx::ShapeInferenceOptions{true, 1, true})); // strict: a wrong output shape throws
    EXPECT_EQ(model.opset_import(0).version(), 13);
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

TEST_F(Models, TheSameSeedGivesTheSameBytesEverywhere) {
  const ModelOptions options{.size = 32, .classes = 1, .seed = 7};
  std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
  for (const char c : bytes("googlenet", options)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  EXPECT_EQ(hash, 15414368523346198768u);
  EXPECT_NE(bytes("googlenet", options), bytes("googlenet", {.size = 32, .classes = 1, .seed = 8}));
}

TEST_F(Models, RefuseWhatCannotBe) {
  const auto message = [&](std::string_view name, const ModelOptions& options) {
    const auto result = write_model(name, options, folder_ / "refused.onnx");
    EXPECT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::bad_input);
    EXPECT_FALSE(fs::exists(folder_ / "refused.onnx"));
    return result.error().what;
  };
  EXPECT_NE(message("yolov9", {}).find("known are yolov3-tiny, yolov3, resnet18"), std::string::npos);
  EXPECT_NE(message("yolov3", {.size = 100}).find("size 100 is not possible; it takes multiples of 32"), std::string::npos);
  EXPECT_NE(message("resnet18", {.size = 31}).find("size 31"), std::string::npos);
  EXPECT_NE(message("resnet18", {.size = 1 << 20}).find("to 4096"), std::string::npos);
  EXPECT_NE(message("resnet18", {.classes = -1}).find("-1 classes"), std::string::npos);
}

TEST_F(Models, AFileThatCannotBeWrittenIsAnErrorAndLeavesTheOldOne) {
  const auto missing = write_model("yolov3-tiny", {}, folder_ / "no/such/folder/m.onnx");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::refused);
  EXPECT_NE(missing.error().what.find("m.onnx: error: cannot write it: No such file"), std::string::npos);

  const auto path = folder_ / "kept.onnx";
  test::write_text(path, "old");
  const auto full = [&] {
    const test::FileSizeLimit limit(1 << 20); // write() fails half way
    return write_model("yolov3-tiny", {}, path);
  }();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::refused);
  EXPECT_NE(full.error().what.find("kept.onnx: error: cannot write it, the old one stays as it was: File too large"), std::string::npos) << full.error().what;
  EXPECT_EQ(fs::file_size(path), 3u);
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1);
}

} // namespace
} // namespace rtexec::tasks
