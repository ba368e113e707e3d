// Tests that operands which do not fit their operation are detected, for every operation.
#include "tasks/engine/graph/validation.hpp"

#include "test/tasks/dnn_test_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::tasks {
namespace {

/// One node with inputs of the given shapes. Inputs from number `constants` on are constants.
struct Case {
  std::string name;
  Operation operation;
  std::vector<Shape> inputs;
  Shape output;
  std::string misfit = {}; // words of the message; empty: all operands fit
  std::size_t constants = 9;
};
void PrintTo(const Case& each, std::ostream* to) { *to << each.name; }

template <class... Operations> bool is_any(const Operation& operation) {
  return (std::holds_alternative<Operations>(operation) || ...);
}

/// Returns the type that the operation expects as its operand number `i`.
ElementType type_of(const Operation& operation, std::size_t i) {
  if (i == 1 && is_any<Gather, GatherElements, GatherND, Scatter>(operation)) return ElementType::int64;
  if (i == 2 && is_any<RoiAlign>(operation)) return ElementType::int64;
  return i == 0 && is_any<Where>(operation) ? ElementType::boolean : ElementType::float32;
}

std::string misfit_of(const Case& each) {
  TestGraph g;
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < each.inputs.size(); ++i)
    inputs.push_back(i < each.constants ? g.input(each.inputs[i], type_of(each.operation, i))
                                        : g.random(each.inputs[i]));
  const auto y = g.node(each.operation, inputs, each.output);
  if (is_any<TopK, NonMaxSuppression>(each.operation)) g.graph.tensors[y].type = ElementType::int64;
  return find_misfit(g.graph, g.graph.nodes.front()).value_or(Misfit{}).text;
}

class Validation : public testing::TestWithParam<Case> {};

TEST_P(Validation, FindsMismatchedOperands) {
  const auto found = misfit_of(GetParam());
  EXPECT_EQ(found.empty(), GetParam().misfit.empty()) << found;
  EXPECT_THAT(found, testing::HasSubstr(GetParam().misfit));
}

