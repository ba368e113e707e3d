// Tests that the passes change the amount of computation, but never the result.
#include "tasks/engine/graph/passes.hpp"

#include "test/tasks/dnn_test_graph.hpp"

namespace rtexec::tasks {
namespace {

template <class Operation> std::size_t count(const Graph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(
      graph.nodes, [](const Node& node) { return std::holds_alternative<Operation>(node.operation); }));
}

/// Optimises the graph and checks that it computes the same.
void optimise_unseen(TestGraph& g) {
  const auto outputs = run(g.graph);
  optimise(g.graph);
  expect_near(run(g.graph), outputs);
}

void expect_same_after_optimise(TestGraph g, std::size_t nodes) {
  optimise_unseen(g);
  EXPECT_EQ(g.graph.nodes.size(), nodes);
}

TEST(GraphOptimiser, FoldsScaleAfterConvolutionIntoWeights) {
  TestGraph g;
  const auto x = g.input({1, 2, 1, 2});
  const auto conv =
      g.node(Conv{}, {x, g.constant({2, 2, 1, 1}, {1, 2, 3, 4}), g.constant({2}, {10, 20})}, {1, 2, 1, 2});
  g.output(g.node(ScaleShift{}, {conv, g.constant({2}, {2, -1}), g.constant({2}, {0.5F, 1})}, {1, 2, 1, 2}));
  optimise(g.graph);
  ASSERT_EQ(g.graph.nodes.size(), 1U);
  // Channels (1, 2) and (3, 4): 1*1+2*3+10 = 17 -> 34.5, 1*2+2*4+10 = 20 -> 40.5; 3*1+4*3+20 = 35 -> -34, 3*2+4*4+20 =
  // 42 -> -41.
  expect_near(run(g.graph, {1, 2, 3, 4}), {34.5F, 40.5F, -34, -41});
}

TEST(GraphOptimiser, ScalesSharedWeightsForOneReaderOnly) {
  TestGraph g;
  const auto x = g.input({1, 3, 4, 4});
  const auto weights = g.random({3, 3, 1, 1});
  const auto a = g.node(Conv{}, {x, weights}, {1, 3, 4, 4});
  const auto b = g.node(Conv{}, {x, weights}, {1, 3, 4, 4});
  g.output(g.node(ScaleShift{}, {a, g.random({3}), g.random({3})}, {1, 3, 4, 4}));
  g.output(b);
  expect_same_after_optimise(g, 2);
}

TEST(GraphOptimiser, FoldsScaleWithActivationIntoConvolution) {
  TestGraph g;
  const auto conv = g.conv(g.input({1, 3, 4, 4}), 3);
  g.output(g.node(ScaleShift{}, {conv, g.random({3}), g.random({3})}, {1, 3, 4, 4}));
  g.graph.nodes.back().activation = {Activation::Kind::relu};
  expect_same_after_optimise(g, 1);
}

TEST(GraphOptimiser, KeepsScaleWhenConvolutionIsReadElsewhere) {
  TestGraph g;
  const auto conv = g.conv(g.input({1, 3, 4, 4}), 3);
  g.output(g.node(ScaleShift{}, {conv, g.random({3}), g.random({3})}, {1, 3, 4, 4}));
  g.output(conv);
  expect_same_after_optimise(g, 2);
}

TEST(GraphOptimiser, FusesActivationIntoScaleBeforeConvolution) { // DenseNet
  TestGraph g;
  const auto x = g.input({1, 3, 4, 4});
  const auto scaled = g.node(ScaleShift{}, {x, g.random({3}), g.random({3})}, {1, 3, 4, 4});
  g.output(g.conv(g.relu(scaled), 5));
  expect_same_after_optimise(g, 2);
}

TEST(GraphOptimiser, FusesResidualBlockIntoItsConvolutions) {
  TestGraph g;
  const auto x = g.conv(g.input({1, 3, 4, 4}), 4);
  const auto branch = g.conv(g.relu(g.conv(x, 4)), 4);
  g.output(g.relu(g.add(branch, x)));
  expect_same_after_optimise(g, 3);
}

TEST(GraphOptimiser, FusesSumIntoLaterOfTwoConvolutions) {
  for (const bool swapped : {false, true}) {
    TestGraph g;
    const auto x = g.relu(g.input({1, 3, 4, 4}));
    const auto first = g.conv(x, 4), second = g.conv(x, 4);
    g.output(g.relu(swapped ? g.add(second, first) : g.add(first, second)));
    expect_same_after_optimise(g, 3);
  }
}

TEST(GraphOptimiser, HandlesNestedSumsAndSumOfTensorWithItself) {
  TestGraph g;
  const auto x = g.conv(g.input({1, 3, 4, 4}), 4);
  const auto twice = g.add(x, x);
  const auto a = g.conv(twice, 4);
  g.output(g.add(g.add(a, twice), g.conv(a, 4)));
  expect_same_after_optimise(g, 5);
}

TEST(GraphOptimiser, DoesNotFuseBroadcastSumAsResidual) {
  TestGraph g;
  const auto x = g.conv(g.input({1, 3, 4, 4}), 4);
  g.output(g.node(Binary{Binary::Kind::add}, {x, g.random({4, 1, 1})}, {1, 4, 4, 4}));
  expect_same_after_optimise(g, 2);
}

TEST(GraphOptimiser, FusesSumThatFollowsActivation) {
  TestGraph g;
  const auto x = g.relu(g.input({1, 3, 4, 4}));
  g.output(g.add(g.relu(g.conv(x, 3)), x));
  expect_same_after_optimise(g, 2);
}

TEST(GraphOptimiser, FusesFirstOfTwoSumsAndKeepsSecond) {
  TestGraph g;
  const auto x = g.relu(g.input({1, 3, 4, 4}));
  g.output(g.add(g.relu(g.add(g.conv(x, 3), x)), x));
  optimise(g.graph);
  EXPECT_EQ(count<Binary>(g.graph), 1U);
  expect_same_after_optimise(g, 3);
}

TensorId swish(TestGraph& g, TensorId x, bool gate_first = false) {
  const auto& shape = g.graph.tensors[x].shape;
  const auto gate = g.node(Activation{Activation::Kind::sigmoid}, {x}, shape);
  return g.node(Binary{Binary::Kind::multiply}, gate_first ? std::vector{gate, x} : std::vector{x, gate},
                g.graph.tensors[x].shape);
}

TEST(GraphOptimiser, FusesSwishIntoConvolution) {
  for (const bool gate_first : {false, true}) {
    TestGraph g;
    const auto conv = g.conv(g.input({1, 3, 4, 4}), 4);
    const auto scaled = g.node(ScaleShift{}, {conv, g.random({4}), g.random({4})}, {1, 4, 4, 4});
    g.output(swish(g, scaled, gate_first));
    expect_same_after_optimise(g, 1);
  }
}

TEST(GraphOptimiser, KeepsSwishGateThatIsReadElsewhere) {
  TestGraph g;
  const auto x = g.conv(g.input({1, 3, 4, 4}), 4);
  g.output(swish(g, x));
  g.output(g.graph.nodes.back().inputs[1]);
  expect_same_after_optimise(g, 3);
}

TEST(GraphOptimiser, DoesNotFuseGateOfOtherTensor) {
  TestGraph g;
  const auto x = g.conv(g.input({1, 3, 4, 4}), 4);
  const auto gate = g.node(Activation{Activation::Kind::sigmoid}, {g.conv(x, 4)}, {1, 4, 4, 4});
  g.output(g.node(Binary{Binary::Kind::multiply}, {x, gate}, {1, 4, 4, 4}));
  expect_same_after_optimise(g, 3);
}

TEST(GraphOptimiser, KeepsIntermediateOutputs) {
  TestGraph g;
  const auto conv = g.conv(g.input({1, 3, 4, 4}), 4);
  g.output(conv);
  g.output(g.relu(conv));
  expect_same_after_optimise(g, 2);
}

TEST(GraphOptimiser, RemovesUnreadNodes) {
  TestGraph g;
  const auto x = g.input({1, 3, 4, 4});
  (void)g.relu(g.conv(x, 4));
  g.output(g.conv(x, 2));
  optimise(g.graph);
  EXPECT_EQ(g.graph.nodes.size(), 1U);
  EXPECT_EQ(std::ranges::count_if(g.graph.tensors, &Tensor::constant), 1);
}

/// A layer for one token: the permutation of its rows has no effect, and a sum follows.
TEST(GraphOptimiser, FusesSumBehindReshapeAsResidual) {
  TestGraph g;
  const auto x = g.input({1, 3, 4}), rows = g.node(Reshape{}, {x}, {3, 4});
  const auto gemm = g.node(Gemm{}, {rows, g.random({4, 4})}, {3, 4});
  const auto wide = g.node(Reshape{}, {gemm}, {3, 1, 4});
  g.output(g.add(x, g.node(View{0, {4, 4, 1}}, {wide}, {1, 3, 4})));
  optimise_unseen(g);
  EXPECT_EQ(count<Binary>(g.graph), 0U);
  EXPECT_EQ(count<View>(g.graph), 0U);
}

TEST(GraphOptimiser, KeepsSumBehindReshapeThatIsReadElsewhere) {
  TestGraph g;
  const auto x = g.input({3, 4});
  const auto moved = g.node(Reshape{}, {g.node(Gemm{}, {x, g.random({4, 4})}, {3, 4})}, {12});
  g.output(g.add(moved, g.node(Reshape{}, {x}, {12})));
  g.output(moved);
  optimise_unseen(g);
  EXPECT_EQ(count<Binary>(g.graph), 1U);
}

TEST(GraphOptimiser, MergesReorderedSlicesIntoOneGather) {
  TestGraph g;
  const auto x = g.input({2, 5, 3});
  const auto slice = [&](std::int64_t first, std::int64_t count) {
    return g.node(View{first * 3, {15, 3, 1}}, {x}, {2, count, 3});
  };
  g.output(g.concat({slice(3, 2), slice(0, 3)}));
  optimise_unseen(g);
  EXPECT_EQ(count<GatherConstant>(g.graph), 1U);
  EXPECT_EQ(count<Concat>(g.graph), 0U);
}

TEST(GraphOptimiser, RemovesEmptyPad) {
  TestGraph g;
  g.output(g.relu(g.node(Pad{{0, 0}, 7}, {g.input({2, 3})}, {2, 3})));
  g.output(g.relu(g.node(Pad{{0, 0}, 7}, {g.graph.inputs[0]}, {2, 4})));
  optimise_unseen(g);
  EXPECT_EQ(count<Pad>(g.graph), 1U);
}

TensorId scaled(TestGraph& g, TensorId x, float factor, Binary::Kind kind = Binary::Kind::multiply) {
  return g.node(Binary{kind}, {x, g.constant({}, {factor})}, g.graph.tensors[x].shape);
}

TEST(GraphOptimiser, FoldsScalarBehindReshapeIntoLayer) {
  TestGraph g;
  const auto gemm = g.node(Gemm{}, {g.input({3, 4}), g.random({4, 6}), g.random({6})}, {3, 6});
  const auto wide = g.node(Reshape{}, {gemm}, {1, 3, 2, 3});
  const auto turned = g.node(View{0, {18, 3, 6, 1}}, {scaled(g, wide, 0.25F)}, {1, 2, 3, 3});
  g.output(g.relu(scaled(g, turned, 3, Binary::Kind::divide)));
  expect_same_after_optimise(g, 4);
  fold_layer_scales(g.graph);
  EXPECT_EQ(count<Binary>(g.graph), 0U);
}

TEST(GraphOptimiser, FoldsScalarIntoLayerBeforeActivation) {
  TestGraph g;
  g.output(g.relu(scaled(g, g.conv(g.input({1, 3, 4, 4}), 4), -2)));
  expect_same_after_optimise(g, 1);
}

TEST(GraphOptimiser, KeepsScalarWhenLayerOrWeightsAreReadElsewhere) {
  for (const bool layer : {false, true}) {
    TestGraph g;
    const auto x = g.input({3, 4}), weights = g.random({4, 6});
    const auto gemm = g.node(Gemm{}, {x, weights}, {3, 6});
    g.output(scaled(g, g.node(Reshape{}, {gemm}, {18}), 0.25F));
    g.output(layer ? gemm : weights);
    expect_same_after_optimise(g, 3);
  }
}

TEST(GraphOptimiser, KeepsVerySmallScalar) {
  TestGraph g;
  const auto gemm = g.node(Gemm{}, {g.input({3, 4}), g.random({4, 6})}, {3, 6});
  g.output(scaled(g, g.node(Reshape{}, {gemm}, {18}), 1e-6F));
  expect_same_after_optimise(g, 3);
}

TEST(GraphOptimiser, PermutesDimensionsBeforeMergingThem) {
  TestGraph g;
  const auto x = g.relu(g.input({4, 3, 5, 1}));
  const auto merged = g.node(Reshape{}, {x}, {1, 12, 5});
  g.output(g.relu(g.node(View{0, {60, 1, 5}}, {merged}, {1, 5, 12})));
  optimise_unseen(g);
  ASSERT_EQ(g.graph.nodes.size(), 4U);
  EXPECT_EQ(g.graph.tensors[g.graph.nodes[1].output].shape, (Shape{5, 4, 3}));
  EXPECT_TRUE(std::holds_alternative<Reshape>(g.graph.nodes[2].operation));
}

TEST(GraphOptimiser, KeepsReshapeThatSplitsDimensionsBeforeTranspose) {
  TestGraph g;
  const auto x = g.relu(g.input({4, 3, 5}));
  const auto merged = g.node(Reshape{}, {x}, {6, 10});
  g.output(g.relu(g.node(View{0, {1, 10}}, {merged}, {10, 6})));
  expect_same_after_optimise(g, 4);
  simplify_moves(g.graph);
  EXPECT_TRUE(std::holds_alternative<Reshape>(g.graph.nodes[1].operation));
}

/// Returns 12 indices of 40 elements.
TensorId indices(TestGraph& g) {
  const auto top = g.node(TopK{1, 40, 1, 12}, {g.input({40})}, {12});
  g.graph.tensors[top].type = ElementType::int64;
  return top;
}
TensorId pair(TestGraph& g, Binary::Kind kind, TensorId a, TensorId b, ElementType type) {
  const auto y = g.node(Binary{kind}, {a, b}, g.graph.tensors[a].shape);
  g.graph.tensors[y].type = type;
  return y;
}

/// Exporters write division like this: rounded down if the signs differ and there is a remainder.
TEST(GraphOptimiser, RemovesSignChecksFromIndexDivision) {
  using enum Binary::Kind;
  TestGraph g;
  const auto x = indices(g), by = g.integers({}, {7}), zero = g.integers({}, {0}), one = g.integers({}, {1});
  const auto number = [&](Binary::Kind kind, TensorId a, TensorId b) {
    return pair(g, kind, a, b, ElementType::int64);
  };
  const auto truth = [&](Binary::Kind kind, TensorId a, TensorId b) {
    return pair(g, kind, a, b, ElementType::boolean);
  };
  const auto quotient = number(divide_integers, x, by);
  const auto differ = truth(not_equal, truth(less, x, zero), g.integers({}, {0}, ElementType::boolean));
  const auto even = truth(equal, number(modulo, x, by), zero);
  const auto remains = g.node(Activation{Activation::Kind::is_zero}, {even}, {12});
  g.graph.tensors[remains].type = ElementType::boolean;
  const auto below = number(subtract, quotient, one);
  g.output(g.node(Where{}, {truth(minimum, differ, remains), below, quotient}, {12}));
  g.graph.tensors[g.graph.outputs.back()].type = ElementType::int64;
  expect_same_after_optimise(g, 3);
  optimise(g.graph);
  EXPECT_EQ(count<Where>(g.graph), 0U);
}

TEST(GraphOptimiser, FoldsComparisonsOnlyWhenBoundsDecideThem) {
  using enum Binary::Kind;
  for (const auto& [kind, number, known] : {std::tuple{less, 39, false},
                                            {less, 40, true},
                                            {less, 0, true},
                                            {less_or_equal, 0, false},
                                            {less_or_equal, -1, true},
                                            {equal, 39, false},
                                            {equal, 40, true},
                                            {not_equal, 0, false},
                                            {not_equal, -3, true}}) {
    TestGraph g;
    const auto x = indices(g);
    g.output(pair(g, kind, x, g.integers({}, {number}), ElementType::boolean));
    expect_same_after_optimise(g, known ? 0 : 2);
  }
}

TEST(GraphOptimiser, BroadcastsSelectedOperandWhenSelectIsFolded) {
  for (const std::int64_t number : {0, 40}) {
    TestGraph g;
    const auto below = pair(g, Binary::Kind::less, indices(g), g.integers({}, {number}), ElementType::boolean);
    g.output(g.node(Where{}, {below, g.input({1, 1}), g.constant({2, 1}, {3, 4})}, {2, 12}));
    optimise_unseen(g);
    EXPECT_EQ(count<Where>(g.graph), 0U);
    EXPECT_EQ(count<TopK>(g.graph), 0U);
  }
}

TEST(GraphOptimiser, FusesProductAndSum) {
  TestGraph g;
  const auto x = g.input({2, 3, 4, 5});
  const auto product = g.node(Binary{Binary::Kind::multiply}, {x, g.input({3, 1, 1})}, {2, 3, 4, 5});
  const auto scaled = g.node(Activation{Activation::Kind::scale, 0.5F, 0}, {product}, {2, 3, 4, 5});
  g.output(g.relu(g.add(g.input({2, 3, 4, 5}), scaled)));
  expect_same_after_optimise(g, 1);
}

TEST(GraphOptimiser, DoesNotFuseSharedOrBroadcastProductIntoSum) {
  TestGraph g;
  const auto a = g.input({3, 1}), b = g.input({3, 1}), c = g.input({3, 4});
  const auto small = g.node(Binary{Binary::Kind::multiply}, {a, b}, {3, 1});
  g.output(g.node(Binary{}, {small, c}, {3, 4}));
  const auto read = g.node(Binary{Binary::Kind::multiply}, {c, b}, {3, 4});
  g.output(g.node(Binary{}, {read, c}, {3, 4}));
  g.output(read);
  expect_same_after_optimise(g, 4);
}

/// Returns the sum of concatenated samples of two images, multiplied by their shares.
void sum_of_samples(TestGraph& g, TensorId shares) {
  const auto sample = [&](std::int64_t size) {
    return g.node(GridSample{}, {g.input({2, 4, size, size}), g.input({2, 5, 3, 2})}, {2, 4, 5, 3});
  };
  const auto all = g.node(Concat{3}, {sample(4), sample(2)}, {2, 4, 5, 6});
  const auto product = g.node(Binary{Binary::Kind::multiply}, {all, shares}, {2, 4, 5, 6});
  g.output(g.node(Reduce{Reduce::Kind::sum, 40, 6, 1}, {product}, {2, 4, 5, 1}));
}

TEST(GraphOptimiser, FusesWeightedSamplesIntoDeformableAttention) {
  TestGraph g;
  const auto softmax = g.node(Softmax{10, 6, 1}, {g.input({5, 2, 6})}, {5, 2, 6});
  const auto heads_first = g.node(View{0, {6, 12, 1}}, {softmax}, {2, 5, 6});
  sum_of_samples(g, g.node(Reshape{}, {heads_first}, {2, 1, 5, 6}));
  optimise_unseen(g);
  EXPECT_EQ(count<DeformableAttention>(g.graph), 1U);
  EXPECT_EQ(count<Softmax>(g.graph) + count<GridSample>(g.graph) + count<Binary>(g.graph), 0U);
}

TEST(GraphOptimiser, KeepsSamplesWhenTheirWeightsAreReadElsewhere) {
  TestGraph g;
  const auto shares = g.node(Softmax{10, 6, 1}, {g.input({2, 1, 5, 6})}, {2, 1, 5, 6});
  g.output(shares);
  sum_of_samples(g, shares);
  optimise(g.graph);
  EXPECT_EQ(count<DeformableAttention>(g.graph), 0U);
}

} // namespace
} // namespace rtexec::tasks
