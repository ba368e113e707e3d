// Tests that a kernel writes only to its output and its workspace.
#include "tasks/engine/host/kernels/aligned.hpp"
#include "tasks/engine/host/kernels/evaluate.hpp"
#include "tasks/engine/host/kernels/step.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <gtest/gtest.h>

namespace rtexec::tasks {
namespace {

constexpr float untouched = 12345.0F;
constexpr std::size_t guard = 64;

/// Floats followed by a guard.
class Guarded {
 public:
  explicit Guarded(std::size_t size) : size_(size), bytes_(allocate_aligned((size + guard) * sizeof(float))) {
    std::fill_n(data(), size + guard, untouched);
  }
  [[nodiscard]] float* data() const { return reinterpret_cast<float*>(bytes_.get()); }
  [[nodiscard]] bool kept() const {
    return std::all_of(data() + size_, data() + size_ + guard, [](float value) { return value == untouched; });
  }

 private:
  std::size_t size_;
  AlignedBytes bytes_;
};

void expect_in_bounds(const Graph& graph, const Node& node) {
  const auto step = prepare(graph, node);
  std::vector<std::vector<float>> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto& tensor = graph.tensors[node.inputs[i]];
    const bool packed = i == 1 && !step->packing().empty();
    inputs.push_back(packed ? step->pack(tensor.values)
                     : tensor.constant()
                         ? tensor.values
                         : std::vector<float>(static_cast<std::size_t>(element_count(tensor.shape)), 0.5F));
  }
  std::vector<const void*> pointers;
  for (const auto& input : inputs) pointers.push_back(input.data());
  const auto& y = graph.tensors[node.output].shape;
  const Guarded output(static_cast<std::size_t>(element_count(y))), workspace(step->workspace());
  step->run({pointers, output.data(), workspace.data()});
  EXPECT_TRUE(output.kept()) << "output of " << to_string(y);
  EXPECT_TRUE(workspace.kept()) << "workspace for an output of " << to_string(y);
}

TEST(HostStep, PacksNarrowMatricesIntoBoundedMemory) {
  for (const std::int64_t columns : {1, 2, 5, 7, 8, 11, 15, 16, 17, 31}) {
    TestGraph g;
    const auto x = g.input({3, 500});
    g.output(g.node(Gemm{}, {x, g.random({500, columns})}, {3, columns}));
    const auto& node = g.graph.nodes.front();
    const auto& weights = g.graph.tensors[node.inputs[1]].values;
    const auto size = static_cast<double>(prepare(g.graph, node)->pack(weights).size());
    EXPECT_LE(size, 2 * static_cast<double>(weights.size()) + 64) << columns << " columns";
    expect_in_bounds(g.graph, node);
  }
}

TEST(ConstantFolding, SkipsNodeWhoseWorkspaceExceedsLimit) {
  TestGraph g;
  const auto y = g.conv(g.random({1, 3, 9, 9}), 1);
  const auto needed = prepare(g.graph, g.graph.nodes.front())->workspace() * sizeof(float);
  ASSERT_GT(needed, 0U);
  EXPECT_FALSE(evaluate(g.graph, g.graph.nodes.front(), needed - 1));
  EXPECT_FALSE(g.graph.tensors[y].constant());
  EXPECT_TRUE(evaluate(g.graph, g.graph.nodes.front(), needed));
  EXPECT_TRUE(g.graph.tensors[y].constant());
}

struct ConvCase {
  std::int64_t in, out, groups, size, kernel, stride, dilation;
};

std::ostream& operator<<(std::ostream& out, const ConvCase& c) {
  return out << c.in << " to " << c.out << " channels in " << c.groups << " groups, " << c.size << " pixels, kernel "
             << c.kernel << ", stride " << c.stride << ", dilation " << c.dilation;
}

TEST(HostStep, ConvolutionStaysWithinItsBuffers) {
  for (const std::int64_t size : {1, 2, 5, 7, 13, 16, 17, 33, 57, 112})
    for (const std::int64_t kernel : {1, 3, 5, 7})
      for (const std::int64_t stride : {1, 2, 3})
        for (const std::int64_t dilation : {1, 2, 12})
          for (const auto& [in, out, groups] : {std::array<std::int64_t, 3>{3, 32, 1},
                                                {3, 5, 1},
                                                {32, 16, 1},
                                                {40, 33, 1},
                                                {12, 12, 12},
                                                {16, 32, 4}}) {
            const ConvCase c{in, out, groups, size, kernel, stride, dilation};
            const auto pad = kernel / 2 * dilation, outputs = (size - 1) / stride + 1;
            TestGraph g;
            Window window{kernel, kernel, stride, stride, pad, pad, pad, pad, dilation, dilation};
            g.output(g.node(Conv{window, groups},
                            {g.input({1, in, size, size}), g.random({out, in / groups, kernel, kernel})},
                            {1, out, outputs, outputs}));
            SCOPED_TRACE(testing::PrintToString(c));
            expect_in_bounds(g.graph, g.graph.nodes.back());
          }
}

TEST(HostStep, PoolingStaysWithinItsBuffers) {
  for (const auto kind : {Pool::Kind::max, Pool::Kind::average})
    for (const std::int64_t size : {1, 3, 7, 15, 16, 17, 35})
      for (const std::int64_t stride : {1, 2, 3}) {
        TestGraph g;
        const auto outputs = (size - 1) / stride + 1;
        g.output(g.node(Pool{kind, Window{3, 3, stride, stride, 1, 1, 1, 1, 1, 1}, false},
                        {g.input({1, 3, size, size})}, {1, 3, outputs, outputs}));
        SCOPED_TRACE(size);
        expect_in_bounds(g.graph, g.graph.nodes.back());
      }
}

} // namespace
} // namespace rtexec::tasks
