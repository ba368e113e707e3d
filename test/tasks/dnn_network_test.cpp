// Tests layout and execution: tensors share memory only if that is safe, small cases match results computed by hand,
// and runs do not allocate.
#include "tasks/engine/host/host_network.hpp"

#include "hal/thread.hpp"
#include "tasks/engine/host/layout.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/make_network.hpp"
#include "test/support/thread_counts.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <set>

namespace rtexec::tasks {
namespace {

Layout layout_of(const Graph& graph) {
  std::vector<std::unique_ptr<Step>> steps;
  for (const auto& node : graph.nodes) steps.push_back(prepare(graph, node));
  return lay_out(graph, steps);
}

TEST(Layout, ReshapeSharesBufferOfItsInput) {
  TestGraph g;
  const auto x = g.conv(g.input({1, 3, 2, 2}), 4);
  const auto flat = g.node(Reshape{}, {x}, {1, 16});
  g.output(flat);
  const auto layout = layout_of(g.graph);
  EXPECT_TRUE(layout.elided[1]);
  EXPECT_EQ(layout.tensors[flat].buffer, layout.tensors[x].buffer);
  EXPECT_EQ(layout.buffers[layout.tensors[x].buffer].last, 3U); // until after the last node
}

TEST(Layout, ElementwiseOverwritesInputThatIsNotReadLater) {
  TestGraph g;
  const auto x = g.conv(g.input({1, 3, 2, 2}), 4);
  const auto y = g.relu(x);
  g.output(y);
  const auto layout = layout_of(g.graph);
  EXPECT_EQ(layout.tensors[y].buffer, layout.tensors[x].buffer);
}

TEST(Layout, ElementwiseKeepsInputThatIsReadLater) {
  TestGraph g;
  const auto x = g.conv(g.input({1, 3, 2, 2}), 4);
  const auto y = g.relu(x);
  g.output(g.conv(y, 2));
  g.output(g.conv(x, 2));
  const auto layout = layout_of(g.graph);
  EXPECT_NE(layout.tensors[y].buffer, layout.tensors[x].buffer);
  const auto before = run(g.graph);
  optimise(g.graph);
  expect_near(run(g.graph), before);
}

TEST(Layout, ElementwiseKeepsReshapedInputThatIsReadLater) {
  TestGraph g;
  const auto x = g.conv(g.input({1, 3, 2, 2}), 4);
  const auto flat = g.node(Reshape{}, {x}, {1, 16});
  const auto y = g.relu(x);
  g.output(g.node(Reshape{}, {y}, {16}));
  g.output(flat);
  const auto layout = layout_of(g.graph);
  EXPECT_NE(layout.tensors[y].buffer, layout.tensors[flat].buffer);
}

TEST(Layout, ConcatenationsAreWrittenInPlace) {
  TestGraph g;
  const auto x = g.input({1, 3, 2, 2});
  const auto a = g.conv(x, 4), b = g.conv(x, 5);
  const auto both = g.concat({a, b});
  g.output(both);
  const auto layout = layout_of(g.graph);
  EXPECT_TRUE(layout.elided[2]);
  EXPECT_EQ(layout.tensors[a].offset, 0U);
  EXPECT_EQ(layout.tensors[b].offset, 4U * 4 * sizeof(float));
  EXPECT_EQ(layout.tensors[a].buffer, layout.tensors[both].buffer);
}

TEST(Layout, ChainsOfConcatenationsShareOneBuffer) { // DenseNet: each layer reads all earlier ones
  TestGraph g;
  std::vector<TensorId> features{g.conv(g.input({1, 3, 2, 2}), 4)};
  std::set<std::uint32_t> buffers;
  std::vector<TensorId> chain;
  for (int i = 0; i < 4; ++i) {
    const auto all = features.size() > 1 ? g.concat(features) : features[0];
    chain.push_back(all);
    features.push_back(g.conv(all, 2));
  }
  chain.push_back(g.concat(features));
  g.output(chain.back());
  const auto layout = layout_of(g.graph);
  for (const auto id : chain) buffers.insert(layout.tensors[id].buffer);
  EXPECT_EQ(buffers.size(), 1U);
  EXPECT_EQ(std::ranges::count(layout.elided, true), 4);
}

TEST(Layout, ConcatenatesTensorsWithSeveralBatches) {
  TestGraph g;
  const auto x = g.input({2, 1, 1, 2});
  g.output(g.concat({g.relu(x), g.node(Activation{Activation::Kind::clip, -1, 2}, {x}, {2, 1, 1, 2})}));
  EXPECT_EQ(run(g.graph, {-3, 1, 2, 5}), (std::vector<float>{0, 1, -1, 1, 2, 5, 2, 2}));
}

TEST(Layout, ConcatenatesRepeatedTensorsAndConstants) {
  TestGraph g;
  const auto x = g.relu(g.input({1, 1, 1, 2}));
  const auto twice = g.concat({x, g.constant({1, 1, 1, 2}, {7, 8}), x});
  g.output(twice);
  g.output(g.concat({x, twice}));
  EXPECT_EQ(run(g.graph, {-1, 2}), (std::vector<float>{0, 2, 7, 8, 0, 2, 0, 2, 0, 2, 7, 8, 0, 2}));
}

TEST(Layout, InPlaceStepNeverOverwritesConcatenation) {
  TestGraph g;
  const auto x = g.input({1, 1, 1, 2});
  const auto a = g.node(Activation{Activation::Kind::clip, -10, 10}, {x}, {1, 1, 1, 2});
  const auto both = g.concat({a, g.relu(x)});
  g.output(g.node(Activation{Activation::Kind::relu}, {both}, {1, 2, 1, 2}));
  g.output(g.node(Activation{Activation::Kind::sqrt}, {g.relu(a)}, {1, 1, 1, 2}));
  EXPECT_EQ(run(g.graph, {-4, 4}), (std::vector<float>{0, 4, 0, 4, 0, 2}));
}

/// Draws graphs of element-wise operations, sums, concatenations and reshapes. Sharing memory must not change the
/// results.
TEST(Layout, RandomGraphsGiveSameResultWithBufferSharing) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 engine(seed);
    TestGraph g;
    std::vector<std::vector<float>> values;
    std::vector<TensorId> ids{g.input({1, 2, 1, 2})};
    const std::vector<float> input{-1, 2, 0.5F, -3};
    values.push_back(input);
    const auto pick = [&] { return engine() % ids.size(); };
    for (int i = 0; i < 14; ++i) {
      const auto a = pick(), b = pick();
      const auto kind = engine() % 4;
      auto result = values[a];
      if (kind == 0) {
        for (auto& v : result) v = std::max(v, 0.0F);
        ids.push_back(g.relu(ids[a]));
      } else if (kind == 1 && values[a].size() == values[b].size()) {
        for (std::size_t k = 0; k < result.size(); ++k) result[k] += values[b][k];
        const auto flat = g.node(Reshape{}, {ids[b]}, g.graph.tensors[ids[a]].shape);
        ids.push_back(g.add(ids[a], flat));
      } else if (kind == 2 && values[a].size() + values[b].size() <= 64) {
        result.insert(result.end(), values[b].begin(), values[b].end());
        ids.push_back(g.concat({ids[a], ids[b]}));
      } else {
        for (auto& v : result) v = std::min(std::max(v, -2.0F), 2.0F);
        ids.push_back(g.node(Activation{Activation::Kind::clip, -2, 2}, {ids[a]}, g.graph.tensors[ids[a]].shape));
      }
      values.push_back(std::move(result));
    }
    std::vector<float> expected;
    for (int i = 0; i < 3; ++i) {
      const auto a = i == 0 ? ids.size() - 1 : pick();
      g.output(ids[a]);
      expected.insert(expected.end(), values[a].begin(), values[a].end());
    }
    EXPECT_EQ(run(g.graph, input), expected) << "seed " << seed;
    optimise(g.graph);
    EXPECT_EQ(run(g.graph, input), expected) << "seed " << seed << ", optimised";
  }
}

