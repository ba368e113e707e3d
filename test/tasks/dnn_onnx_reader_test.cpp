// Tests what the reader refuses, and with which messages; what it folds; and that no input makes it crash.
#include "tasks/engine/onnx/onnx_reader.hpp"

#include "config/base/text.hpp"
#include "tasks/engine/host/host_network.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/support/expected_result.hpp"
#include "test/tasks/dnn_onnx_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace rtexec::tasks {
namespace {

using testing::HasSubstr;

const std::string x4 = onnx_value("input", "x", {"1", "3", "8", "8"});
const std::string y_out = "output { name: \"y\" }\n";

/// Returns a graph with input x [1,3,8,8] and output y.
std::string with_x(const std::string& rest) { return x4 + rest + y_out; }

struct Refused {
  std::string name;
  std::string graph;
  Errc code;
  std::vector<std::string> words; // the message must contain all of them
  int opset = 13;
};
void PrintTo(const Refused& refused, std::ostream* to) { *to << refused.name; }

class OnnxRefusal : public testing::TestWithParam<Refused> {};

TEST_P(OnnxRefusal, NamesNodeAndReason) {
  const auto graph = parse_onnx(onnx_bytes(GetParam().graph, GetParam().opset), "net.onnx");
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(graph.error().code, GetParam().code) << graph.error().what;
  EXPECT_THAT(graph.error().what, testing::StartsWith("net.onnx: "));
  for (const auto& word : GetParam().words) EXPECT_THAT(graph.error().what, HasSubstr(word));
}

std::string conv(const std::string& attributes, const Shape& weights = {4, 3, 3, 3}) {
  return with_x(onnx_floats("w", weights) + onnx_node("Conv", {"x", "w"}, {"y"}, attributes));
}

const Refused refusals[] = {
    {"Operator", with_x(onnx_node("Det", {"x"}, {"y"})), Errc::unsupported, {"the_Det", "writes 'y'", "not supported"}},
    {"Domain",
     with_x("node { name: \"n\" op_type: \"Gelu\" domain: \"com.microsoft\" input: \"x\" output: \"y\" }"),
     Errc::unsupported,
     {"'n'", "com.microsoft.Gelu"}},
    {"OpsetOld", with_x(onnx_node("Relu", {"x"}, {"y"})), Errc::unsupported, {"opset 6", "7 to 28"}, 6},
    {"OpsetNew", with_x(onnx_node("Relu", {"x"}, {"y"})), Errc::unsupported, {"opset 29", "7 to 28"}, 29},
    {"UnknownAttribute",
     with_x(onnx_node("Relu", {"x"}, {"y"}, onnx_attribute("fast", 1))),
     Errc::unsupported,
     {"the_Relu", "attribute 'fast'"}},
    {"AttributeType",
     with_x(onnx_node("LeakyRelu", {"x"}, {"y"}, onnx_attribute("alpha", 1))),
     Errc::bad_input,
     {"attribute 'alpha' is of the wrong type"}},
    {"AttributeTwice",
     with_x(onnx_node("Flatten", {"x"}, {"y"}, onnx_attribute("axis", 1) + onnx_attribute("axis", 2))),
     Errc::bad_input,
     {"'axis'", "given twice"}},
    {"SizeNotFixed",
     onnx_value("input", "x", {"1", "3", "height", "8"}) + onnx_node("Relu", {"x"}, {"y"}) + y_out,
     Errc::bad_input,
     {"input 'x'", "dimension 2", "'height'", "not fixed", "shape = { x = [1, 3, ?, 8] }"}},
    {"InputTooLarge",
     onnx_value("input", "x", {"1", "3", "100000", "100000"}) + onnx_node("Relu", {"x"}, {"y"}) + y_out,
     Errc::unsupported,
     {"input 'x'", "elements"}},
    {"InputOverflows",
     onnx_value("input", "x", {"4294967296", "4294967296", "4294967296"}) + onnx_node("Relu", {"x"}, {"y"}) + y_out,
     Errc::unsupported,
     {"elements"}},
    {"InputType",
     "input { name: \"x\" type { tensor_type { elem_type: 8 shape { dim { dim_value: 1 } } } } }" +
         onnx_node("Relu", {"x"}, {"y"}) + y_out,
     Errc::unsupported,
     {"input 'x'", "STRING", "supported: FLOAT, "}},
    {"InputOfAnUnknownType",
     "input { name: \"x\" type { tensor_type { elem_type: 99 shape { dim { dim_value: 1 } } } } }" +
         onnx_node("Relu", {"x"}, {"y"}) + y_out,
     Errc::unsupported,
     {"input 'x'", "unknown type 99", "supported: FLOAT, "}},
    {"Complex",
     with_x("initializer { name: \"w\" data_type: 14 dims: 1 float_data: 0 }" + onnx_node("Add", {"x", "w"}, {"y"})),
     Errc::unsupported,
     {"'w'", "COMPLEX64", "supported"}},
    {"External",
     with_x("initializer { name: \"w\" data_type: 1 dims: 1 data_location: EXTERNAL external_data { key: \"location\" "
            "value: \"w.bin\" } }" +
            onnx_node("Add", {"x", "w"}, {"y"})),
     Errc::unsupported,
     {"'w'", "another file"}},
    {"BytesMissing",
     with_x("initializer { name: \"w\" data_type: 1 dims: 2 raw_data: \"12345\" }" +
            onnx_node("Add", {"x", "w"}, {"y"})),
     Errc::bad_input,
     {"'w'", "8 bytes", "5"}},
    {"ValuesMissing",
     with_x("initializer { name: \"w\" data_type: 1 dims: 2 float_data: 1 }" + onnx_node("Add", {"x", "w"}, {"y"})),
     Errc::bad_input,
     {"'w'", "2 values", "1"}},
    {"NegativeDimension",
     with_x("initializer { name: \"w\" data_type: 1 dims: -2 }" + onnx_node("Add", {"x", "w"}, {"y"})),
     Errc::bad_input,
     {"'w'", "-2"}},
    {"ConstantTooLarge",
     with_x("initializer { name: \"w\" data_type: 1 dims: 65536 dims: 65536 }" + onnx_node("Add", {"x", "w"}, {"y"})),
     Errc::unsupported,
     {"'w'", "elements"}},
    {"MissingInput", with_x(onnx_node("Relu", {"nowhere"}, {"y"})), Errc::bad_input, {"the_Relu", "'nowhere'"}},
    {"Cycle",
     with_x(onnx_node("Add", {"x", "b"}, {"a"}) + onnx_node("Relu", {"a"}, {"b"}) + onnx_node("Relu", {"b"}, {"y"})),
     Errc::bad_input,
     {"the_Add", "'b'", "cycle"}},
    {"ReadsItself", with_x(onnx_node("Add", {"x", "y"}, {"y"})), Errc::bad_input, {"'y'", "cycle"}},
    {"WrittenTwice",
     with_x(onnx_node("Relu", {"x"}, {"y"}) + onnx_node("Sigmoid", {"x"}, {"y"})),
     Errc::bad_input,
     {"the_Sigmoid", "written already"}},
    {"WritesAnInput", with_x(onnx_node("Relu", {"x"}, {"x"})), Errc::bad_input, {"'x'", "written already"}},
    {"IfOfWhatIsComputed",
     with_x("initializer { name: \"w\" data_type: 1 dims: 1 float_data: 1 }" +
            onnx_node("ReduceMax", {"x"}, {"a"}, onnx_attribute("keepdims", 0)) + onnx_node("Less", {"a", "w"}, {"c"}) +
            onnx_node("If", {"c"}, {"y"})),
     Errc::unsupported,
     {"the_If", "the condition (input 'c')", "depends on an input"}},
    {"IfWithoutABranch",
     with_x(onnx_ints("c", {}, {1}) + onnx_node("If", {"c"}, {"y"})),
     Errc::bad_input,
     {"the_If", "'then_branch' is missing"}},
    {"ShapeOfNothingBelow0",
     with_x(onnx_ints("s", {2}, {0, -1}) + onnx_node("ConstantOfShape", {"s"}, {"y"})),
     Errc::bad_input,
     {"the_ConstantOfShape", "-1"}},
    {"ShapeOfNothingTooLarge",
     with_x(onnx_ints("s", {3}, {1000000, 1000000, 0}) + onnx_node("ConstantOfShape", {"s"}, {"y"})),
     Errc::unsupported,
     {"the_ConstantOfShape", "elements"}},
    {"ReshapeOfNothingBelow0",
     with_x(onnx_ints("s", {2}, {0, 3}) + onnx_ints("r", {2}, {0, -7}) + onnx_node("ConstantOfShape", {"s"}, {"a"}) +
            onnx_node("Reshape", {"a", "r"}, {"y"})),
     Errc::bad_input,
     {"the_Reshape", "-7"}},
    {"ReshapeOfNothingToSomething",
     with_x(onnx_ints("s", {2}, {0, 3}) + onnx_ints("r", {1}, {3}) + onnx_node("ConstantOfShape", {"s"}, {"a"}) +
            onnx_node("Reshape", {"a", "r"}, {"y"})),
     Errc::bad_input,
     {"the_Reshape", "0x3", "cannot take the shape 3"}},
    {"ChosenByWhatIsComputed",
     with_x(onnx_node("NonZero", {"x"}, {"a"}) + onnx_node("NonZero", {"x"}, {"y"})),
     Errc::unsupported,
     {"NonZero (nodes 'the_NonZero', 'the_NonZero': its input is computed at run time", "TopK"}},
    {"NoOutput", x4 + onnx_node("Relu", {"x"}, {"y"}), Errc::bad_input, {"no output"}},
    {"OutputMissing", x4 + onnx_node("Relu", {"x"}, {"z"}) + y_out, Errc::bad_input, {"output 'y'"}},
    {"IntegerData",
     with_x(onnx_ints("i", {1}, {3}) + onnx_node("Add", {"x", "i"}, {"y"})),
     Errc::bad_input,
     {"the_Add", "'x' and 'i'", "float32 and int64"}},
    {"ConvChannels", conv("", {4, 5, 3, 3}), Errc::bad_input, {"the_Conv", "1x3x8x8", "4x5x3x3"}},
    {"ConvGroups", conv(onnx_attribute("group", 0)), Errc::bad_input, {"0 groups"}},
    {"ConvGroupsOverflow", conv(onnx_attribute("group", INT64_MIN)), Errc::bad_input, {"groups"}},
    {"ConvRank",
     with_x(onnx_floats("w", {4, 3, 3}) + onnx_node("Conv", {"x", "w"}, {"y"})),
     Errc::unsupported,
     {"4x3x3", "4 dimensions"}},
    {"ConvStrideZero",
     conv(onnx_attribute("strides", std::vector<std::int64_t>{0, 1})),
     Errc::unsupported,
     {"stride of 0"}},
    {"ConvStrideHuge",
     conv(onnx_attribute("strides", std::vector<std::int64_t>{INT64_MAX, 1})),
     Errc::unsupported,
     {"stride of 9223372036854775807"}},
    {"ConvPadsHuge",
     conv(onnx_attribute("pads", std::vector<std::int64_t>{0, 0, INT64_MAX, 0})),
     Errc::unsupported,
     {"padding of 9223372036854775807"}},
    {"ConvPadsNegative",
     conv(onnx_attribute("pads", std::vector<std::int64_t>{-1, 0, 0, 0})),
     Errc::unsupported,
     {"padding of -1"}},
    {"ConvPadsCount",
     conv(onnx_attribute("pads", std::vector<std::int64_t>{1, 1})),
     Errc::bad_input,
     {"pads has 2 values", "4"}},
    {"ConvDilationHuge",
     conv(onnx_attribute("dilations", std::vector<std::int64_t>{1, INT64_MAX})),
     Errc::unsupported,
     {"dilation"}},
    {"ConvKernelShape",
     conv(onnx_attribute("kernel_shape", std::vector<std::int64_t>{5, 5})),
     Errc::bad_input,
     {"kernel_shape", "4x3x3x3"}},
    {"ConvTooSmall", conv("", {4, 3, 9, 9}), Errc::bad_input, {"1x4x0x0", "too small"}},
    {"ConvAutoPad",
     conv("attribute { name: \"auto_pad\" type: STRING s: \"SAME\" }"),
     Errc::bad_input,
     {"auto_pad", "SAME"}},
    {"PoolPads",
     with_x(onnx_node("MaxPool", {"x"}, {"y"},
                      onnx_attribute("kernel_shape", std::vector<std::int64_t>{2, 2}) +
                          onnx_attribute("pads", std::vector<std::int64_t>{2, 0, 0, 0}))),
     Errc::unsupported,
     {"padding", "window"}},
    {"PoolKernelMissing", with_x(onnx_node("MaxPool", {"x"}, {"y"})), Errc::bad_input, {"kernel_shape", "missing"}},
    {"Broadcast",
     with_x(onnx_floats("w", {5}) + onnx_node("Mul", {"x", "w"}, {"y"})),
     Errc::bad_input,
     {"1x3x8x8 and 5", "broadcast"}},
    {"AxisOutside",
     with_x(onnx_node("Softmax", {"x"}, {"y"}, onnx_attribute("axis", 4))),
     Errc::bad_input,
     {"axis 4", "4 dimensions"}},
    {"AxisMin",
     with_x(onnx_node("Flatten", {"x"}, {"y"}, onnx_attribute("axis", INT64_MIN))),
     Errc::bad_input,
     {"axis -9223372036854775808"}},
    {"ReshapeCount",
     with_x(onnx_ints("s", {2}, {5, 5}) + onnx_node("Reshape", {"x", "s"}, {"y"})),
     Errc::bad_input,
     {"1x3x8x8", "5x5"}},
    {"ReshapeTwoFree",
     with_x(onnx_ints("s", {2}, {-1, -1}) + onnx_node("Reshape", {"x", "s"}, {"y"})),
     Errc::bad_input,
     {"more than one"}},
    {"ReshapeHuge",
     with_x(onnx_ints("s", {3}, {1LL << 40, 1LL << 40, -1}) + onnx_node("Reshape", {"x", "s"}, {"y"})),
     Errc::bad_input,
     {"1099511627776"}},
    {"ReshapeComputed",
     with_x(onnx_node("Reshape", {"x", "x"}, {"y"})),
     Errc::unsupported,
     {"shape", "known when the model is loaded"}},
    {"TransposePerm",
     with_x(onnx_node("Transpose", {"x"}, {"y"}, onnx_attribute("perm", std::vector<std::int64_t>{0, 1, 1, 3}))),
     Errc::bad_input,
     {"perm"}},
    {"SliceStepZero",
     with_x(onnx_ints("a", {1}, {0}) + onnx_node("Slice", {"x", "a", "a", "a", "a"}, {"y"})),
     Errc::bad_input,
     {"step is 0"}},
    {"GatherOutside",
     with_x(onnx_ints("i", {}, {3}) + onnx_node("Gather", {"x", "i"}, {"y"}, onnx_attribute("axis", 1))),
     Errc::bad_input,
     {"index 3"}},
    {"ConcatShapes",
     with_x(onnx_floats("w", {1, 3, 8, 7}) + onnx_node("Concat", {"x", "w"}, {"y"}, onnx_attribute("axis", 1))),
     Errc::bad_input,
     {"1x3x8x8 and 1x3x8x7"}},
    {"PadMode",
     with_x(onnx_ints("p", {8}, {0, 0, 1, 1, 0, 0, 1, 1}) +
            onnx_node("Pad", {"x", "p"}, {"y"}, onnx_text("mode", "mirror"))),
     Errc::unsupported,
     {"mode is 'mirror'", "constant, reflect, edge, wrap"}},
    {"PadHuge",
     with_x(onnx_ints("p", {8}, {0, 0, INT64_MAX, INT64_MAX, 0, 0, INT64_MAX, 0}) +
            onnx_node("Pad", {"x", "p"}, {"y"})),
     Errc::unsupported,
     {"padding of 9223372036854775807"}},
    {"PadNegative",
     with_x(onnx_ints("p", {8}, {0, 0, -9, 0, 0, 0, 0, 0}) + onnx_node("Pad", {"x", "p"}, {"y"})),
     Errc::bad_input,
     {"dimension of -1"}},
    {"ResizeMode",
     with_x(onnx_ints("s", {4}, {1, 3, 16, 16}) +
            onnx_node("Resize", {"x", "", "", "s"}, {"y"}, onnx_text("mode", "lanczos"))),
     Errc::unsupported,
     {"mode is 'lanczos'", "nearest, linear, cubic"}},
    {"ResizeHuge",
     with_x("initializer { name: \"s\" data_type: 1 dims: 4 float_data: 1 float_data: 1 float_data: 30000 float_data: "
            "30000 }" +
            onnx_node("Resize", {"x", "", "s"}, {"y"})),
     Errc::unsupported,
     {"elements"}},
    {"ResizeNaN",
     with_x(
         "initializer { name: \"s\" data_type: 1 dims: 4 float_data: 1 float_data: 1 float_data: nan float_data: 2 }" +
         onnx_node("Resize", {"x", "", "s"}, {"y"})),
     Errc::bad_input,
     {"scale"}},
    {"ResizeAspect",
     with_x(onnx_ints("s", {4}, {1, 3, 4, 4}) +
            onnx_node("Resize", {"x", "", "", "s"}, {"y"}, onnx_text("keep_aspect_ratio_policy", "fit"))),
     Errc::unsupported,
     {"keep_aspect_ratio_policy is 'fit'", "stretch, not_larger"},
     18},
    {"ResizeCoordinates",
     with_x(onnx_ints("s", {4}, {1, 3, 4, 4}) +
            onnx_node("Resize", {"x", "", "", "s"}, {"y"}, onnx_text("coordinate_transformation_mode", "corner"))),
     Errc::unsupported,
     {"'corner'", "half_pixel, "},
     19},
    {"ResizeAxesTwice",
     with_x(onnx_ints("s", {2}, {4, 4}) +
            onnx_node("Resize", {"x", "", "", "s"}, {"y"}, onnx_attribute("axes", std::vector<std::int64_t>{2, -2}))),
     Errc::bad_input,
     {"axis twice"},
     18},
    {"ResizeAxesCount",
     with_x(onnx_ints("s", {4}, {1, 3, 4, 4}) +
            onnx_node("Resize", {"x", "", "", "s"}, {"y"}, onnx_attribute("axes", std::vector<std::int64_t>{2, 3}))),
     Errc::bad_input,
     {"one size"},
     18},
    {"ResizeAxesTooEarly",
     with_x(
         onnx_ints("s", {4}, {1, 3, 4, 4}) +
         onnx_node("Resize", {"x", "", "", "s"}, {"y"}, onnx_attribute("axes", std::vector<std::int64_t>{0, 1, 2, 3}))),
     Errc::unsupported,
     {"attribute 'axes'"},
     17},
    {"PadAxesTwice",
     with_x(onnx_ints("p", {4}, {1, 1, 1, 1}) + onnx_ints("a", {2}, {2, -2}) +
            onnx_node("Pad", {"x", "p", "", "a"}, {"y"})),
     Errc::bad_input,
     {"axis twice"},
     18},
    {"PadAxesOutside",
     with_x(onnx_ints("p", {2}, {1, 1}) + onnx_ints("a", {1}, {4}) + onnx_node("Pad", {"x", "p", "", "a"}, {"y"})),
     Errc::bad_input,
     {"axis 4"},
     18},
    {"PadAxesCount",
     with_x(onnx_ints("p", {8}, {0, 0, 1, 1, 0, 0, 1, 1}) + onnx_ints("a", {2}, {2, 3}) +
            onnx_node("Pad", {"x", "p", "", "a"}, {"y"})),
     Errc::bad_input,
     {"two pads"},
     18},
    {"MeanAxesAttribute",
     with_x(onnx_node("ReduceMean", {"x"}, {"y"}, onnx_attribute("axes", std::vector<std::int64_t>{2, 3}))),
     Errc::unsupported,
     {"attribute 'axes'"},
     18},
    {"MeanNoopTooEarly",
     with_x(onnx_node("ReduceMean", {"x"}, {"y"}, onnx_attribute("noop_with_empty_axes", 1))),
     Errc::unsupported,
     {"noop_with_empty_axes"},
     17},
    {"MeanAxesComputed",
     with_x(onnx_node("ReduceMean", {"x", "x"}, {"y"})),
     Errc::unsupported,
     {"axes", "known when the model is loaded"},
     18},
    {"SplitNeither",
     with_x(onnx_node("Split", {"x"}, {"y", "z"}, onnx_attribute("axis", 2))),
     Errc::bad_input,
     {"num_outputs"},
     18},
    {"SplitBoth",
     with_x(onnx_ints("s", {2}, {4, 4}) +
            onnx_node("Split", {"x", "s"}, {"y", "z"}, onnx_attribute("axis", 2) + onnx_attribute("num_outputs", 2))),
     Errc::bad_input,
     {"num_outputs"},
     18},
    {"SplitCount",
     with_x(onnx_node("Split", {"x"}, {"y", "z"}, onnx_attribute("axis", 2) + onnx_attribute("num_outputs", 3))),
     Errc::bad_input,
     {"num_outputs"},
     18},
    {"SplitTooEarly",
     with_x(onnx_node("Split", {"x"}, {"y", "z"}, onnx_attribute("axis", 2) + onnx_attribute("num_outputs", 2))),
     Errc::unsupported,
     {"'num_outputs'"},
     17},
    {"SplitUneven",
     with_x(onnx_node("Split", {"x"}, {"y", "z"}, onnx_attribute("axis", 1))),
     Errc::bad_input,
     {"evenly"},
     17},
    {"SplitAttributeTooLate",
     with_x(onnx_node("Split", {"x"}, {"y", "z"},
                      onnx_attribute("axis", 2) + onnx_attribute("split", std::vector<std::int64_t>{4, 4}))),
     Errc::unsupported,
     {"'split'"},
     13},
    {"AverageDilationsTooEarly",
     with_x(onnx_node("AveragePool", {"x"}, {"y"},
                      onnx_attribute("kernel_shape", std::vector<std::int64_t>{2, 2}) +
                          onnx_attribute("dilations", std::vector<std::int64_t>{2, 2}))),
     Errc::unsupported,
     {"'dilations'"},
     18},
    {"ReshapeToZero",
     with_x(onnx_ints("s", {2}, {0, -1}) + onnx_node("Reshape", {"x", "s"}, {"y"}, onnx_attribute("allowzero", 1))),
     Errc::bad_input,
     {"cannot take the shape 0x1"},
     20},
    {"FillHuge",
     with_x(onnx_ints("s", {2}, {16384, 16384}) + onnx_node("ConstantOfShape", {"s"}, {"a"}) +
            onnx_node("Add", {"x", "a"}, {"y"})),
     Errc::unsupported,
     {"computed while the model is loaded", "240 MiB"}},
    {"DivisionByZero",
     with_x(onnx_ints("a", {1}, {1}) + onnx_ints("b", {1}, {0}) + onnx_node("Div", {"a", "b"}, {"c"}) +
            onnx_node("Reshape", {"x", "c"}, {"y"})),
     Errc::bad_input,
     {"division by zero"}},
    {"Training",
     with_x(onnx_floats("v", {3}) +
            onnx_node("BatchNormalization", {"x", "v", "v", "v", "v"}, {"z", "mean", "variance"},
                      onnx_attribute("training_mode", 1)) +
            onnx_node("Relu", {"mean"}, {"y"})),
     Errc::unsupported,
     {"the_BatchNormalization", "training_mode is 1", "output 1", "model.eval()"},
     15},
    {"BatchNormChannels",
     with_x(onnx_floats("v", {4}) + onnx_node("BatchNormalization", {"x", "v", "v", "v", "v"}, {"y"})),
     Errc::bad_input,
     {"channel"}},
    {"GemmShapes",
     with_x(onnx_floats("a", {2, 3}) + onnx_floats("b", {4, 2}) + onnx_node("Gemm", {"a", "b"}, {"y"})),
     Errc::bad_input,
     {"2x3 and 4x2"}},
};
INSTANTIATE_TEST_SUITE_P(Onnx, OnnxRefusal, testing::ValuesIn(refusals),
                         [](const auto& refused) { return refused.param.name; });

// ---- dimensions without a size in the file

std::vector<std::byte> open_model() {
  return onnx_bytes(onnx_value("input", "x", {"batch", "3", "size"}) + onnx_value("input", "h", {"batch", "3", "1"}) +
                    onnx_node("Add", {"x", "h"}, {"y"}) + y_out);
}

Result<Graph> with_shapes(const std::map<std::string, Shape>& shapes,
                          const std::vector<std::byte>& bytes = open_model()) {
  return parse_onnx(bytes, "net.onnx", {}, {.shapes = shapes, .constants = {}});
}

TEST(OnnxReader, RejectsUnspecifiedDimensions) {
  EXPECT_TRUE(
      test::fails(with_shapes({}), Errc::bad_input,
                  "net.onnx: input 'x': dimension 0 ('batch'), dimension 2 ('size'); input 'h': dimension 0 "
                  "('batch'): not fixed in the file; fix it with a number for each '?': by shape = { x = [?, "
                  "3, ?], h = [?, 3, 1] } in a task set, by --shape x=?x3x? --shape h=?x3x1 on a command line"));
  const auto unnamed = onnx_bytes("input { name: 'a.b' type { tensor_type { elem_type: 1 shape { dim {} } } } }" +
                                  onnx_node("Relu", {"a.b"}, {"y"}) + y_out);
  EXPECT_TRUE(test::fails(with_shapes({}, unnamed), Errc::bad_input,
                          "input 'a.b': dimension 0: not fixed in the file; fix it with a number for each '?': by "
                          "shape = { \"a.b\" = [?] } in a task set, by --shape a.b=?"));
}

TEST(OnnxReader, AppliesGivenShapesToUnspecifiedDimensions) {
  const auto graph = with_shapes({{"x", {2, 3, 5}}});
  ASSERT_TRUE(graph.has_value()) << graph.error().what;
  EXPECT_EQ(graph->tensors[graph->inputs[0]].shape, (Shape{2, 3, 5}));
  EXPECT_EQ(graph->tensors[graph->inputs[1]].shape, (Shape{2, 3, 1})) << "the same symbol";
  EXPECT_EQ(graph->tensors[graph->outputs[0]].shape, (Shape{2, 3, 5}));
  EXPECT_TRUE(graph->notes.empty());
  EXPECT_TRUE(with_shapes({{"x", {2, 3, 5}}, {"h", {2, 3, 1}}}).has_value());
  const auto fixed = onnx_bytes(with_x(onnx_node("Relu", {"x"}, {"y"})));
  const auto whole = parse_onnx(fixed);
  ASSERT_TRUE(whole.has_value());
  EXPECT_TRUE(with_shapes({{"x", whole->tensors[whole->inputs[0]].shape}}, fixed).has_value()) << "what is so anyway";
  const auto shapeless =
      onnx_bytes("input { name: 'x' type { tensor_type { elem_type: 1 } } }" + onnx_node("Relu", {"x"}, {"y"}) + y_out);
  EXPECT_TRUE(test::fails(with_shapes({}, shapeless), Errc::bad_input, "input 'x': no dimension: not fixed"));
  EXPECT_TRUE(test::fails(with_shapes({{"x", {2, -3}}}, shapeless), Errc::bad_input, "a dimension of -3"));
  EXPECT_TRUE(with_shapes({{"x", {2, 3}}}, shapeless).has_value());
}

TEST(OnnxReader, TreatsPlaceholderDimensionNamesAsIndependent) {
  for (const std::string no_name : {"?", "-1", "None"}) {
    const auto bytes =
        onnx_bytes(onnx_value("input", "x", {no_name, "3", no_name}) + onnx_node("Relu", {"x"}, {"y"}) + y_out);
    EXPECT_TRUE(with_shapes({{"x", {2, 3, 5}}}, bytes).has_value()) << no_name;
    EXPECT_TRUE(test::fails(with_shapes({}, bytes), Errc::bad_input, "input 'x': dimension 0, dimension 2: not fixed"))
        << no_name;
  }
}

TEST(OnnxReader, RejectsMismatchedShapes) {
  const auto refused = [](const std::map<std::string, Shape>& shapes, const std::string& why) {
    EXPECT_TRUE(test::fails(with_shapes(shapes), Errc::bad_input, "net.onnx: " + why));
  };
  refused({{"z", {1}}}, "a shape is given for 'z', which is not an input; its inputs are: 'x', 'h'");
  refused({{"x", {2, 3}}}, "input 'x': the shape that is given, 2x3, has 2 dimensions, and the file's, ?x3x?, has 3");
  refused({{"x", {2, 4, 5}}}, "input 'x': dimension 1 is given as 4, but the file fixes it as 3");
  refused({{"x", {2, 3, -1}}}, "input 'x': the shape that is given has a dimension of -1; it must be at least 0");
  refused({{"h", {1, 3, 1}}, {"x", {2, 3, 5}}},
          "input 'x': dimension 0 ('batch') is given as 2, and dimension 0 ('batch') of input 'h' as 1: dimensions of "
          "one name must have one size");
  EXPECT_TRUE(test::fails(with_shapes({{"x", {1 << 20, 3, 1 << 20}}}), Errc::unsupported, "elements"));
}

TEST(OnnxReader, ReportsAllUnsupportedOperatorsAtOnce) {
  const auto named = [](const std::string& name, const std::string& type, const std::string& from,
                        const std::string& to) {
    return "node { name: \"" + name + "\" op_type: \"" + type + "\" input: \"" + from + "\" output: \"" + to + "\" }";
  };
  const auto graph = parse_onnx(onnx_bytes(with_x(named("a", "Det", "x", "a") + named("b", "Det", "x", "b") +
                                                  named("c", "Unique", "a", "c") + onnx_node("Relu", {"c"}, {"d"}) +
                                                  onnx_node("Pad", {"x", "x"}, {"e"}, onnx_text("mode", "mirror")) +
                                                  onnx_node("Sigmoid", {"x"}, {"f"}) + named("g", "Unique", "f", "g") +
                                                  onnx_node("Sum", {"b", "d", "e", "g"}, {"y"}))),
                                "net.onnx");
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, Errc::unsupported);
  EXPECT_EQ(graph.error().what,
            "net.onnx: 3 operators of 4 nodes are not supported: Det (nodes 'a', 'b'), Pad (node 'the_Pad': mode is "
            "'mirror'; supported: constant, reflect, edge, wrap), Unique (node 'g'); 3 nodes that read from them not "
            "checked; `rtexec infer --list-operators` lists the supported ones");
}

