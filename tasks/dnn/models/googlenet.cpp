#include "tasks/dnn/models/networks.hpp"

namespace rtexec::tasks {
namespace {

/// Output channels of an inception module's four branches; reduced ones feed the 3x3 convolutions of the middle two.
struct Inception {
  int direct;
  int reduced_a, a;
  int reduced_b, b;
  int pooled;
};

Value conv(GraphWriter& graph, const Value& x, int channels, int kernel, int stride = 1) {
  return graph.relu(graph.batch_norm(graph.conv(x, {channels, kernel, stride})));
}

Value inception(GraphWriter& graph, const Value& x, const Inception& to) {
  return graph.concat({{conv(graph, x, to.direct, 1), conv(graph, conv(graph, x, to.reduced_a, 1), to.a, 3),
                        conv(graph, conv(graph, x, to.reduced_b, 1), to.b, 3),
                        conv(graph, graph.max_pool(x, {3, 1, 1, 1}), to.pooled, 1)}});
}

} // namespace

void googlenet(GraphWriter& graph, NetworkSize size) {
  const auto halve = [&](const Value& x, int kernel) { return graph.max_pool(x, {kernel, 2, 0, 0, true}); };
  Value x = halve(conv(graph, graph.input(3, size.size), 64, 7, 2), 3);
  x = halve(conv(graph, conv(graph, x, 64, 1), 192, 3), 3);
  for (const Inception& module : {Inception{64, 96, 128, 16, 32, 32}, {128, 128, 192, 32, 96, 64}}) x = inception(graph, x, module);
  x = halve(x, 3);
  for (const Inception& module : {Inception{192, 96, 208, 16, 48, 64}, {160, 112, 224, 24, 64, 64}, {128, 128, 256, 24, 64, 64},
                                  {112, 144, 288, 32, 64, 64}, {256, 160, 320, 32, 128, 128}})
    x = inception(graph, x, module);
  x = halve(x, 2);
  for (const Inception& module : {Inception{256, 160, 320, 32, 128, 128}, {384, 192, 384, 48, 128, 128}}) x = inception(graph, x, module);
  finish_classifier(graph, x, size.classes);
}

} // namespace rtexec::tasks