constexpr Window three{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
constexpr Window sparse{2, 2, 4, 4, 0, 0, 0, 0, 1, 1};
const Recurrent lstm{.kind = Recurrent::Kind::lstm, .lengths = true, .clip = {}};

const Case cases[] = {
    {"Activation", Activation{}, {{2, 3}}, {2, 3}},
    {"ActivationShape", Activation{}, {{2, 3}}, {3, 2}, "output of 3x2 must have the shape 2x3"},
    {"ActivationOperands", Activation{}, {{2}, {2}}, {2}, "it has 2 operands and needs 1 to 1"},
    {"Binary", Binary{}, {{2, 1}, {3}}, {2, 3}},
    {"BinaryApart", Binary{}, {{2}, {3}}, {3}, "operand 1, 'in1' (3), must be broadcast to 2"},
    {"BinaryOutput", Binary{}, {{2, 1}, {3}}, {3, 2}, "output of 3x2"},
    {"Select", Where{}, {{}, {2}, {3, 1}}, {3, 2}},
    {"SelectOperands", Where{}, {{}, {2}}, {2}, "2 operands and needs 3"},
    {"MultiplyAdd", MultiplyAdd{}, {{2}, {2}, {3}}, {2}, "operand 2"},
    {"Conv", Conv{three, 2}, {{1, 4, 5, 5}, {6, 2, 3, 3}, {6}}, {1, 6, 5, 5}, {}, 1},
    {"ConvChannels", Conv{three}, {{1, 4, 5, 5}, {6, 2, 3, 3}}, {1, 6, 5, 5}, "channels of the weights", 1},
    {"ConvGroups", Conv{three, 0}, {{1, 4, 5, 5}, {6, 2, 3, 3}}, {1, 6, 5, 5}, "among the groups", 1},
    {"ConvWindow", Conv{three}, {{1, 4, 5, 5}, {6, 4, 3, 2}}, {1, 6, 5, 5}, "as large as the window", 1},
    {"ConvOutput", Conv{three}, {{1, 4, 5, 5}, {6, 4, 3, 3}}, {1, 6, 5, 6}, "the shape 1x6x5x5", 1},
    {"ConvBias", Conv{three}, {{1, 4, 5, 5}, {6, 4, 3, 3}, {5}}, {1, 6, 5, 5}, "operand 2", 1},
    {"ConvComputed", Conv{three}, {{1, 4, 5, 5}, {6, 4, 3, 3}}, {1, 6, 5, 5}, "must be a constant"},
    {"ConvRank", Conv{three}, {{4, 5, 5}, {6, 4, 3, 3}}, {1, 6, 5, 5}, "4 dimensions", 1},
    {"Pool", Pool{Pool::Kind::max, three}, {{1, 2, 5, 5}}, {1, 2, 5, 5}},
    {"PoolBehind", Pool{Pool::Kind::max, three}, {{1, 2, 5, 5}}, {1, 2, 7, 5}, "over its input only"},
    {"PoolStride", Pool{Pool::Kind::max, sparse}, {{1, 2, 4, 4}}, {1, 2, 2, 1}, "over its input only"},
    {"PoolPadding", Pool{Pool::Kind::max, {1, 1, 1, 1, 1, 0}}, {{1, 1, 4, 4}}, {1, 1, 4, 4}, "padding only"},
    {"PoolDilation", Pool{Pool::Kind::max, {2, 1, 1, 1, 1, 0, 0, 0, 9}}, {{1, 1, 4, 4}}, {1, 1, 1, 4}, "over its"},
    {"Gemm", Gemm{false, true}, {{2, 3, 4}, {5, 4}, {5}}, {2, 3, 5}},
    {"GemmDepth", Gemm{}, {{3, 4}, {5, 4}}, {3, 4}, "operand 1, 'in1' (5x4), must have 4 rows"},
    {"GemmOutput", Gemm{}, {{3, 4}, {4, 5}}, {3, 4}, "3x5"},
    {"GemmSum", Gemm{}, {{3, 4}, {4, 5}, {4}}, {3, 5}, "operand 2"},
    {"Product", MatMul{}, {{2, 1, 3, 4}, {5, 4, 6}}, {2, 5, 3, 6}},
    {"ProductBatches", MatMul{}, {{2, 3, 4}, {5, 4, 6}}, {5, 3, 6}, "as many matrices"},
    {"ProductVector", MatMul{}, {{4}, {4, 6}}, {6}, "a matrix"},
    {"Attention", Attention{}, {{2, 3, 4}, {2, 5, 4}, {2, 5, 6}, {3, 1}}, {2, 3, 6}},
    {"AttentionHeads", Attention{}, {{2, 3, 4}, {1, 5, 4}, {2, 5, 6}}, {2, 3, 6}, "operand 1"},
    {"AttentionValues", Attention{}, {{2, 3, 4}, {2, 5, 4}, {2, 4, 6}}, {2, 3, 6}, "5 values"},
    {"AttentionMask", Attention{}, {{2, 3, 4}, {2, 5, 4}, {2, 5, 6}, {4}}, {2, 3, 6}, "operand 3"},
    {"ScaleShift", ScaleShift{}, {{2, 3}, {3}, {3}}, {2, 3}, {}, 1},
    {"ScaleShiftChannels", ScaleShift{}, {{2, 3}, {3}, {2}}, {2, 3}, "3 elements", 1},
    {"Softmax", Softmax{2, 3, 4}, {{6, 4}}, {6, 4}},
    {"SoftmaxCount", Softmax{2, 3, 5}, {{6, 4}}, {6, 4}, "2x3x5"},
    {"SoftmaxOverflow", Softmax{std::int64_t{1} << 62, 4, 24}, {{6, 4}}, {6, 4}, "elements"},
    {"Reduce", Reduce{Reduce::Kind::sum, 2, 3, 4}, {{6, 4}}, {8}},
    {"ReduceOutput", Reduce{Reduce::Kind::sum, 2, 3, 4}, {{6, 4}}, {7}, "8 elements"},
    {"CumSum", CumSum{2, 3, 4}, {{6, 4}}, {6, 5}, "24 elements"},
    {"TopK", TopK{2, 3, 4, 2}, {{6, 4}}, {4, 4}},
    {"TopIndicesKept", TopK{2, 3, 4, 4}, {{6, 4}}, {8, 4}, "4 elements that are kept"},
    {"LayerNorm", LayerNorm{2, 3}, {{2, 3}, {3}, {1}}, {2, 3}},
    {"NormaliseScale", LayerNorm{2, 3}, {{2, 3}, {2}}, {2, 3}, "operand 1"},
    {"Lrn", Lrn{}, {{3}}, {3}, "channels"},
    {"Concat", Concat{1}, {{2, 3}, {2, 1}}, {2, 4}},
    {"ConcatOther", Concat{1}, {{2, 3}, {3, 1}}, {2, 4}, "operand 1"},
    {"ConcatRank", Concat{0}, {{2, 3}, {2}}, {4, 3}, "operand 1"},
    {"ConcatNothing", Concat{0}, {}, {1}, "0 operands"},
    {"Reshape", Reshape{}, {{2, 3}}, {6}},
    {"ReshapeCount", Reshape{}, {{2, 3}}, {7}, "6 elements"},
    {"View", View{5, {-3, 1}}, {{2, 3}}, {2, 1}},
    {"ViewBehind", View{1, {3, 1}}, {{2, 3}}, {2, 3}, "all elements"},
    {"ViewBefore", View{0, {-1}}, {{2, 3}}, {2}, "all elements"},
    {"ViewFar", View{0, {std::int64_t{1} << 62, std::int64_t{1} << 62}}, {{2, 3}}, {3, 3}, "all elements"},
    {"ViewRank", View{0, {1}}, {{2, 3}}, {2, 3}, "1 dimensions"},
    {"Gather", GatherConstant{1, {2, 0, 2, 1}}, {{2, 3}}, {2, 4}},
    {"GatherOutside", GatherConstant{1, {3}}, {{2, 3}}, {2, 1}, "indices name"},
    {"GatherNegative", GatherConstant{1, {-1}}, {{2, 3}}, {2, 1}, "indices name"},
    {"GatherAxis", GatherConstant{2, {0}}, {{2, 3}}, {2, 3}, "axis 2"},
    {"Take", Gather{0}, {{2, 3}, {4, 5}}, {4, 5, 3}},
    {"TakeOutput", Gather{0}, {{2, 3}, {4, 5}}, {4, 5, 2}, "60 elements"},
    {"GatherElements", GatherElements{0}, {{2, 3}, {4, 3}}, {4, 3}},
    {"TakeElementsLarger", GatherElements{0}, {{2, 3}, {4, 4}}, {4, 4}, "no larger"},
    {"GatherND", GatherND{1}, {{2, 3, 4}, {2, 5, 1}}, {2, 5, 4}},
    {"TakeSlicesDepth", GatherND{1}, {{2, 3}, {2, 5, 2}}, {2, 5}, "name dimensions"},
    {"TakeSlicesBatch", GatherND{1}, {{2, 3, 4}, {3, 5, 1}}, {3, 5, 4}, "batches"},
    {"Put", Scatter{Scatter::Kind::add, 0}, {{2, 3}, {1, 3}, {1, 3}}, {2, 3}},
    {"PutUpdates", Scatter{Scatter::Kind::add, 0}, {{2, 3}, {1, 3}, {1, 2}}, {2, 3}, "operand 2"},
    {"PutSlices", Scatter{}, {{2, 3}, {4, 1}, {4, 3}}, {2, 3}},
    {"PutSlicesUpdates", Scatter{}, {{2, 3}, {4, 1}, {4, 2}}, {2, 3}, "12 elements"},
    {"Pad", Pad{{1, 0}}, {{2, 3}}, {4, 3}},
    {"PadBehind", Pad{{2, 0}}, {{2, 3}}, {3, 3}, "the padding"},
    {"PadNegative", Pad{{-1, 0}}, {{2, 3}}, {2, 3}, "the padding"},
    {"Resize", Resize{{{0, 1, 0.5F}}, {{0, 0, 0}, {2, 2, 0}}}, {{1, 1, 2, 3}}, {1, 1, 1, 2}},
    {"ResizeTap", Resize{{{0, 2, 0.5F}}, {{0, 0, 0}}}, {{1, 1, 2, 3}}, {1, 1, 1, 1}, "rows and columns"},
    {"Resample", Resample{1, 3, 2, 2, {0, 1, 1, 2}, {1, 0, 1, 0}}, {{3, 2}}, {2, 2}},
    {"ResampleIndex", Resample{1, 3, 2, 1, {3}, {1}}, {{3, 2}}, {1, 2}, "blended"},
    {"GridSample", GridSample{}, {{2, 3, 4, 5}, {2, 6, 7, 2}}, {2, 3, 6, 7}},
    {"GridSampleBatch", GridSample{}, {{2, 3, 4, 5}, {1, 6, 7, 2}}, {2, 3, 6, 7}, "operand 1"},
    {"Deformable",
     DeformableAttention{},
     {{1, 1, 2, 6}, {1, 4, 5, 5}, {1, 2, 3, 2}, {1, 4, 2, 2}, {1, 2, 3, 2}},
     {1, 2, 4}},
    {"DeformableScores", DeformableAttention{}, {{1, 1, 2, 5}, {1, 4, 5, 5}, {1, 2, 3, 2}}, {1, 2, 4}, "6 elements"},
    {"RoiAlign", RoiAlign{}, {{1, 2, 5, 5}, {3, 4}, {3}}, {3, 2, 7, 7}},
    {"RegionAlignImages", RoiAlign{}, {{1, 2, 5, 5}, {3, 4}, {2}}, {3, 2, 7, 7}, "operand 2"},
    {"Suppression", NonMaxSuppression{2}, {{1, 5, 4}, {1, 3, 5}}, {6, 3}},
    {"SuppressionMost", NonMaxSuppression{6}, {{1, 5, 4}, {1, 3, 5}}, {18, 3}, "boxes that are kept"},
    {"Recurrent", lstm, {{2, 3, 16}, {16, 4}, {3, 4}, {3, 4}, {3}}, {3, 3, 4}},
    {"RecurrentGates", lstm, {{2, 3, 12}, {16, 4}, {3, 4}, {3, 4}, {3}}, {3, 3, 4}, "2x3x16"},
    {"RecurrentLengths", lstm, {{2, 3, 16}, {16, 4}, {3, 4}, {3, 4}, {2}}, {3, 3, 4}, "3 elements"},
};
INSTANTIATE_TEST_SUITE_P(Cases, Validation, testing::ValuesIn(cases), [](const auto& each) { return each.param.name; });

TEST(ValidationOfResiduals, RequiresShapeOfOutput) {
  TestGraph g;
  const auto x = g.input({2, 3}), w = g.random({3, 4});
  g.node(Gemm{}, {x, w}, {2, 4});
  auto& node = g.graph.nodes.front();
  node.residual = g.input({2, 4});
  EXPECT_FALSE(find_misfit(g.graph, node));
  node.residual = x;
  EXPECT_THAT(find_misfit(g.graph, node).value_or(Misfit{}).text, testing::HasSubstr("residual"));
}

struct TypeCase {
  std::string name;
  Operation operation;
  std::vector<ElementType> inputs; // of shape [2]
  ElementType output;
  std::string misfit = {}; // words of the message; empty: all types fit
  bool supported_by_onnx = false;
};
void PrintTo(const TypeCase& each, std::ostream* to) { *to << each.name; }

class ValidationOfTypes : public testing::TestWithParam<TypeCase> {};

TEST_P(ValidationOfTypes, FindsMismatchedTypes) {
  const auto& each = GetParam();
  TestGraph g;
  std::vector<TensorId> inputs;
  for (const auto type : each.inputs) inputs.push_back(g.input({2}, type));
  g.graph.tensors[g.node(each.operation, inputs, {2})].type = each.output;
  const auto found = find_misfit(g.graph, g.graph.nodes.front());
  EXPECT_EQ(found.has_value(), !each.misfit.empty());
  EXPECT_THAT(found.value_or(Misfit{}).text, testing::HasSubstr(each.misfit));
  EXPECT_EQ(found.value_or(Misfit{}).supported_by_onnx, each.supported_by_onnx);
}

constexpr auto f32 = ElementType::float32, f16 = ElementType::float16, i8 = ElementType::int8, i64 = ElementType::int64,
               boolean = ElementType::boolean;
constexpr Activation square_root{Activation::Kind::sqrt}, is_zero{Activation::Kind::is_zero};

const TypeCase type_cases[] = {
    {"FloatsOfAnyPrecision", Binary{}, {f32, f16}, f32},
    {"Integers", Binary{}, {i8, i8}, i8},
    {"IntegersOfTwoTypes", Binary{}, {i8, i64}, i8, "different types: int8 and int64"},
    {"IntegersGiveFloats", Binary{}, {i8, i8}, f32, "it gives float32 and computes with int8"},
    {"DivisionOfIntegers", Binary{Binary::Kind::divide}, {i8, i8}, i8, "computes with int8; supported: floats", true},
    {"BitsOfFloats", Binary{Binary::Kind::bit_and}, {f32, f32}, f32, "needs integers"},
    {"Comparison", Binary{Binary::Kind::less}, {i8, i8}, boolean},
    {"ComparisonGivesIntegers", Binary{Binary::Kind::less}, {i8, i8}, i8, "gives booleans"},
    {"RootOfIntegers", square_root, {i8}, i8, "Cast", true},
    {"TruthOfIntegers", is_zero, {i8}, boolean},
    {"Condition", Where{}, {boolean, i8, i8}, i8},
    {"ConditionOfFloats", Where{}, {f32, i8, i8}, i8, "must be of bool"},
    {"Indices", Gather{0}, {i8, i64}, i8},
    {"IndicesOfBytes", Gather{0}, {i8, i8}, i8, "must be of int64"},
    {"UpdatesOfAnotherType", Scatter{{}, 0}, {i8, i64, f32}, i8, "int8 and float32"},
    {"Quantised", Quantise{}, {f32}, i8},
    {"QuantisedIntegers", Quantise{}, {i8}, i8, "Cast", true},
    {"DequantisedFloats", Dequantise{}, {f32}, f32, "needs integers"},
};
INSTANTIATE_TEST_SUITE_P(Cases, ValidationOfTypes, testing::ValuesIn(type_cases),
                         [](const auto& each) { return each.param.name; });

} // namespace
} // namespace rtexec::tasks
