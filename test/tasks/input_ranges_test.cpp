// Tests which integers the inputs of a network may hold, derived from the operands that the network indexes with them.
#include "tasks/engine/graph/input_ranges.hpp"

#include <gtest/gtest.h>

namespace rtexec::tasks {
namespace {

/// A graph whose input 0 contains indices. Operands are constants.
struct Indexing {
  Graph graph;
  TensorId input = 0;

  explicit Indexing(Shape shape = {4}, ElementType type = ElementType::int64) {
    input = graph.add({.name = "ids", .shape = std::move(shape), .values = {}, .type = type});
    graph.inputs = {input};
  }
  TensorId constant(Shape shape, std::vector<float> values) {
    return graph.add({.name = "c", .shape = std::move(shape), .values = std::move(values)});
  }
  TensorId table(Shape shape) {
    const auto count = static_cast<std::size_t>(element_count(shape));
    return constant(std::move(shape), std::vector<float>(count, 1.0F));
  }
  TensorId node(Operation operation, std::vector<TensorId> inputs, Shape shape) {
    const TensorId output = graph.add({.name = "y", .shape = std::move(shape), .values = {}});
    graph.nodes.push_back({.name = "n",
                           .operation = std::move(operation),
                           .inputs = std::move(inputs),
                           .output = output,
                           .residual = {},
                           .activation = {}});
    return output;
  }
  void take(TensorId indices, std::int64_t rows) { node(Gather{.axis = 0}, {table({rows, 2}), indices}, {4, 2}); }
  std::optional<InputRange> range() const { return input_ranges(graph).front(); }
};

TEST(InputRanges, MatchIndexedTable) {
  Indexing graph;
  graph.take(graph.input, 100);
  EXPECT_EQ(graph.range(), (InputRange{-100, 99, 0, 99}));
  graph.take(graph.input, 30);
  EXPECT_EQ(graph.range(), (InputRange{-30, 29, 0, 29})) << "the smaller of two tables";
}

TEST(InputRanges, AreAbsentWithoutIndexing) {
  Indexing graph;
  EXPECT_EQ(graph.range(), std::nullopt);
  graph.node(Binary{Binary::Kind::equal}, {graph.input, graph.constant({}, {3})}, {4});
  EXPECT_EQ(graph.range(), std::nullopt);
  Indexing floats({4}, ElementType::float32);
  floats.take(floats.input, 10);
  EXPECT_EQ(floats.range(), std::nullopt);
}

TEST(InputRanges, PropagateThroughReshapesCastsAndAdditions) {
  Indexing graph;
  const TensorId reshaped = graph.node(Reshape{}, {graph.input}, {2, 2});
  const TensorId moved = graph.node(View{.offset = 0, .strides = {1, 2}}, {reshaped}, {2, 2});
  const TensorId cast = graph.node(Cast{}, {moved}, {2, 2});
  const TensorId two =
      graph.graph.add({.name = "two", .shape = {}, .values = {}, .type = ElementType::int64, .integers = {2}});
  const TensorId shifted = graph.node(Binary{Binary::Kind::add}, {cast, two}, {2, 2});
  graph.take(shifted, 50);
  EXPECT_EQ(graph.range(), (InputRange{-52, 47, -2, 47}));
}

TEST(InputRanges, ProductsAndDifferencesRoundInwards) {
  Indexing doubled;
  doubled.take(doubled.node(Activation{Activation::Kind::scale, 2, 1}, {doubled.input}, {4}), 10);
  EXPECT_EQ(doubled.range(), (InputRange{-5, 4, 0, 4}));
  Indexing reversed;
  const TensorId from_the_end =
      reversed.node(Binary{Binary::Kind::subtract}, {reversed.constant({}, {9}), reversed.input}, {4});
  reversed.take(from_the_end, 10);
  EXPECT_EQ(reversed.range(), (InputRange{0, 19, 0, 9}));
}

/// An element that the slice omits may have any value.
TEST(InputRanges, SlicesLimitOnlyNoise) {
  Indexing graph;
  graph.take(graph.node(View{.offset = 1, .strides = {1}}, {graph.input}, {3}), 7);
  const auto range = graph.range();
  ASSERT_TRUE(range);
  EXPECT_LT(range->min, -1000);
  EXPECT_GT(range->max, 1000);
  EXPECT_EQ(range->noise_min, 0);
  EXPECT_EQ(range->noise_max, 6);
}

TEST(InputRanges, NoiseFitsSmallestIndexedDimension) {
  Indexing graph({4, 2});
  graph.node(GatherND{}, {graph.table({5, 8}), graph.input}, {4});
  EXPECT_EQ(graph.range(), (InputRange{-8, 7, 0, 4}));
}

} // namespace
} // namespace rtexec::tasks