TEST(OnnxReader, CountsUnsupportedNodesInShortMessage) {
  std::string nodes;
  for (int i = 0; i < 500; ++i) {
    const auto name = std::to_string(i);
    nodes += onnx_node("Operator" + std::to_string(i % 50), {"x"}, {"y" + name});
  }
  const auto graph = parse_onnx(onnx_bytes(with_x(nodes + onnx_node("Relu", {"x"}, {"y"}))), "net.onnx");
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().what, testing::StartsWith("net.onnx: 50 operators of 500 nodes are not supported: "));
  EXPECT_THAT(graph.error().what, HasSubstr("and 7 more)"));
  EXPECT_THAT(graph.error().what, HasSubstr(" and 38 more; "));
  EXPECT_LT(graph.error().what.size(), 1500u);
}

TEST(OnnxReader, AcceptsUnreadInitialisersOfAnyType) {
  EXPECT_TRUE(parse_onnx(onnx_bytes(with_x("initializer { name: \"w\" data_type: 8 dims: 1 string_data: \"a\" }" +
                                           onnx_node("Relu", {"x"}, {"y"})))));
}

TEST(OnnxReader, AcceptsTextConstantsOnlyWhenUnread) {
  const auto text = onnx_node("Constant", {}, {"t"}, onnx_text("value_string", "hi"));
  EXPECT_TRUE(parse_onnx(onnx_bytes(with_x(text + onnx_node("Relu", {"x"}, {"y"})))));
  EXPECT_TRUE(test::fails(parse_onnx(onnx_bytes(with_x(text + onnx_node("Equal", {"t", "t"}, {"y"})))),
                          Errc::unsupported,
                          "constant 't' is text, which no supported operator reads; remove its readers"));
  const std::string strings = "attribute { name: 'value' type: TENSOR t { data_type: 8 dims: 1 string_data: 'a' } }";
  EXPECT_TRUE(
      parse_onnx(onnx_bytes(with_x(onnx_node("Constant", {}, {"t"}, strings) + onnx_node("Relu", {"x"}, {"y"})))));
}