TEST(Network, RunsWithoutAllocating) {
  TestGraph g;
  auto x = g.conv(g.input({1, 3, 20, 20}), 32);
  // Winograd.
  x = g.node(Conv{{3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 1}, {x, g.random({32, 32, 3, 3})}, {1, 32, 20, 20});
  x = g.node(Conv{{3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, 1}, {x, g.random({16, 32, 3, 3})}, {1, 16, 10, 10}); // im2col
  x = g.node(Conv{{3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 16}, {x, g.random({16, 1, 3, 3})}, {1, 16, 10, 10}); // direct
  x = g.node(Reduce{Reduce::Kind::mean, 16, 100, 1}, {x}, {1, 16, 1, 1});
  x = g.node(Reshape{}, {x}, {1, 16});
  x = g.node(Gemm{}, {x, g.random({16, 10})}, {1, 10});
  g.output(g.node(Softmax{1, 10, 1}, {x}, {1, 10}));
  auto network = HostNetwork::build(g.graph);
  ASSERT_TRUE(network.has_value());
  const auto scratch = allocate_aligned((*network)->scratch().count);
  (*network)->bind((*network)->constants().data(), scratch.get());
  const auto before = test::allocations();
  EXPECT_TRUE((*network)->run().has_value());
  EXPECT_TRUE((*network)->run().has_value());
  EXPECT_EQ(test::allocations(), before);
}

TEST(Network, ObserverSeesEachLayerInOrder) {
  TestGraph g;
  g.output(g.node(Reshape{}, {g.relu(g.conv(g.input({1, 3, 2, 2}), 4))}, {16}));
  auto network = HostNetwork::build(g.graph);
  ASSERT_TRUE(network.has_value());
  EXPECT_EQ(std::vector<std::string>((*network)->layers().begin(), (*network)->layers().end()),
            (std::vector<std::string>{"node0", "node1"}));
  const auto scratch = allocate_aligned((*network)->scratch().count);
  (*network)->bind((*network)->constants().data(), scratch.get());
  struct Seen {
    std::vector<int> layers;
    std::vector<Instant> at;
    void note(int layer, Instant when) {
      layers.push_back(layer);
      at.push_back(when);
    }
  } seen;
  (*network)->observe({[](void* self, std::uint32_t layer, Instant at) noexcept {
                         static_cast<Seen*>(self)->note(static_cast<int>(layer) + 1, at);
                       },
                       [](void* self, std::uint32_t layer, Instant at) noexcept {
                         static_cast<Seen*>(self)->note(-static_cast<int>(layer) - 1, at);
                       },
                       &seen});
  const auto before = hal::now();
  EXPECT_TRUE((*network)->run().has_value());
  EXPECT_EQ(seen.layers, (std::vector<int>{1, -1, 2, -2}));
  EXPECT_TRUE(std::ranges::is_sorted(seen.at));
  EXPECT_GE(seen.at.front(), before);
  EXPECT_LE(seen.at.back(), hal::now());
}

TEST(Network, AcceptsInputOrConstantAsOutput) {
  TestGraph g;
  const auto x = g.input({2});
  g.output(x);
  g.output(g.constant({2}, {5, 6}));
  g.output(g.relu(x));
  EXPECT_EQ(run(g.graph, {-1, 2}), (std::vector<float>{-1, 2, 5, 6, 0, 2}));
}

TEST(Network, SmallConvolutionMatchesHandCalculation) {
  TestGraph g;
  const auto x = g.input({1, 1, 3, 3});
  const auto weights = g.constant({1, 1, 2, 2}, {1, 2, 3, 4});
  // Stride 2, padded above and to the left: windows at (-1,-1), (-1,1), (1,-1), (1,1).
  g.output(g.node(Conv{{2, 2, 2, 2, 1, 1, 0, 0, 1, 1}, 1}, {x, weights}, {1, 1, 2, 2}));
  EXPECT_EQ(run(g.graph, {1, 2, 3, 4, 5, 6, 7, 8, 9}), (std::vector<float>{4, 18, 36, 77}));
}

TEST(Network, RejectsTuningLinesOnHost) {
  TestGraph g;
  g.output(g.relu(g.input({2})));
  auto network = make_network(g.graph, DeviceKind::host, Precision::tf32);
  ASSERT_TRUE(network.has_value());
  EXPECT_TRUE((*network)->use({}).has_value());
  const auto foreign = (*network)->use(std::vector<std::string>{"conv = own"});
  ASSERT_FALSE(foreign.has_value());
  EXPECT_EQ(foreign.error().code, Errc::bad_input);
}

TEST(Network, RejectsTooMuchScratch) {
  TestGraph g;
  // Eighty outputs of 1 GiB each: more than max_scratch in total, planned but never allocated.
  const auto x = g.input({1, 1, 1, 1});
  for (int i = 0; i < 80; ++i) g.output(g.node(Pad{{0, 0, 0, 0}, 0}, {x}, {1, 1, 1 << 14, 1 << 14}));
  const auto network = HostNetwork::build(g.graph);
  ASSERT_FALSE(network.has_value());
  EXPECT_EQ(network.error().code, Errc::out_of_memory);
}

} // namespace
} // namespace rtexec::tasks
