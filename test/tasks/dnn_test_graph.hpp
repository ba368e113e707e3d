// Builds small graphs for tests, and executes them.
#pragma once

#include "tasks/engine/host/kernels/aligned.hpp"
#include "tasks/engine/host/kernels/elements.hpp"
#include "test/tasks/port_values.hpp"
#include "tasks/engine/host/host_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::tasks {

struct TestGraph {
  Graph graph;

  TensorId input(Shape shape, ElementType type = ElementType::float32) {
    const auto id = add("in" + std::to_string(graph.inputs.size()), std::move(shape), {});
    graph.tensors[id].type = type;
    graph.inputs.push_back(id);
    return id;
  }
  TensorId constant(Shape shape, std::vector<float> values) {
    return add("constant", std::move(shape), std::move(values));
  }
  TensorId integers(Shape shape, std::vector<std::int64_t> values, ElementType type = ElementType::int64) {
    const auto id = add("integers", std::move(shape), {});
    graph.tensors[id].integers = Integers(values, type);
    graph.tensors[id].type = type;
    return id;
  }
  TensorId cast(TensorId id, ElementType type) {
    const bool converts = is_integer(type) || is_integer(graph.tensors[id].type);
    const auto y = node(converts ? Operation(Cast{}) : Operation(Reshape{}), {id}, graph.tensors[id].shape);
    graph.tensors[y].type = type;
    return y;
  }
  TensorId random(Shape shape) {
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    for (auto& value : values) value = std::uniform_real_distribution<float>(-1, 1)(engine_);
    return constant(std::move(shape), std::move(values));
  }
  TensorId node(Operation operation, std::vector<TensorId> inputs, Shape shape) {
    const auto name = "node" + std::to_string(graph.nodes.size());
    const auto output = add(name, std::move(shape), {});
    graph.nodes.push_back({name, std::move(operation), std::move(inputs), output, {}, {}});
    return output;
  }
  /// Adds a 1x1 convolution without bias.
  TensorId conv(TensorId x, std::int64_t channels) {
    const auto shape = graph.tensors[x].shape;
    return node(Conv{}, {x, random({channels, shape[1], 1, 1})}, {shape[0], channels, shape[2], shape[3]});
  }
  TensorId relu(TensorId x) { return node(Activation{Activation::Kind::relu}, {x}, graph.tensors[x].shape); }
  TensorId add(TensorId a, TensorId b) { return node(Binary{Binary::Kind::add}, {a, b}, graph.tensors[a].shape); }
  TensorId concat(std::vector<TensorId> inputs) {
    auto shape = graph.tensors[inputs[0]].shape;
    shape[1] = 0;
    for (const auto input : inputs) shape[1] += graph.tensors[input].shape[1];
    return node(Concat{1}, std::move(inputs), std::move(shape));
  }
  void output(TensorId id) { graph.outputs.push_back(id); }
  /// Adds an output of a type other than float32.
  void output(TensorId id, ElementType type) { output(cast(id, type)); }

 private:
  TensorId add(std::string name, Shape shape, std::vector<float> values) {
    graph.tensors.push_back({std::move(name), std::move(shape), std::move(values)});
    return static_cast<TensorId>(graph.tensors.size() - 1);
  }
  std::mt19937 engine_{5};
};

/// Fills each input with `input`. If that is empty, values count up from -8 in steps of 0.25; in integer inputs in
/// steps of 1, for uint8 from 0.
inline void fill_inputs(const Network& network, const std::vector<float>& input) {
  for (const auto& port : network.inputs()) {
    const bool floats = port.type == ElementType::float32 || port.type == ElementType::float16;
    std::vector<float> values(static_cast<std::size_t>(element_count(port.shape)));
    if (!input.empty()) std::ranges::copy(input, values.begin());
    else
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] =
            (port.type == ElementType::uint8 ? 0.0F : -8.0F) + (floats ? 0.25F : 1.0F) * static_cast<float>(i % 64);
    set_elements(port, values);
  }
}

inline std::vector<float> outputs_of(const Network& network) {
  std::vector<float> outputs;
  for (const auto& port : network.outputs()) {
    std::vector<float> values(port.bytes.size() / size_of(port.type));
    kernels::to_floats(values.data(), port.type, port.bytes.data(), values.size());
    outputs.insert(outputs.end(), values.begin(), values.end());
  }
  return outputs;
}

/// Runs a graph on the host device with inputs from fill_inputs(). Returns the outputs, one after the other. Scratch
/// starts as NaN.
inline std::vector<float> run(const Graph& graph, const std::vector<float>& input = {}) {
  auto built = HostNetwork::build(graph);
  EXPECT_TRUE(built.has_value()) << (built ? "" : built.error().what);
  if (!built) return {};
  auto& network = **built;
  const auto scratch = allocate_aligned(network.scratch().count);
  std::memset(scratch.get(), 0xff, network.scratch().count);
  network.bind(network.constants().data(), scratch.get());
  fill_inputs(network, input);
  EXPECT_TRUE(network.run().has_value());
  return outputs_of(network);
}

inline void expect_near(const std::vector<float>& got, const std::vector<float>& expected, float tolerance = 1e-5F) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], tolerance * std::max(1.0F, std::abs(expected[i]))) << "at " << i;
}

} // namespace rtexec::tasks