TEST(OnnxReader, ConvertsSparseConstantsToDense) {
  const auto values_of = [](const std::string& nodes) {
    const auto graph = parse_onnx(onnx_bytes(with_x(nodes)));
    EXPECT_TRUE(graph.has_value()) << graph.error().what;
    return graph ? graph->tensors[graph->nodes.at(0).inputs.at(1)].values : std::vector<float>();
  };
  const auto sparse = [](const std::string& indices) {
    return "{ values { name: 'w' data_type: 1 dims: 2 float_data: 5 float_data: 7 } indices { data_type: 7 " + indices +
           " } dims: 2 dims: 4 }";
  };
  const auto add = onnx_node("Add", {"x", "v"}, {"y"});
  const auto constant = [&](const std::string& indices) {
    return onnx_node("Constant", {}, {"w"},
                     "attribute { name: 'sparse_value' type: SPARSE_TENSOR sparse_tensor " + sparse(indices) + " }") +
           onnx_ints("to", {3}, {1, 8, 1}) + onnx_node("Reshape", {"w", "to"}, {"v"}) + add;
  };
  const std::vector<float> dense{0, 5, 0, 0, 0, 0, 7, 0};
  const std::string flat = "dims: 2 int64_data: 1 int64_data: 6",
                    pairs = "dims: 2 dims: 2 int64_data: 0 int64_data: 1 int64_data: 1 int64_data: 2";
  EXPECT_EQ(values_of(constant(flat)), dense);
  EXPECT_EQ(values_of(constant(pairs)), dense);
  EXPECT_EQ(values_of("sparse_initializer " + sparse(flat) + onnx_ints("to", {3}, {1, 8, 1}) +
                      onnx_node("Reshape", {"w", "to"}, {"v"}) + add),
            dense);
  EXPECT_TRUE(test::fails(parse_onnx(onnx_bytes(with_x(constant("dims: 2 int64_data: 1 int64_data: 8")))),
                          Errc::bad_input, "has the index 8, which lies outside of its shape 2x4"));
  EXPECT_TRUE(test::fails(parse_onnx(onnx_bytes(with_x(constant("dims: 1 int64_data: 1")))), Errc::bad_input,
                          "needs one index for each of its 2 values"));
  const std::string vast =
      "sparse_initializer { values { name: 'w' data_type: 1 dims: 0 } indices { data_type: 7 dims: "
      "0 } dims: 268435456 }";
  EXPECT_TRUE(test::fails(parse_onnx(onnx_bytes(with_x(vast + onnx_node("Relu", {"x"}, {"y"})))), Errc::unsupported,
                          "store it dense"));
}

