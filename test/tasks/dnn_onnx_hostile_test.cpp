// Tests networks that contradict themselves, and small files that would need much memory. They are refused, or run
// within their tensors.
#include "tasks/engine/onnx/onnx_reader.hpp"

#include "tasks/engine/graph/passes.hpp"
#include "test/tasks/dnn_onnx_text.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace rtexec::tasks {
namespace {

constexpr auto lowest = std::numeric_limits<std::int64_t>::min(), highest = std::numeric_limits<std::int64_t>::max();
const std::string y_out = "output { name: \"y\" }\n";

std::string dims(const Shape& shape) {
  std::string text;
  for (const auto size : shape) text += " dims: " + std::to_string(size);
  return text;
}
/// Returns a constant with `value` in each element; `type` as in onnx.TensorProto.DataType.
std::string constant(std::string_view name, int type, const Shape& shape, const std::string& value) {
  std::string text =
      "initializer { name: \"" + std::string(name) + "\" data_type: " + std::to_string(type) + dims(shape);
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    text += (type == 1 ? " float_data: " : " int32_data: ") + value;
  return text + " }\n";
}
std::string input(std::string_view name, const Shape& shape, int type = 1) {
  std::vector<std::string> sizes;
  for (const auto size : shape) sizes.push_back(std::to_string(size));
  return onnx_value("input", name, sizes, type);
}
struct Hostile {
  std::string name;
  std::string graph;                             // must write y
  std::optional<Errc> refused = Errc::bad_input; // nullopt: accepted or refused, but safe
  std::string words = {};
  int opset = 17;
};
void PrintTo(const Hostile& each, std::ostream* to) { *to << each.name; }

class HostileNetworks : public testing::TestWithParam<Hostile> {};

TEST_P(HostileNetworks, AreRejectedOrRunSafely) {
  const auto& each = GetParam();
  auto graph = parse_onnx(onnx_bytes(each.graph + y_out, each.opset), "net.onnx");
  EXPECT_TRUE(!each.refused || !graph) << "accepted";
  if (!graph) {
    EXPECT_EQ(graph.error().code, each.refused.value_or(graph.error().code)) << graph.error().what;
    EXPECT_THAT(graph.error().what, testing::HasSubstr(each.words));
    return;
  }
  optimise(*graph);
  (void)run(*graph);
}

const std::string x44 = input("x", {4, 4}), image = input("x", {1, 4, 2, 2});
const std::string bytes_image = input("x", {1, 1, 4, 4}, 2);
const std::string scale = constant("s", 1, {}, "1"), zero = constant("z", 2, {}, "0");

const Hostile contradictions[] = {
    // invalid sizes
    {"DepthToSpaceBlockSquareOverflows",
     image + onnx_node("DepthToSpace", {"x"}, {"y"}, onnx_attribute("blocksize", std::int64_t{1} << 32))},
    {"FillOverflows", input("x", {1}) + onnx_ints("s", {2}, {5, lowest}) + onnx_node("ConstantOfShape", {"s"}, {"c"}) +
                          onnx_node("Add", {"x", "c"}, {"y"})},
    {"PoolOfNothing", onnx_ints("x", {0, 1, 1}, {}) + onnx_node("GlobalAveragePool", {"x"}, {"y"}), std::nullopt},
    {"PoolOfNoBytes",
     onnx_ints("x", {0, 1, 1}, {}) + constant("s", 1, {}, "1") + constant("z", 2, {}, "0") +
         "node { op_type: \"QLinearGlobalAveragePool\" domain: \"com.microsoft\" input: \"x\" input: \"s\" input: "
         "\"z\" input: \"s\" input: \"z\" output: \"y\" }",
     std::nullopt},
    {"TransformOfNothing", onnx_ints("x", {0, 1}, {}) + onnx_node("DFT", {"x"}, {"y"}), std::nullopt, "", 23},
    {"QLinearConvWithoutAScale",
     bytes_image + constant("w", 2, {1, 1, 1, 1}, "1") + scale + zero +
         onnx_node("QLinearConv", {"x", "", "z", "w", "s", "z", "s", "z"}, {"y"}),
     Errc::bad_input, "scale"},
    {"DepthToSpaceBlockAboveTheChannels",
     image + onnx_node("DepthToSpace", {"x"}, {"y"}, onnx_attribute("blocksize", 4))},
    {"SpaceToDepthBlockSquareOverflows",
     image + onnx_node("SpaceToDepth", {"x"}, {"y"}, onnx_attribute("blocksize", std::int64_t{1} << 32))},
    {"TriluWithoutK", x44 + onnx_ints("k", {0}, {}) + onnx_node("Trilu", {"x", "k"}, {"y"}), Errc::bad_input, "k must"},
    {"TriluWithTwoK", x44 + onnx_ints("k", {2}, {0, 1}) + onnx_node("Trilu", {"x", "k"}, {"y"})},
    {"TopKWithoutK", x44 + onnx_ints("k", {0}, {}) + onnx_node("TopK", {"x", "k"}, {"y"})},
    {"CumSumWithoutAxis", x44 + onnx_ints("a", {0}, {}) + onnx_node("CumSum", {"x", "a"}, {"y"})},
    {"GatherOfNoIndices", x44 + onnx_ints("i", {0}, {}) + onnx_node("Gather", {"x", "i"}, {"y"}), std::nullopt},
    {"TileOverflows", x44 + onnx_ints("r", {2}, {highest, 2}) + onnx_node("Tile", {"x", "r"}, {"y"})},
    {"PadLowest", x44 + onnx_ints("p", {4}, {lowest, 0, 0, lowest}) + onnx_node("Pad", {"x", "p"}, {"y"}),
     Errc::unsupported},
    {"CropLowest", x44 + onnx_ints("s", {2}, {lowest, 4}) + onnx_node("CenterCropPad", {"x", "s"}, {"y"}),
     Errc::unsupported, "", 18},
    {"CropHighest", x44 + onnx_ints("s", {2}, {4, highest}) + onnx_node("CenterCropPad", {"x", "s"}, {"y"}),
     Errc::unsupported, "", 18},
    {"BlocksHighest",
     x44 + constant("s", 1, {1, 4}, "1") +
         onnx_node("DequantizeLinear", {"x", "s"}, {"y"},
                   onnx_attribute("block_size", highest) + onnx_attribute("axis", 0)),
     Errc::bad_input, "blocks", 23},
    {"Col2ImHighest",
     input("x", {1, 4, 4}) + onnx_ints("i", {2}, {highest, 4}) + onnx_ints("b", {2}, {2, 2}) +
         onnx_node("Col2Im", {"x", "i", "b"}, {"y"}),
     Errc::unsupported, "", 18},
    {"DeformConvGroups",
     input("x", {1, 4, 2, 2}) + constant("w", 1, {4, 4, 1, 1}, "1") + input("o", {1, 2, 2, 2}) +
         onnx_node("DeformConv", {"x", "w", "o"}, {"y"}, onnx_attribute("group", std::int64_t{1} << 62)),
     Errc::bad_input, "", 19},
    {"RotationHighest",
     input("x", {1, 2, 4, 8}) + input("c", {1, 4, 4}) +
         onnx_node("RotaryEmbedding", {"x", "c", "c"}, {"y"}, onnx_attribute("rotary_embedding_dim", highest)),
     Errc::bad_input, "", 23},
    {"ResizeRegionOfNaN",
     input("x", {1, 1, 4, 4}) + constant("r", 1, {8}, "nan") + onnx_ints("s", {4}, {1, 1, 3, 3}) +
         onnx_node("Resize", {"x", "r", "", "s"}, {"y"},
                   onnx_text("coordinate_transformation_mode", "tf_crop_and_resize")),
     Errc::unsupported, "region"},
    {"ResizeRegionFar",
     input("x", {1, 1, 4, 4}) + constant("r", 1, {8}, "1e30") + onnx_ints("s", {4}, {1, 1, 3, 3}) +
         onnx_node("Resize", {"x", "r", "", "s"}, {"y"},
                   onnx_text("coordinate_transformation_mode", "tf_crop_and_resize") + onnx_text("mode", "cubic")),
     Errc::unsupported, "region"},
    {"ResizeToNothing",
     input("x", {1, 1, 4, 4}) + "initializer { name: \"s\" data_type: 1 dims: 4 float_data: [1, 1, 1e-30, 1] } " +
         onnx_node("Resize", {"x", "", "s"}, {"y"}, onnx_text("mode", "linear") + onnx_attribute("antialias", 1)),
     std::nullopt, "", 18},
    {"ResizeToNothingBySizes",
     input("x", {1, 1, 4, 4}) + onnx_ints("s", {4}, {1, 1, 0, 4}) +
         onnx_node("Resize", {"x", "", "", "s"}, {"y"}, onnx_text("mode", "cubic") + onnx_attribute("antialias", 1)),
     std::nullopt, "", 18},
    // operands that do not match
    {"ConvIntegerOfScalars", input("x", {}, 2) + input("w", {}, 2) + onnx_node("ConvInteger", {"x", "w"}, {"y"}),
     Errc::unsupported, "no dimension"},
    {"ConvIntegerWeightsOfSixDimensions",
     bytes_image + constant("w", 2, {1, 1, 1, 1, 1, 1}, "1") + onnx_node("ConvInteger", {"x", "w"}, {"y"})},
    {"QLinearConvOfAVector", input("x", {4}, 2) + constant("s3", 1, {3}, "1") + constant("z3", 2, {3}, "0") +
                                 constant("w", 2, {1, 1, 1, 1}, "1") + scale + zero +
                                 onnx_node("QLinearConv", {"x", "s3", "z3", "w", "s", "z", "s", "z"}, {"y"})},
    {"QLinearConvBiasOfAnotherSize",
     bytes_image + constant("w", 2, {1, 1, 1, 1}, "1") + constant("b", 6, {3}, "1") + scale + zero +
         onnx_node("QLinearConv", {"x", "s", "z", "w", "s", "z", "s", "z", "b"}, {"y"})},
    {"MatMulIntegerZeroPoints", input("x", {100, 8}, 2) + constant("w", 2, {8, 8}, "1") + constant("z2", 2, {2}, "0") +
                                    onnx_node("MatMulInteger", {"x", "w", "", "z2"}, {"y"})},
    {"MatMulIntegerDepth",
     input("x", {4, 8}, 2) + constant("w", 2, {7, 8}, "1") + onnx_node("MatMulInteger", {"x", "w"}, {"y"})},
    {"QLinearMatMulScales", input("x", {4, 8}, 2) + constant("w", 2, {8, 8}, "1") + constant("s5", 1, {5}, "1") +
                                scale + zero +
                                onnx_node("QLinearMatMul", {"x", "s", "z", "w", "s5", "z", "s", "z"}, {"y"})},
    {"QLinearAddScales", input("x", {4, 8}, 2) + constant("s5", 1, {5}, "1") + scale + zero +
                             "node { op_type: \"QLinearAdd\" domain: \"com.microsoft\" input: \"x\" input: \"s5\" "
                             "input: \"z\" input: \"x\" "
                             "input: \"s\" input: \"z\" input: \"s\" input: \"z\" output: \"y\" }"},
    {"DequantizeLinearBlocks",
     input("x", {8, 4, 1, 5}) + constant("s", 1, {5, 4, 1, 1}, "1") +
         onnx_node("DequantizeLinear", {"x", "s"}, {"y"}, onnx_attribute("block_size", 3)),
     Errc::bad_input, "blocks", 23},
    {"BatchNormalizationInTraining",
     input("x", {2, 64, 4, 4}) + constant("c", 1, {1}, "1") +
         onnx_node("BatchNormalization", {"x", "c", "c", "c", "c"}, {"y"}, onnx_attribute("training_mode", 1))},
    {"BatchNormalizationOfIntegers",
     input("x", {2, 3, 4}) + onnx_ints("a", {3}, {1, 1, 1}) + onnx_ints("b", {3}, {2, 2, 2}) +
         onnx_ints("c", {3}, {3, 3, 3}) + onnx_ints("d", {3}, {4, 4, 4}) +
         onnx_node("BatchNormalization", {"x", "a", "b", "c", "d"}, {"y"}),
     std::nullopt},
    {"EinsumRepeatsALetter", input("x", {64}) + onnx_node("Einsum", {"x"}, {"y"}, onnx_text("equation", "i->ii")),
     Errc::bad_input, "twice"},
    {"EinsumRepeatsALetterApart",
     input("x", {8, 4}) + onnx_node("Einsum", {"x"}, {"y"}, onnx_text("equation", "ij->jij")), Errc::bad_input,
     "twice"},
    {"AttentionHeadsOfValues",
     input("q", {1, 4, 8, 16}) + input("k", {1, 4, 8, 16}) + input("v", {1, 3, 8, 16}) +
         onnx_node("Attention", {"q", "k", "v"}, {"y"}),
     Errc::bad_input, "", 23},
    {"AttentionBatchOfKeys",
     input("q", {2, 4, 8, 16}) + input("k", {1, 4, 8, 16}) + onnx_node("Attention", {"q", "k", "k"}, {"y"}),
     Errc::bad_input, "", 23},
    {"AttentionPastOfTwoDimensions",
     input("q", {1, 4, 8, 16}) + input("p", {4, 8}) + onnx_node("Attention", {"q", "q", "q", "", "p", "p"}, {"y"}),
     Errc::unsupported, "", 23},
    {"AttentionMaskOfNoDimension",
     input("q", {1, 4, 8, 16}) + input("m", {}) + onnx_node("Attention", {"q", "q", "q", "m"}, {"y"}), Errc::bad_input,
     "mask", 23},
};
INSTANTIATE_TEST_SUITE_P(Contradictions, HostileNetworks, testing::ValuesIn(contradictions),
                         [](const auto& each) { return each.param.name; });

std::string fill(std::string_view name, const Shape& shape) { // a constant of zeros, in few bytes
  return onnx_ints("shape_of_" + std::string(name), {std::ssize(shape)}, shape) +
         onnx_node("ConstantOfShape", {"shape_of_" + std::string(name)}, {std::string(name)});
}
const std::string pixel = input("x", {1, 1, 1, 1}) + constant("w", 1, {1, 1, 1, 1}, "1");
const std::string strides_8192 = onnx_attribute("strides", std::vector<std::int64_t>{8192, 8192});

const Hostile bombs[] = {
    {"OneHot",
     input("i", {1}, 7) + onnx_ints("d", {}, {std::int64_t{1} << 40}) + constant("v", 1, {2}, "1") +
         onnx_node("OneHot", {"i", "d", "v"}, {"y"}),
     Errc::unsupported},
    {"OneHotOfOneIndex",
     input("i", {1}, 7) + onnx_ints("d", {}, {1 << 27}) + constant("v", 1, {2}, "1") +
         onnx_node("OneHot", {"i", "d", "v"}, {"y"}),
     Errc::unsupported, "240 MiB"},
    {"PadAtTheEdge",
     input("x", {1}) + onnx_ints("p", {2}, {1 << 26, 1 << 26}) +
         onnx_node("Pad", {"x", "p"}, {"y"}, onnx_text("mode", "edge")),
     Errc::unsupported, "240 MiB"},
    {"Range",
     input("x", {1}) + onnx_ints("a", {}, {0}) + onnx_ints("b", {}, {1 << 28}) + onnx_ints("c", {}, {1}) +
         onnx_node("Range", {"a", "b", "c"}, {"r"}) + onnx_node("Gather", {"x", "r"}, {"y"}),
     Errc::unsupported, "240 MiB"},
    {"Fill", input("x", {1}) + fill("c", {1 << 27}) + onnx_node("Add", {"x", "c"}, {"y"}), Errc::unsupported,
     "240 MiB"},
    {"ExpandOfAConstant",
     input("x", {1}) + constant("c", 1, {1}, "1") + onnx_ints("s", {1}, {1 << 27}) +
         onnx_node("Expand", {"c", "s"}, {"e"}) + onnx_node("Add", {"x", "e"}, {"y"}),
     Errc::unsupported, "240 MiB"},
    {"TriluMask", input("x", {16384, 16384}) + onnx_node("Trilu", {"x"}, {"y"}), Errc::unsupported, "240 MiB"},
    {"EyeLike", input("x", {16384, 16384}) + onnx_node("EyeLike", {"x"}, {"y"}), Errc::unsupported, "240 MiB"},
    {"PhasesOfATransposedConvolution", pixel + onnx_node("ConvTranspose", {"x", "w"}, {"y"}, strides_8192),
     Errc::unsupported, "240 MiB"},
    {"BitsOfBroadcastLists",
     input("x", {1}) + onnx_ints("a", {8192, 1}, std::vector<std::int64_t>(8192, 1)) +
         onnx_ints("b", {8192}, std::vector<std::int64_t>(8192, 1)) + onnx_node("BitwiseAnd", {"a", "b"}, {"c"}) +
         onnx_node("Gather", {"x", "c"}, {"y"}),
     Errc::unsupported, "240 MiB", 18},
    {"ManyConstantsTogether",
     input("x", {1}) + fill("a", {25 << 20}) + fill("b", {25 << 20}) + fill("c", {25 << 20}) +
         onnx_node("Sum", {"x", "a", "b", "c"}, {"y"}),
     Errc::unsupported, "240 MiB"},
};
INSTANTIATE_TEST_SUITE_P(Bombs, HostileNetworks, testing::ValuesIn(bombs),
                         [](const auto& each) { return each.param.name; });

/// Returns a Loop of `rounds` rounds. Its body consists of these nodes, reads `state`, and writes `next`.
std::string loop(int rounds, const std::string& body) {
  return onnx_ints("rounds", {}, {rounds}) +
         onnx_node("Loop", {"rounds", "", "x"}, {"y"},
                   "attribute { name: \"body\" type: GRAPH g { input { name: \"round\" } input { name: \"goes_on\" } "
                   "input { name: \"state\" } " +
                       body + "output { name: \"goes_on\" } output { name: \"next\" } } }");
}
std::ptrdiff_t constants_of(const Graph& graph, std::size_t elements) {
  return std::ranges::count_if(graph.tensors, [&](const Tensor& each) { return each.values.size() == elements; });
}

TEST(OnnxLoopUnrolling, ComputesLoopInvariantNodesOnce) {
  const auto graph =
      parse_onnx(onnx_bytes(input("x", {1}) + fill("large", {1000}) +
                            loop(50, onnx_node("Exp", {"large"}, {"e"}) +
                                         onnx_node("ReduceSum", {"e"}, {"sum"}, onnx_attribute("keepdims", 0)) +
                                         onnx_node("Add", {"state", "sum"}, {"next"})) +
                            y_out));
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(constants_of(*graph, 1000), 2); // large, e
  EXPECT_EQ(run(*graph, {1}), std::vector<float>{50'001});
}

TEST(OnnxLoopUnrolling, ReadsInitialisersOfInnerGraphsOnce) {
  const std::string branch = "g { initializer { name: \"w\" data_type: 1 dims: 3 float_data: [1, 2, 3] } " +
                             onnx_node("Add", {"state", "w"}, {"sum"}) + "output { name: \"sum\" } } }";
  const auto graph =
      parse_onnx(onnx_bytes(input("x", {3}) + onnx_ints("yes", {}, {1}) +
                            loop(40, onnx_node("If", {"yes"}, {"next"},
                                               "attribute { name: \"then_branch\" type: GRAPH " + branch +
                                                   "attribute { name: \"else_branch\" type: GRAPH " + branch)) +
                            y_out));
  ASSERT_TRUE(graph) << graph.error().what;
  EXPECT_EQ(constants_of(*graph, 3), 2); // one of each branch
  EXPECT_EQ(run(*graph, {1, 1, 1}), (std::vector<float>{41, 81, 121}));
}

TEST(OnnxLoopUnrolling, SharesOnePackedCopyOfWeights) {
  const auto bytes_of_constants = [](int rounds) -> std::size_t {
    const auto graph = parse_onnx(onnx_bytes(
        input("x", {1, 64}) + constant("w", 1, {64, 64}, "0.01") +
        loop(rounds, onnx_node("MatMul", {"state", "w"}, {"product"}) + onnx_node("Tanh", {"product"}, {"next"})) +
        y_out));
    if (!graph) throw std::runtime_error(graph.error().what);
    return HostNetwork::build(*graph).value()->constants().size();
  };
  EXPECT_EQ(bytes_of_constants(100), bytes_of_constants(1));
}

TEST(HostileInputs, NonFiniteRegionsCauseNoUndefinedBehaviour) {
  const auto graph = parse_onnx(onnx_bytes(input("x", {1, 1, 4, 4}) + input("r", {1, 4}) + onnx_ints("i", {1}, {0}) +
                                           onnx_node("RoiAlign", {"x", "r", "i"}, {"y"}) + y_out));
  ASSERT_TRUE(graph) << graph.error().what;
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity(), -1e38F})
    EXPECT_EQ(run(*graph, std::vector<float>(4, value)).size(), 1);
}

} // namespace
} // namespace rtexec::tasks
