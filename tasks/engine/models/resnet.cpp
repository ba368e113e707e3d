#include "tasks/engine/models/networks.hpp"

#include <array>
#include <cstddef>

namespace rtexec::tasks {
namespace {

constexpr float kBranchGain = 0.25f;  // makes residual branches weaker than their shortcut
constexpr float kShortcutGain = 0.7f; // for layers without a ReLU, which would halve the variance

struct Blocks {
  std::array<int, 4> count; // number of blocks in each stage
  bool bottleneck;
  int groups;
  int width; // factor from a stage's channels to the inner channels of its bottlenecks
};

Value conv(GraphWriter& graph, const Value& x, const ConvShape& shape) {
  return graph.relu(graph.batch_norm(graph.conv(x, shape)));
}

Value block(GraphWriter& graph, const Value& x, int channels, int stride, const Blocks& blocks) {
  const int width = channels * blocks.width, out = blocks.bottleneck ? 4 * channels : channels;
  Value branch = blocks.bottleneck ? conv(graph, conv(graph, x, {width, 1}), {width, 3, stride, blocks.groups})
                                   : conv(graph, x, {channels, 3, stride});
  branch = graph.batch_norm(graph.conv(branch, {out, blocks.bottleneck ? 1 : 3}), kBranchGain);
  const bool same = stride == 1 && x.channels == out;
  const Value shortcut = same ? x : graph.batch_norm(graph.conv(x, {out, 1, stride}), kShortcutGain);
  return graph.relu(graph.add(branch, shortcut));
}

void resnet(GraphWriter& graph, NetworkSize size, const Blocks& blocks) {
  Value x = graph.max_pool(conv(graph, graph.input(3, size.size), {64, 7, 2}), {3, 2, 1, 1});
  for (std::size_t stage = 0; stage < blocks.count.size(); ++stage)
    for (int i = 0; i < blocks.count[stage]; ++i) x = block(graph, x, 64 << stage, stage > 0 && i == 0 ? 2 : 1, blocks);
  classify(graph, x, size.classes);
}

} // namespace

void resnet18(GraphWriter& graph, NetworkSize size) { resnet(graph, size, {{2, 2, 2, 2}, false, 1, 1}); }
void resnet50(GraphWriter& graph, NetworkSize size) { resnet(graph, size, {{3, 4, 6, 3}, true, 1, 1}); }
void resnet152(GraphWriter& graph, NetworkSize size) { resnet(graph, size, {{3, 8, 36, 3}, true, 1, 1}); }
void resnext50(GraphWriter& graph, NetworkSize size) { resnet(graph, size, {{3, 4, 6, 3}, true, 32, 2}); }
void resnext101_32x8d(GraphWriter& graph, NetworkSize size) { resnet(graph, size, {{3, 4, 23, 3}, true, 32, 4}); }

void resnext152_32x4d(GraphWriter& graph, NetworkSize size) {
  const auto leaky = [&](const Value& x, const ConvShape& shape) {
    return graph.leaky_relu(graph.batch_norm(graph.conv(x, shape)));
  };
  Value x = graph.max_pool(leaky(graph.input(3, size.size), {64, 7, 2}), {2, 2, 0, 1});
  int width = 64;
  for (const int blocks : {3, 8, 36, 3}) {
    for (int i = 0; i < blocks; ++i) {
      const int stride = i == 0 && width > 64 ? 2 : 1;
      const Value inner = leaky(leaky(x, {width, 1}), {width, 3, stride, 32});
      const Value branch = graph.batch_norm(graph.conv(inner, {8 * width, 1}), kBranchGain);
      if (stride == 2) x = graph.max_pool(x, {1, 2}); // subsampling
      if (i == 0) x = graph.pad_channels(x, 8 * width);
      x = graph.leaky_relu(graph.add(branch, x));
    }
    width *= 2;
  }
  classify(graph, x, size.classes);
}

} // namespace rtexec::tasks
