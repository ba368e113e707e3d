// Tests tensors without elements: results follow from shapes, as in NumPy and ONNX.
#include "tasks/engine/onnx/onnx_reader.hpp"

#include "tasks/engine/graph/passes.hpp"
#include "test/support/expected_result.hpp"
#include "test/tasks/dnn_onnx_text.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rtexec::tasks {
namespace {

using Values = std::vector<float>;
using Ints = std::vector<std::int64_t>;
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Input x [2, 3], and e [2, 0], the empty slice of x after its end.
const std::string empty = onnx_value("input", "x", {"2", "3"}) + "output { name: 'y' } " +
                          onnx_ints("three", {1}, {3}) + onnx_ints("one", {1}, {1}) +
                          onnx_node("Slice", {"x", "three", "three", "one"}, {"e"});

Graph read(const std::string& nodes, int opset = 18) {
  auto graph = parse_onnx(onnx_bytes(empty + nodes, opset), "net.onnx");
  EXPECT_TRUE(graph.has_value()) << graph.error().what;
  if (graph) optimise(*graph);
  return graph ? *graph : Graph();
}

/// Returns the shape of the output, which has no elements.
Shape shape(const std::string& nodes, int opset = 18) {
  const auto graph = read(nodes, opset);
  if (graph.outputs.empty()) return {};
  EXPECT_TRUE(graph.nodes.empty()) << "nothing is to be computed";
  EXPECT_EQ(run(graph, {1, 2, 3, 4, 5, 6}), Values());
  return graph.tensors[graph.outputs[0]].shape;
}

Values computed(const std::string& nodes, int opset = 18) { return run(read(nodes, opset), {1, 2, 3, 4, 5, 6}); }

TEST(EmptyTensors, PassThroughElementwiseAndMovingOperators) {
  EXPECT_EQ(shape(onnx_node("Sigmoid", {"e"}, {"y"})), (Shape{2, 0}));
  EXPECT_EQ(shape(onnx_node("Transpose", {"e"}, {"y"})), (Shape{0, 2}));
  EXPECT_EQ(shape(onnx_floats("c", {1, 1}) + onnx_node("Mul", {"e", "c"}, {"y"})), (Shape{2, 0}))
      << "1 is broadcast to 0";
  EXPECT_EQ(shape(onnx_floats("c", {4, 1, 1}) + onnx_node("Less", {"c", "e"}, {"y"})), (Shape{4, 2, 0}));
  EXPECT_EQ(shape(onnx_node("Softmax", {"e"}, {"y"})), (Shape{2, 0}));
  EXPECT_EQ(shape(onnx_node("Flatten", {"e"}, {"y"}, onnx_attribute("axis", 2))), (Shape{0, 1}));
  EXPECT_EQ(shape(onnx_ints("to", {3}, {0, 7, -1}) + onnx_node("Reshape", {"e", "to"}, {"y"})), (Shape{2, 7, 0}));
  EXPECT_EQ(shape(onnx_ints("i", {2}, {1, 0}) + onnx_node("Gather", {"e", "i"}, {"y"})), (Shape{2, 0}));
  EXPECT_EQ(shape(onnx_node("CumSum", {"e", "one"}, {"y"})), (Shape{2, 0}));
  EXPECT_EQ(shape(onnx_node("Cast", {"e"}, {"y"}, onnx_attribute("to", 7))), (Shape{2, 0}));
}

TEST(EmptyTensors, ResultFromEmptySelections) {
  const std::string none = "initializer { name: 'none' data_type: 7 dims: 0 } ";
  EXPECT_EQ(shape(none + onnx_node("Gather", {"x", "none"}, {"y"}, onnx_attribute("axis", 1))), (Shape{2, 0}));
  EXPECT_EQ(shape(onnx_ints("k", {1}, {0}) + onnx_node("TopK", {"x", "k"}, {"y", "i"})), (Shape{2, 0}));
  EXPECT_EQ(shape(onnx_ints("times", {2}, {2, 0}) + onnx_node("Tile", {"x", "times"}, {"y"})), (Shape{4, 0}));
  EXPECT_EQ(shape(onnx_ints("to", {3}, {0, 2, 3}) + onnx_node("Expand", {"x", "to"}, {"y"})), (Shape{0, 2, 3}));
  EXPECT_EQ(shape(onnx_ints("never", {3}, {0, 0, 0}) +
                  onnx_node("Compress", {"x", "never"}, {"y"}, onnx_attribute("axis", 1))),
            (Shape{2, 0}));
  EXPECT_EQ(shape(onnx_ints("parts", {2}, {3, 0}) +
                  onnx_node("Split", {"x", "parts"}, {"z", "y"}, onnx_attribute("axis", 1))),
            (Shape{2, 0}));
}

TEST(EmptyTensors, AddNoElementsToOtherTensors) {
  EXPECT_EQ(computed(onnx_node("Concat", {"e", "x", "e"}, {"y"}, onnx_attribute("axis", 1))),
            (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(shape(onnx_node("Concat", {"e", "e"}, {"y"}, onnx_attribute("axis", 0))), (Shape{4, 0}));
  const std::string none =
      "initializer { name: 'i' data_type: 7 dims: 0 dims: 3 } "
      "initializer { name: 'u' data_type: 1 dims: 0 dims: 3 } ";
  EXPECT_EQ(computed(none + onnx_node("ScatterElements", {"x", "i", "u"}, {"y"})), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(computed(onnx_ints("pads", {4}, {0, 1, 0, 1}) + onnx_node("Pad", {"e", "pads"}, {"y"})), Values(4, 0));
}

TEST(EmptyTensors, ReduceToNeutralElements) {
  const auto reduced = [](const std::string& type) {
    return computed(onnx_node(type, {"e", "one"}, {"y"}, onnx_attribute("keepdims", 0)));
  };
  EXPECT_EQ(reduced("ReduceSum"), (Values{0, 0}));
  EXPECT_EQ(reduced("ReduceSumSquare"), (Values{0, 0}));
  EXPECT_EQ(reduced("ReduceL1"), (Values{0, 0}));
  EXPECT_EQ(reduced("ReduceProd"), (Values{1, 1}));
  EXPECT_EQ(reduced("ReduceMax"), (Values{-infinity, -infinity}));
  EXPECT_EQ(reduced("ReduceMin"), (Values{infinity, infinity}));
  EXPECT_EQ(reduced("ReduceLogSum"), (Values{-infinity, -infinity}));
  EXPECT_EQ(reduced("ReduceLogSumExp"), (Values{-infinity, -infinity}));
  const auto mean = reduced("ReduceMean");
  ASSERT_EQ(mean.size(), 2U);
  EXPECT_TRUE(std::isnan(mean[0]));
  EXPECT_EQ(shape(onnx_ints("zero", {1}, {0}) + onnx_node("ReduceSum", {"e", "zero"}, {"y"})), (Shape{1, 0}));
  EXPECT_TRUE(test::fails(parse_onnx(onnx_bytes(empty + onnx_node("ArgMax", {"e"}, {"y"}, onnx_attribute("axis", 1)))),
                          Errc::bad_input, "it indexes a dimension without elements"));
}

TEST(EmptyTensors, GiveZeroMatrixProducts) {
  EXPECT_EQ(computed(onnx_node("Transpose", {"e"}, {"t"}) + onnx_node("MatMul", {"e", "t"}, {"y"})), Values(4, 0));
  EXPECT_EQ(computed(onnx_node("Transpose", {"e"}, {"t"}) + onnx_floats("c", {2}) +
                     onnx_node("Gemm", {"e", "t", "c"}, {"y"}, "attribute { name: 'beta' type: FLOAT f: 2 }")),
            (Values{2, 4, 2, 4}));
  EXPECT_EQ(shape(onnx_node("Transpose", {"e"}, {"t"}) + onnx_node("MatMul", {"t", "x"}, {"y"})), (Shape{0, 3}));
}

TEST(EmptyTensors, AreAcceptedAsInputsAndOutputs) {
  const auto graph = parse_onnx(onnx_bytes(onnx_value("input", "x", {"0", "3"}) + onnx_value("input", "z", {"2", "3"}) +
                                           onnx_node("Relu", {"x"}, {"y"}) +
                                           onnx_node("Concat", {"x", "z"}, {"w"}, onnx_attribute("axis", 0)) +
                                           "output { name: 'y' } output { name: 'w' } output { name: 'x' }"));
  ASSERT_TRUE(graph.has_value()) << graph.error().what;
  EXPECT_EQ(graph->tensors[graph->inputs[0]].shape, (Shape{0, 3}));
  EXPECT_EQ(graph->tensors[graph->outputs[0]].shape, (Shape{0, 3}));
  EXPECT_EQ(run(*graph), (Values{-8, -7.75F, -7.5F, -7.25F, -7, -6.75F}));
  const auto open =
      onnx_bytes(onnx_value("input", "x", {"batch", "3"}) + onnx_node("Relu", {"x"}, {"y"}) + "output { name: 'y' }");
  const auto given = parse_onnx(open, "net.onnx", {}, {.shapes = {{"x", {0, 3}}}, .constants = {}});
  ASSERT_TRUE(given.has_value()) << given.error().what;
  EXPECT_EQ(given->tensors[given->outputs[0]].shape, (Shape{0, 3}));
}

TEST(EmptyTensors, ResultFromLoopsWithoutIterations) {
  const std::string body = "attribute { name: 'body' type: GRAPH g { input { name: 'i' } input { name: 'go' } " +
                           onnx_node("Identity", {"go"}, {"on"}) + onnx_node("Gather", {"x", "i"}, {"row"}) +
                           "output { name: 'on' } output { name: 'row' } } }";
  EXPECT_EQ(shape(onnx_ints("rounds", {}, {0}) + onnx_node("Loop", {"rounds", ""}, {"y"}, body)), (Shape{0, 3}));
  const std::string step = "attribute { name: 'body' type: GRAPH g { input { name: 'v' } " +
                           onnx_node("Neg", {"v"}, {"w"}) + "output { name: 'w' } } } " +
                           onnx_attribute("num_scan_inputs", 1);
  EXPECT_EQ(shape(onnx_node("Transpose", {"e"}, {"t"}) + onnx_node("Scan", {"t"}, {"y"}, step)), (Shape{0, 2}));
}

TEST(EmptyTensors, ResultFromNonMaxSuppressionWithoutBoxes) {
  const std::string boxes =
      "initializer { name: 'b' data_type: 1 dims: 1 dims: 0 dims: 4 } "
      "initializer { name: 's' data_type: 1 dims: 1 dims: 2 dims: 0 } ";
  const auto graph =
      read(boxes + onnx_ints("most", {1}, {9}) + onnx_node("NonMaxSuppression", {"b", "s", "most"}, {"y"}));
  EXPECT_EQ(graph.tensors[graph.outputs.at(0)].shape, (Shape{0, 3}));
  EXPECT_EQ(graph.tensors[graph.outputs.at(0)].type, ElementType::int64);
}

TEST(EmptyTensors, PassThroughConvolutionPoolingAndNormalisation) {
  const std::string images =
      onnx_ints("cut", {1}, {5}) + onnx_ints("axis", {1}, {0}) + onnx_floats("all", {2, 3, 4, 4}) +
      onnx_node("Slice", {"all", "cut", "cut", "axis"}, {"i"}) + onnx_floats("c", {3}) + onnx_floats("w", {5, 3, 3, 3});
  EXPECT_EQ(shape(images + onnx_node("Conv", {"i", "w"}, {"y"})), (Shape{0, 5, 2, 2}));
  EXPECT_EQ(shape(images + onnx_node("InstanceNormalization", {"i", "c", "c"}, {"y"})), (Shape{0, 3, 4, 4}));
  EXPECT_EQ(shape(images + onnx_node("BatchNormalization", {"i", "c", "c", "c", "c"}, {"y"})), (Shape{0, 3, 4, 4}));
  EXPECT_EQ(shape(images + onnx_node("MaxPool", {"i"}, {"y", "z"}, onnx_attribute("kernel_shape", Ints{2, 2}))),
            (Shape{0, 3, 3, 3}));
  EXPECT_EQ(shape(images + onnx_node("GlobalAveragePool", {"i"}, {"y"})), (Shape{0, 3, 1, 1}));
  EXPECT_EQ(shape(images + onnx_ints("sizes", {4}, {0, 3, 8, 8}) + onnx_node("Resize", {"i", "", "", "sizes"}, {"y"})),
            (Shape{0, 3, 8, 8}));
}

TEST(EmptyTensors, DoNotResultFromTooLargeWindows) {
  EXPECT_TRUE(
      test::fails(parse_onnx(onnx_bytes(onnx_value("input", "x", {"1", "1", "2", "2"}) +
                                        onnx_node("MaxPool", {"x"}, {"y"}, onnx_attribute("kernel_shape", Ints{3, 3})) +
                                        "output { name: 'y' }")),
                  Errc::bad_input, "its input is too small"));
}

} // namespace
} // namespace rtexec::tasks
