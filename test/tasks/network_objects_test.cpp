// Tests the memory objects of a network: constants as they are placed in the image, and scratch buffers as planned.
#include "tasks/engine/cuda/cuda_network.hpp"
#include "tasks/engine/make_network.hpp"
#include "tasks/engine/models/models.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "test/tasks/cuda_cases.hpp"
#include "test/tasks/dnn_test_graph.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace rtexec::tasks {
namespace {

constexpr Bytes alignment{256}; // the largest of the back ends

std::vector<MemoryObject> of_class(const std::vector<MemoryObject>& objects, MemoryClass kind) {
  std::vector<MemoryObject> found;
  std::ranges::copy_if(objects, std::back_inserter(found),
                       [&](const MemoryObject& object) { return object.kind == kind; });
  std::ranges::sort(found, {}, &MemoryObject::offset);
  return found;
}

/// Checks that objects follow each other with gaps below the alignment, and reach the end.
void expect_cover(const std::vector<MemoryObject>& objects, Bytes size) {
  Bytes end{0};
  for (const auto& object : objects) {
    EXPECT_GT(object.size, Bytes{0});
    EXPECT_GE(object.offset, end);
    EXPECT_LT(object.offset, end + alignment);
    end = object.offset + object.size;
  }
  EXPECT_LE(end, size);
  EXPECT_LT(size, end + alignment);
}

/// Checks that objects are inside the plan, reach its end, and fit even if no two share memory.
void expect_plan(const std::vector<MemoryObject>& objects, Bytes size) {
  Bytes sum{0}, end{0};
  for (const auto& object : objects) {
    EXPECT_GT(object.size, Bytes{0});
    sum += round_up(object.size, alignment);
    end = std::max(end, object.offset + object.size);
  }
  EXPECT_LE(end, size);
  EXPECT_LT(size, end + alignment);
  EXPECT_GE(sum, size);
}

void expect_objects_of(const Graph& graph, const std::string& name) {
  const auto expect = [&](DeviceKind kind, Precision precision) {
    SCOPED_TRACE(name + (kind == DeviceKind::host ? " on the host" : " on a GPU"));
    const auto network = make_network(graph, kind, precision);
    ASSERT_EQ(test::problem(network), "none");
    const auto demand = (*network)->memory();
    const auto constants = of_class(demand.objects, MemoryClass::constant),
               scratch = of_class(demand.objects, MemoryClass::scratch);
    EXPECT_EQ(constants.size() + scratch.size(), demand.objects.size());
    expect_cover(constants, demand.constant);
    expect_plan(scratch, demand.scratch);
  };
  expect(DeviceKind::host, Precision::fp32);
  for (const auto precision : {Precision::fp32, Precision::tf32, Precision::fp16}) expect(DeviceKind::cuda, precision);
}

TEST(NetworkObjects, CoverMemoryOfEveryOperation) {
  for (const auto& each : gpu_cases()) {
    TestGraph g;
    each.build(g);
    expect_objects_of(g.graph, each.name);
    optimise(g.graph);
    expect_objects_of(g.graph, std::string(each.name) + ", optimised");
  }
}

TEST(NetworkObjects, CoverMemoryOfKnownNetworks) {
  const test::ScratchFolder folder;
  for (const std::string name : {"resnet18", "googlenet", "mobilenet_v3"}) {
    ASSERT_TRUE(write_model(name, {.size = 64}, folder / name));
    auto graph = read_onnx(folder / name);
    ASSERT_EQ(test::problem(graph), "none");
    optimise(*graph);
    expect_objects_of(*graph, name);
  }
}

/// Its objects are weights and bias, the input, and the output of the convolution, which includes the activation.
TEST(NetworkObjects, MatchTensorsOfOneConvolution) {
  TestGraph g;
  const auto x = g.input({1, 3, 5, 5});
  g.output(g.relu(g.node(Conv{}, {x, g.random({4, 3, 1, 1}), g.random({4})}, {1, 4, 5, 5})));
  optimise(g.graph);
  const auto network = HostNetwork::build(g.graph);
  ASSERT_TRUE(network);
  const auto objects = (*network)->objects();
  const auto sizes = [&](MemoryClass kind) {
    std::vector<std::uint64_t> found;
    for (const auto& object : of_class(objects, kind)) found.push_back(object.size.count);
    std::ranges::sort(found);
    return found;
  };
  EXPECT_EQ(sizes(MemoryClass::constant), (std::vector<std::uint64_t>{16, 48}));
  EXPECT_THAT(sizes(MemoryClass::scratch), testing::IsSupersetOf({300U, 400U})) << "x and y, beside a workspace";
}

} // namespace
} // namespace rtexec::tasks