TEST(OnnxReader, GemmIgnoresBiasWhenBetaIsZero) {
  for (const std::string beta : {"0", "-0.0"}) {
    const auto graph = parse_onnx(onnx_bytes(
        onnx_value("input", "x", {"1", "3"}) + onnx_value("input", "c", {"1", "2"}) + onnx_floats("w", {3, 2}) +
        onnx_node("Gemm", {"x", "w", "c"}, {"y"}, "attribute { name: 'beta' type: FLOAT f: " + beta + " }") + y_out));
    ASSERT_TRUE(graph.has_value()) << graph.error().what;
    EXPECT_EQ(graph->nodes.at(0).inputs.size(), 2U);
  }
}

TEST(OnnxReader, ListsSupportedOperators) {
  const auto all = supported_operators();
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &SupportedOperator::name));
  const auto gelu = std::ranges::find(all, "Gelu", &SupportedOperator::name);
  ASSERT_NE(gelu, all.end());
  EXPECT_EQ(gelu->oldest, 20);
  EXPECT_EQ(gelu->newest, newest_opset);
  EXPECT_EQ(gelu->limits, "");
  const auto suppression = std::ranges::find(all, "NonMaxSuppression", &SupportedOperator::name);
  ASSERT_NE(suppression, all.end());
  EXPECT_THAT(std::string(suppression->limits), HasSubstr("-1"));
}

