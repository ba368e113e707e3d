#include "tasks/engine/models/networks.hpp"

namespace rtexec::tasks {

void lenet5(GraphWriter& graph, NetworkSize size) {
  Value x = graph.input(3, size.size);
  for (const int channels : {6, 16}) {
    const ConvShape shape{.channels = channels, .kernel = 5, .bias = 0.125f, .padded = false};
    x = graph.max_pool(graph.relu(graph.conv(x, shape)), {2, 2});
  }
  x = graph.flatten(x);
  for (const int neurons : {120, 84}) x = graph.relu(graph.linear(x, neurons));
  finish_classifier(graph, graph.linear(x, size.classes));
}

} // namespace rtexec::tasks
