#include "tasks/engine/models/networks.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace rtexec::tasks {
namespace {

constexpr int kGrowth = 32; // number of channels that each layer adds

/// Adds the batch normalisation and ReLU that precede every convolution.
Value activate(GraphWriter& graph, const Value& x) { return graph.relu(graph.batch_norm(x)); }

Value dense_block(GraphWriter& graph, const Value& x, int layers) {
  std::vector<Value> features{x};
  for (int i = 0; i < layers; ++i) {
    const Value all = features.size() == 1 ? x : graph.concat(features);
    const Value narrow = graph.conv(activate(graph, all), {4 * kGrowth, 1});
    features.push_back(graph.conv(activate(graph, narrow), {kGrowth, 3}));
  }
  return graph.concat(features);
}

} // namespace

void densenet201(GraphWriter& graph, NetworkSize size) {
  constexpr std::array kLayers{6, 12, 48, 32};
  Value x = graph.max_pool(activate(graph, graph.conv(graph.input(3, size.size), {2 * kGrowth, 7, 2})), {3, 2, 1, 1});
  for (std::size_t block = 0; block < kLayers.size(); ++block) {
    if (block > 0) x = graph.average_pool(graph.conv(activate(graph, x), {x.channels / 2, 1}), {2, 2});
    x = dense_block(graph, x, kLayers[block]);
  }
  classify(graph, activate(graph, x), size.classes);
}

} // namespace rtexec::tasks