TEST(OnnxReader, OutputsKeepTheirNames) {
  const auto graph = parse_onnx(onnx_bytes(with_x(onnx_node("Identity", {"x"}, {"y"}))));
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->tensors[graph->outputs[0]].name, "y");
}

TEST(OnnxReader, AcceptsConstantOutputs) {
  const auto graph = parse_onnx(onnx_bytes(with_x(onnx_node("Shape", {"x"}, {"y"}))));
  ASSERT_TRUE(graph.has_value());
  const auto& y = graph->tensors[graph->outputs[0]];
  EXPECT_THAT(y.integers, testing::ElementsAre(1, 3, 8, 8));
  EXPECT_EQ(y.type, ElementType::int64);
}

TEST(OnnxReader, ConstantArithmeticKeepsElementType) {
  const std::string two = "initializer { name: \"a\" data_type: 6 dims: 1 int32_data: 2 }";
  const auto graph =
      parse_onnx(onnx_bytes(with_x(two + onnx_node("Add", {"a", "a"}, {"b"}) +
                                   onnx_node("Unsqueeze", {"b", "c"}, {"y"}) + onnx_ints("c", {1}, {0}))));
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->tensors[graph->outputs[0]].type, ElementType::int32);
  EXPECT_THAT(graph->tensors[graph->outputs[0]].integers, testing::ElementsAre(4));
}

TEST(OnnxReader, ConstantArithmeticWrapsAround) {
  const auto result = [](const char* type, std::int64_t a, std::int64_t b) {
    const auto graph = parse_onnx(
        onnx_bytes(with_x(onnx_ints("a", {1}, {a}) + onnx_ints("b", {1}, {b}) + onnx_node(type, {"a", "b"}, {"y"}))));
    EXPECT_TRUE(graph.has_value()) << graph.error().what;
    return graph ? graph->tensors[graph->outputs[0]].integers.front() : 0;
  };
  EXPECT_EQ(result("Div", INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(result("Mul", INT64_MAX, INT64_MAX), 1);
  EXPECT_EQ(result("Add", INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(result("Sub", INT64_MIN, 1), INT64_MAX);
}

TEST(OnnxReader, EvaluatesBitwiseOperatorsOnConstants) {
  const auto values = [](const std::string& nodes) {
    const auto graph =
        parse_onnx(onnx_bytes(with_x(onnx_ints("a", {2, 1}, {12, -1}) + onnx_ints("b", {3}, {10, 1, 2}) + nodes), 20));
    EXPECT_TRUE(graph.has_value()) << graph.error().what;
    return graph ? graph->tensors[graph->outputs[0]].integers : Integers();
  };
  const auto two = [&](const char* type, std::string_view attributes = "") {
    return values(onnx_node(type, {"a", "b"}, {"y"}, attributes));
  };
  using testing::ElementsAre;
  EXPECT_THAT(two("BitwiseAnd"), ElementsAre(8, 0, 0, 10, 1, 2));
  EXPECT_THAT(two("BitwiseOr"), ElementsAre(14, 13, 14, -1, -1, -1));
  EXPECT_THAT(two("BitwiseXor"), ElementsAre(6, 13, 14, -11, -2, -3));
  EXPECT_THAT(two("BitShift", onnx_text("direction", "LEFT")), ElementsAre(12288, 24, 48, -1024, -2, -4));
  EXPECT_THAT(two("BitShift", onnx_text("direction", "RIGHT")), ElementsAre(0, 6, 3, -1, -1, -1));
  EXPECT_THAT(values(onnx_node("BitwiseNot", {"a"}, {"y"})), ElementsAre(-13, 0));
}

TEST(OnnxReader, RejectsHugePoolingWindowsWithIndices) {
  const auto pool = parse_onnx(onnx_bytes(with_x(onnx_node(
      "MaxPool", {"x"}, {"z", "y"},
      onnx_attribute("kernel_shape", std::vector<std::int64_t>{32768, 32768}) + onnx_text("auto_pad", "SAME_UPPER")))));
  ASSERT_FALSE(pool);
  EXPECT_THAT(pool.error().what, HasSubstr("more than 268435456 elements"));
}

TEST(OnnxReader, AcceptsUnreadNodeOutputs) {
  EXPECT_TRUE(parse_onnx(onnx_bytes(with_x(onnx_node("Dropout", {"x"}, {"y", "mask"})))).has_value());
}

TEST(OnnxReader, EvaluatesShapeArithmetic) {
  // Reshape to [batch, channels * height, -1], computed as exporters do.
  const auto graph = parse_onnx(onnx_bytes(
      with_x(onnx_ints("zero", {}, {0}) + onnx_ints("one", {1}, {1}) + onnx_ints("three", {1}, {3}) +
             onnx_ints("free", {1}, {-1}) + onnx_ints("axis", {1}, {0}) + onnx_node("Shape", {"x"}, {"s"}) +
             onnx_node("Gather", {"s", "zero"}, {"batch"}) + onnx_node("Unsqueeze", {"batch", "axis"}, {"batch1"}) +
             onnx_node("Slice", {"s", "one", "three"}, {"ch"}) + onnx_node("Gather", {"ch", "zero"}, {"c"}) +
             onnx_node("Mul", {"c", "three"}, {"ch3"}) +
             onnx_node("Concat", {"batch1", "ch3", "free"}, {"shape"}, onnx_attribute("axis", 0)) +
             onnx_node("Reshape", {"x", "shape"}, {"y"}))));
  ASSERT_FALSE(graph.has_value()); // 3 * 3 rows do not divide 192 elements
  EXPECT_THAT(graph.error().what, HasSubstr("1x9x1"));
  const auto good =
      parse_onnx(onnx_bytes(with_x(onnx_node("Shape", {"x"}, {"s"}) + onnx_node("Reshape", {"x", "s"}, {"y"}))));
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good->tensors[good->outputs[0]].shape, (Shape{1, 3, 8, 8}));
}

TEST(OnnxReader, EvaluatesConstantSubgraphsAtLoad) {
  const auto graph =
      parse_onnx(onnx_bytes(with_x(onnx_floats("a", {3, 1, 1}) + onnx_node("Mul", {"a", "a"}, {"b"}) +
                                   onnx_node("Sqrt", {"b"}, {"c"}) + onnx_node("Add", {"x", "c"}, {"y"}))));
  ASSERT_TRUE(graph.has_value());
  ASSERT_EQ(graph->nodes.size(), 1U);
  EXPECT_EQ(graph->tensors[graph->nodes[0].inputs[1]].values, (std::vector<float>{1, 2, 3}));
}

std::string branch(std::string_view name, const std::string& graph, std::string_view output) {
  return "attribute { name: \"" + std::string(name) + "\" type: GRAPH g { " + graph + " output { name: \"" +
         std::string(output) + "\" } } }";
}

TEST(OnnxReader, ReadsOnlyChosenBranch) {
  const auto choice = branch("then_branch", onnx_node("Relu", {"x"}, {"a"}), "a") +
                      branch("else_branch", onnx_node("Det", {"x"}, {"b"}), "b");
  const auto chosen = [&](std::int64_t condition) {
    return parse_onnx(onnx_bytes(with_x(onnx_ints("c", {}, {condition}) + onnx_node("If", {"c"}, {"y"}, choice))));
  };
  const auto graph = chosen(1);
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->tensors[graph->outputs[0]].name, "y");
  const auto refused = chosen(0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().what, HasSubstr("the_Det"));
}

TEST(OnnxReader, TreatsGivenInputsAsConstants) {
  const auto rate = [](const std::string& type, const std::string& shape) {
    return "input { name: 'rate' type { tensor_type { elem_type: " + type + " shape { " + shape + " } } } }";
  };
  const auto choice = branch("then_branch", onnx_node("Relu", {"x"}, {"y1"}), "y1") +
                      branch("else_branch", onnx_node("Neg", {"x"}, {"y2"}), "y2");
  const auto bytes =
      onnx_bytes(with_x(rate("7", "") + onnx_ints("usual", {}, {16000}) + onnx_node("Equal", {"rate", "usual"}, {"c"}) +
                        onnx_node("If", {"c"}, {"y"}, choice)));
  const auto given = [&](const std::map<std::string, std::vector<double>>& constants) {
    return parse_onnx(bytes, "net.onnx", {}, {.shapes = {}, .constants = constants});
  };
  EXPECT_TRUE(
      test::fails(given({}), Errc::unsupported, "if that input is the same in each job, give it by constant ="));
  for (const double value : {16000.0, 8000.0}) {
    const auto graph = given({{"rate", {value}}});
    ASSERT_TRUE(graph.has_value()) << graph.error().what;
    EXPECT_EQ(graph->inputs.size(), 1U);
    ASSERT_FALSE(graph->nodes.empty());
    const auto kind = std::get<Activation>(graph->nodes[0].operation).kind;
    EXPECT_EQ(kind == Activation::Kind::relu, value == 16000);
  }
  const auto refused = [&](const std::map<std::string, std::vector<double>>& constants, const std::string& why) {
    EXPECT_TRUE(test::fails(given(constants), Errc::bad_input, "net.onnx: " + why));
  };
  refused({{"sr", {1}}}, "a constant is given for 'sr', which is not an input; its inputs are: 'x', 'rate'");
  refused({{"rate", {1, 2}}},
          "input 'rate': the constant that is given has 2 numbers, but needs one for all elements, or 1");
  refused({{"rate", {1e30}}}, "input 'rate': the constant that is given is 1e+30, and its type is int64");
  refused({{"rate", {1.5}}}, "input 'rate': the constant that is given is 1.5, and its type is int64");
}

TEST(OnnxReader, ConstantInputTakesOneNumberOrOnePerElement) {
  using Values = std::vector<float>;
  const auto added = [](const std::string& type, const std::vector<double>& values) {
    const auto bytes = onnx_bytes(
        with_x("input { name: 'b' type { tensor_type { elem_type: " + type + " shape { dim { dim_value: 8 } } } } }" +
               onnx_node("Cast", {"b"}, {"f"}, onnx_attribute("to", 1)) + onnx_node("Add", {"x", "f"}, {"y"})));
    const auto graph = parse_onnx(bytes, "net.onnx", {}, {.shapes = {}, .constants = {{"b", values}}});
    return graph ? graph->tensors[graph->nodes.at(0).inputs.at(1)].values : Values{};
  };
  EXPECT_EQ(added("1", {2.5}), Values(8, 2.5F));
  EXPECT_EQ(added("3", {-128, 0, 127, 1, 2, 3, 4, 5}), (Values{-128, 0, 127, 1, 2, 3, 4, 5}));
  EXPECT_EQ(added("9", {1, 0, 1, 0, 0, 0, 1, 1}), (Values{1, 0, 1, 0, 0, 0, 1, 1}));
  for (const double no_byte : {-129.0, 128.0, 0.5}) EXPECT_EQ(added("3", {no_byte}), Values());
  EXPECT_EQ(added("9", {2}), Values()) << "no truth value";
  EXPECT_EQ(added("1", {1, 2, 3}), Values());
}

TEST(OnnxReader, ReportsUnsupportedNodesInAndBehindBranches) {
  const auto choice = branch("then_branch", onnx_node("Det", {"x"}, {"a"}) + onnx_node("Relu", {"a"}, {"b"}), "b") +
                      branch("else_branch", onnx_node("Relu", {"x"}, {"c"}), "c");
  const auto graph =
      parse_onnx(onnx_bytes(with_x(onnx_ints("one", {}, {1}) + onnx_node("If", {"one"}, {"d"}, choice) +
                                   onnx_node("Relu", {"d"}, {"e"}) + onnx_node("Unique", {"x"}, {"y"}))));
  ASSERT_FALSE(graph.has_value());
  EXPECT_THAT(graph.error().what,
              AllOf(HasSubstr("the_Det"), HasSubstr("the_Unique"), HasSubstr("2 nodes that read from them")));
}

// Names in the graph of a node have their own scope.
TEST(OnnxReader, ScopesTensorNamesToBranches) {
  const auto choice = [](int exponent) {
    return branch("then_branch",
                  onnx_floats("c", {1, 3, 1, 1}) + onnx_node("Pow", {"c", "e" + std::to_string(exponent)}, {"d"}), "d");
  };
  const auto graph = parse_onnx(
      onnx_bytes(with_x(onnx_ints("one", {}, {1}) + onnx_ints("e1", {}, {1}) + onnx_ints("e2", {}, {2}) +
                        onnx_node("If", {"one"}, {"a"}, choice(1)) + onnx_node("If", {"one"}, {"b"}, choice(2)) +
                        onnx_node("Add", {"x", "a"}, {"z"}) + onnx_node("Mul", {"z", "b"}, {"y"}))));
  ASSERT_TRUE(graph.has_value()) << graph.error().what;
  ASSERT_EQ(graph->nodes.size(), 2U);
  const auto operand = [&](std::size_t node) { return graph->tensors[graph->nodes[node].inputs[1]].values; };
  EXPECT_EQ(operand(0), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(operand(1), (std::vector<float>{1, 4, 9}));
}

// ---- loops

/// Returns an attribute with a graph that has inputs.
std::string body(const std::vector<std::string>& inputs, const std::string& nodes,
                 const std::vector<std::string>& outputs) {
  std::string text = "attribute { name: 'body' type: GRAPH g { ";
  for (const auto& input : inputs) text += "input { name: '" + input + "' } ";
  text += nodes;
  for (const auto& output : outputs) text += " output { name: '" + output + "' }";
  return text + " } }";
}

/// Returns the results of `rounds`: nodes that write s, computed from a = {1, 2, 3} and others.
Result<std::vector<float>> sums(const std::string& rounds) {
  const auto graph = parse_onnx(onnx_bytes(with_x(
      onnx_floats("a", {3}) + onnx_ints("truth", {}, {1}) + onnx_ints("zero", {}, {0}) + onnx_ints("two", {}, {2}) +
      onnx_ints("three", {}, {3}) + onnx_ints("many", {}, {std::numeric_limits<std::int64_t>::max()}) +
      onnx_ints("flat", {4}, {-1, 1, 1, 1}) + rounds + onnx_node("Reshape", {"s", "flat"}, {"f"}) +
      onnx_node("Concat", {"x", "x"}, {"z"}, onnx_attribute("axis", 0)) + onnx_node("ReduceSum", {"x"}, {"r"}) +
      onnx_node("Mul", {"r", "f"}, {"y"}))));
  if (!graph) return Unexpected(graph.error());
  return graph->tensors[graph->nodes.back().inputs.back()].values;
}

const std::string doubling = onnx_node("Add", {"v", "v"}, {"w"}) +
                             onnx_node("Cast", {"i"}, {"j"}, onnx_attribute("to", 1)) +
                             onnx_node("Mul", {"v", "j"}, {"t"});

TEST(OnnxReader, UnrollsLoops) {
  using testing::ElementsAre;
  const std::vector<std::string> inputs{"i", "go", "v"};
  const auto loop = [&](const std::string& count, const std::string& condition, const std::string& goes_on,
                        const std::vector<std::string>& outputs) {
    const auto within = doubling + goes_on;
    return sums(onnx_node("Loop", {count, condition, "a"}, outputs, body(inputs, within, {"on", "w", "t"})));
  };
  const auto always = onnx_node("Identity", {"go"}, {"on"}), twice = onnx_node("Less", {"i", "three"}, {"on"});
  EXPECT_THAT(*loop("three", "", always, {"s", "all"}), ElementsAre(8, 16, 24));
  EXPECT_THAT(*loop("three", "truth", always, {"last", "s"}), ElementsAre(0, 0, 0, 2, 4, 6, 8, 16, 24)) << "collected";
  EXPECT_THAT(*loop("", "truth", twice, {"s", "all"}), ElementsAre(16, 32, 48)) << "until it is not true";
  EXPECT_THAT(*loop("two", "truth", twice, {"s", "all"}), ElementsAre(4, 8, 12));
  EXPECT_THAT(*loop("zero", "", always, {"s", "all"}), ElementsAre(1, 2, 3));
  EXPECT_THAT(*loop("three", "zero", always, {"s", "all"}), ElementsAre(1, 2, 3));
}

TEST(OnnxReader, RejectsUnboundedOrMalformedLoops) {
  const auto refused = [](const std::vector<std::string>& inputs, const std::string& within,
                          const std::vector<std::string>& outputs, Errc code, const std::string& why) {
    EXPECT_TRUE(test::fails(
        sums(onnx_node("Loop", inputs, {"s", "all"}, body({"i", "go", "v"}, doubling + within, outputs))), code, why));
  };
  const auto always = onnx_node("Identity", {"go"}, {"on"});
  const std::vector<std::string> outputs{"on", "w", "t"};
  refused({"many", "", "a"}, always, outputs, Errc::unsupported, "its unrolled iterations have more than 20000 nodes");
  refused({"three", "", "a"}, onnx_node("ReduceSum", {"x"}, {"u"}) + onnx_node("Greater", {"u", "a"}, {"on"}), outputs,
          Errc::unsupported, "its loop condition");
  refused({"three", "", "a"}, always, {"on", "w"}, Errc::bad_input, "its body has a wrong number of inputs or outputs");
  refused({"three", "", "a", "a"}, always, outputs, Errc::bad_input,
          "its body has a wrong number of inputs or outputs");
  refused({"three", "", "a"}, always + onnx_node("Det", {"v"}, {"d"}), outputs, Errc::unsupported, "the_Det");
}

TEST(OnnxReader, ScanSlicesAxesInBothDirections) {
  using testing::ElementsAre;
  const auto within = onnx_node("Add", {"v", "slice"}, {"w"}) + onnx_node("Identity", {"w"}, {"t"});
  const auto scan = [&](const std::string& more, const std::vector<std::string>& outputs) {
    return sums(onnx_ints("wide", {2}, {1, 3}) + onnx_node("Reshape", {"a", "wide"}, {"b"}) +
                onnx_floats("first", {1}) +
                onnx_node("Scan", {"first", "b"}, outputs,
                          onnx_attribute("num_scan_inputs", 1) +
                              onnx_attribute("scan_input_axes", std::vector<std::int64_t>{-1}) + more +
                              body({"v", "slice"}, within, {"w", "t"})));
  };
  using Ints = std::vector<std::int64_t>;
  EXPECT_THAT(*scan("", {"s", "all"}), ElementsAre(7)) << "1 + 1 + 2 + 3";
  EXPECT_THAT(*scan("", {"last", "s"}), ElementsAre(2, 4, 7));
  EXPECT_THAT(*scan(onnx_attribute("scan_input_directions", Ints{1}), {"last", "s"}), ElementsAre(4, 6, 7));
  EXPECT_THAT(*scan(onnx_attribute("scan_output_directions", Ints{1}) + onnx_attribute("scan_output_axes", Ints{1}),
                    {"last", "s"}),
              ElementsAre(7, 4, 2));
  EXPECT_TRUE(test::fails(scan(onnx_attribute("scan_output_axes", Ints{0, 0}), {"s", "all"}), Errc::bad_input,
                          "must list one axis or direction"));
}

// PyTorch's newer exporter writes the former. It must not cost an additional operation.
TEST(OnnxReader, ReadsReduceMeanOfPlaneAsGlobalAveragePool) {
  const auto pool = parse_onnx(onnx_bytes(with_x(onnx_node("GlobalAveragePool", {"x"}, {"y"}))));
  const auto mean =
      parse_onnx(onnx_bytes(with_x(onnx_ints("a", {2}, {-1, -2}) + onnx_node("ReduceMean", {"x", "a"}, {"y"})), 20));
  ASSERT_TRUE(pool.has_value());
  ASSERT_TRUE(mean.has_value());
  ASSERT_EQ(mean->nodes.size(), 1U);
  const auto &a = std::get<Reduce>(pool->nodes[0].operation), &b = std::get<Reduce>(mean->nodes[0].operation);
  EXPECT_EQ((Shape{a.outer, a.count, a.inner}), (Shape{b.outer, b.count, b.inner}));
  EXPECT_EQ(mean->tensors[mean->outputs[0]].shape, (Shape{1, 3, 1, 1}));
}

TEST(OnnxReader, CropsTransposedConvolutionOnlyWhenNeeded) {
  struct Case {
    std::int64_t kernel, stride, padding, size;
    bool cut;
  };
  for (const auto& [kernel, stride, padding, size, cut] : {Case{3, 2, 1, 15, false},
                                                           {5, 2, 2, 15, false},
                                                           {3, 1, 1, 8, false},
                                                           {2, 2, 0, 16, false},
                                                           {4, 2, 1, 16, true}}) {
    const std::vector<std::int64_t> strides(2, stride), pads(4, padding);
    const auto graph =
        parse_onnx(onnx_bytes(with_x(onnx_floats("w", {3, 4, kernel, kernel}) +
                                     onnx_node("ConvTranspose", {"x", "w"}, {"y"},
                                               onnx_attribute("strides", strides) + onnx_attribute("pads", pads)))));
    ASSERT_TRUE(graph);
    EXPECT_EQ(graph->tensors[graph->outputs.front()].shape, (Shape{1, 4, size, size}));
    const auto views = std::ranges::count_if(
        graph->nodes, [](const Node& node) { return std::holds_alternative<View>(node.operation); });
    EXPECT_EQ(views, (stride > 1) + (cut || size % stride != 0)) << kernel << ", " << stride;
  }
}

TEST(OnnxReader, MeanOverNoAxisKeepsInputName) {
  const auto graph = parse_onnx(
      onnx_bytes(with_x(onnx_node("ReduceMean", {"x"}, {"y"}, onnx_attribute("noop_with_empty_axes", 1))), 18));
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->tensors[graph->inputs[0]].name, "x");
  EXPECT_EQ(graph->tensors[graph->outputs[0]].name, "y");
}

TEST(OnnxReader, IgnoresUnknownFieldsOfNewerFormats) {
  const auto model =
      "ir_version: 11 producer_name: \"pytorch\" opset_import { domain: \"pkg.onnxscript.torch_lib\" version: 1 } "
      "opset_import { version: 20 } graph { " +
      with_x(onnx_node("Relu", {"x"}, {"y"})) + " }";
  auto bytes = onnx_model_bytes(model);
  // Field 100 of ModelProto.
  for (const int unknown : {0xa2, 0x06, 0x02, 0x68, 0x69}) bytes.push_back(static_cast<std::byte>(unknown));
  EXPECT_TRUE(parse_onnx(bytes).has_value());
}

TEST(OnnxReader, RejectsFilesThatAreNoModel) {
  EXPECT_THAT(parse_onnx({}, "f").error().what, HasSubstr("empty"));
  const std::string text = "#!/bin/sh\necho this is no model\n";
  EXPECT_EQ(parse_onnx(std::as_bytes(std::span(text)), "f").error().code, Errc::bad_input);
  EXPECT_THAT(read_onnx("/nonexistent/model.onnx").error().what, HasSubstr("/nonexistent/model.onnx"));
}

TEST(OnnxReader, KeepsNamesInMessagesShortAndPrintable) {
  const std::string hostile = "\\033[2J\\n" + std::string(100'000, 'x');
  const std::string graphs[] = {
      with_x(onnx_node("Relu", {hostile}, {"y"})),
      with_x(onnx_node("Relu", {"x"}, {hostile})),
      with_x("node { name: \"" + hostile + "\" op_type: \"Conv\" input: \"x\" output: \"y\" }"),
      with_x("node { name: \"" + hostile + "\" op_type: \"" + hostile + "\" input: \"x\" output: \"y\" }"),
      with_x("node { op_type: \"Relu\" domain: \"" + hostile + "\" input: \"x\" output: \"y\" }"),
      with_x(onnx_node("Relu", {"x"}, {"y"}, onnx_attribute(hostile, 1))),
      with_x(onnx_node("MaxPool", {"x"}, {"y"}, onnx_text("auto_pad", hostile))),
      onnx_value("input", hostile, {"1", hostile, "8"}) + y_out,
      with_x("initializer { name: \"" + hostile +
             "\" data_location: EXTERNAL data_type: 1 dims: 1 external_data { key: " + "\"location\" value: \"" +
             hostile + "\" } }"),
      x4 + "output { name: \"" + hostile + "\" }\n"};
  for (const std::string& graph : graphs) {
    const auto read = parse_onnx(onnx_bytes(graph), "f");
    ASSERT_FALSE(read) << graph.substr(0, 300);
    const std::string& what = read.error().what;
    EXPECT_LT(what.size(), 1500u);
    EXPECT_EQ(config::printable(what, what.size()), what) << graph.substr(0, 300);
  }
}

// ---- damaged files ----

/// Returns a small valid model with many kinds of nodes.
std::vector<std::byte> sound_model() {
  const std::vector<std::int64_t> three{3, 3}, one{1, 1, 1, 1}, two{2, 2};
  return onnx_bytes(with_x(
      onnx_floats("w", {4, 3, 3, 3}) + onnx_floats("b", {4}) + onnx_floats("v", {4}) + onnx_floats("m", {4, 5}) +
      onnx_ints("s", {2}, {0, -1}) + onnx_ints("from", {1}, {1}) + onnx_ints("to", {1}, {INT64_MAX}) +
      onnx_ints("axes", {1}, {1}) + onnx_ints("p", {8}, {0, 0, 0, 1, 0, 0, 0, 1}) +
      onnx_node("Conv", {"x", "w", "b"}, {"c"},
                onnx_attribute("kernel_shape", three) + onnx_attribute("pads", one) + onnx_attribute("group", 1)) +
      onnx_node("BatchNormalization", {"c", "v", "v", "v", "v"}, {"n"}) + onnx_node("Relu", {"n"}, {"r"}) +
      onnx_node("MaxPool", {"r"}, {"q"},
                onnx_attribute("kernel_shape", two) + onnx_attribute("strides", two) + onnx_attribute("ceil_mode", 1)) +
      onnx_node("Concat", {"q", "q"}, {"k"}, onnx_attribute("axis", 1)) +
      onnx_node("Slice", {"k", "from", "to", "axes"}, {"l"}) + onnx_node("Pad", {"l", "p"}, {"d"}) +
      onnx_node("Transpose", {"d"}, {"t"}, onnx_attribute("perm", std::vector<std::int64_t>{0, 2, 1, 3})) +
      onnx_node("Softmax", {"t"}, {"z"}, onnx_attribute("axis", 1)) + onnx_node("GlobalAveragePool", {"z"}, {"g"}) +
      onnx_node("Shape", {"g"}, {"gs"}) + onnx_node("Reshape", {"g", "s"}, {"f"}) +
      onnx_node("MatMul", {"f", "m"}, {"y"})));
}

/// True if the bytes give a graph that can be simplified and built, or an error with a message.
bool survives(std::span<const std::byte> bytes) {
  auto graph = parse_onnx(bytes);
  if (!graph) {
    EXPECT_FALSE(graph.error().what.empty());
    return false;
  }
  for (const auto& tensor : graph->tensors) EXPECT_LE(element_count(tensor.shape), max_elements);
  std::int64_t largest = 0;
  for (const auto& tensor : graph->tensors) largest = std::max(largest, element_count(tensor.shape));
  optimise(*graph);
  if (largest <= 1 << 20) {
    const auto network = HostNetwork::build(*graph);
    EXPECT_TRUE(network.has_value() || !network.error().what.empty());
  }
  return true;
}

TEST(DamagedOnnx, UndamagedModelIsAccepted) { EXPECT_TRUE(survives(sound_model())); }

TEST(DamagedOnnx, TruncationCausesNoCrash) {
  const auto bytes = sound_model();
  for (std::size_t size = 0; size < bytes.size(); ++size) (void)survives(std::span(bytes).first(size));
}

TEST(DamagedOnnx, RandomBitFlipsCauseNoCrash) {
  const auto sound = sound_model();
  std::mt19937 engine(3);
  std::size_t accepted = 0;
  constexpr std::size_t rounds = 6000;
  for (std::size_t round = 0; round < rounds; ++round) {
    auto bytes = sound;
    for (auto flips = 1 + engine() % 4; flips > 0; --flips)
      bytes[engine() % bytes.size()] ^= static_cast<std::byte>(1U << engine() % 8);
    if (survives(bytes)) ++accepted;
  }
  EXPECT_GT(accepted, 0U); // otherwise only the encoding was tested
  EXPECT_LT(accepted, rounds);
}

TEST(DamagedOnnx, InsertedAndRemovedBytesCauseNoCrash) {
  const auto sound = sound_model();
  std::mt19937 engine(4);
  for (int round = 0; round < 2000; ++round) {
    auto bytes = sound;
    const auto at = static_cast<std::ptrdiff_t>(engine() % bytes.size());
    if (engine() % 2) bytes.insert(bytes.begin() + at, static_cast<std::byte>(engine() % 256));
    else bytes.erase(bytes.begin() + at);
    (void)survives(bytes);
  }
}

} // namespace
} // namespace rtexec::tasks
