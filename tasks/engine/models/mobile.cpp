// Networks of inverted residual blocks: expansion, depthwise convolution, squeeze-and-excitation, projection.
#include "tasks/engine/models/networks.hpp"

namespace rtexec::tasks {
namespace {

constexpr float kNarrowGain = 0.7f; // for layers without a ReLU, which would halve the variance
constexpr float kBranchGain = 0.5f; // makes residual branches weaker than their shortcut
constexpr float kGateGain = 2;      // compensates the gate's factor of about one half

using Activate = Value (*)(GraphWriter&, const Value&);

Value relu(GraphWriter& graph, const Value& x) { return graph.relu(x); }
Value hard_swish(GraphWriter& graph, const Value& x) { return graph.hard_swish(x); }
Value hard_sigmoid(GraphWriter& graph, const Value& x) { return graph.hard_sigmoid(x); }
Value sigmoid(GraphWriter& graph, const Value& x) { return graph.sigmoid(x); }
Value silu(GraphWriter& graph, const Value& x) { return graph.multiply(x, graph.sigmoid(x)); }

struct Block {
  int kernel;
  int expanded;
  int channels;
  int stride;
  Activate activate;
  int squeezed = 0; // channels of the squeeze-and-excitation; 0: none
};

/// The two activations of squeeze-and-excitation. `inner` follows the first layer, and `outer` computes the gate.
struct Gate {
  Activate inner;
  Activate outer;
};

Value conv(GraphWriter& graph, const Value& x, const ConvShape& shape, Activate activate) {
  return activate(graph, graph.batch_norm(graph.conv(x, shape)));
}

/// Adds a squeeze-and-excitation (Hu et al.: Squeeze-and-Excitation Networks, 2017).
Value squeeze_and_excite(GraphWriter& graph, const Value& x, int squeezed, const Gate& gate) {
  constexpr float bias = 0.125f, gain = 0.25f; // keep the gates near one half
  const Value inner = gate.inner(graph, graph.conv(graph.global_average_pool(x), {.channels = squeezed, .bias = bias}));
  return graph.multiply(x, gate.outer(graph, graph.conv(inner, {.channels = x.channels, .gain = gain, .bias = bias})));
}

Value inverted_residual(GraphWriter& graph, const Value& x, const Block& block, const Gate& gate) {
  Value inner = block.expanded == x.channels ? x : conv(graph, x, {block.expanded, 1}, block.activate);
  inner = conv(graph, inner, {block.expanded, block.kernel, block.stride, block.expanded}, block.activate);
  if (block.squeezed > 0) inner = squeeze_and_excite(graph, inner, block.squeezed, gate);
  const bool residual = block.stride == 1 && block.channels == x.channels;
  const float gain = (block.squeezed > 0 ? kGateGain : 1) * (residual ? kBranchGain : kNarrowGain);
  inner = graph.batch_norm(graph.conv(inner, {block.channels, 1}), gain);
  return residual ? graph.add(inner, x) : inner;
}

} // namespace

void mobilenet_v3(GraphWriter& graph, NetworkSize size) {
  Value x = conv(graph, graph.input(3, size.size), {16, 3, 2}, hard_swish);
  for (const Block& block :
       {Block{3, 16, 16, 1, relu}, Block{3, 64, 24, 2, relu}, Block{3, 72, 24, 1, relu}, Block{5, 72, 40, 2, relu, 24},
        Block{5, 120, 40, 1, relu, 32}, Block{5, 120, 40, 1, relu, 32}, Block{3, 240, 80, 2, hard_swish},
        Block{3, 200, 80, 1, hard_swish}, Block{3, 184, 80, 1, hard_swish}, Block{3, 184, 80, 1, hard_swish},
        Block{3, 480, 112, 1, hard_swish, 120}, Block{3, 672, 112, 1, hard_swish, 168},
        Block{5, 672, 160, 2, hard_swish, 168}, Block{5, 960, 160, 1, hard_swish, 240},
        Block{5, 960, 160, 1, hard_swish, 240}})
    x = inverted_residual(graph, x, block, {relu, hard_sigmoid});
  x = graph.flatten(graph.global_average_pool(conv(graph, x, {960, 1}, hard_swish)));
  finish_classifier(graph, graph.linear(graph.hard_swish(graph.linear(x, 1280)), size.classes));
}

void efficientnet_b0(GraphWriter& graph, NetworkSize size) {
  struct Stage {
    int expansion, kernel, stride, channels, blocks;
  };
  Value x = conv(graph, graph.input(3, size.size), {32, 3, 2}, silu);
  for (const auto& [expansion, kernel, stride, channels, blocks] :
       {Stage{1, 3, 1, 16, 1}, Stage{6, 3, 2, 24, 2}, Stage{6, 5, 2, 40, 2}, Stage{6, 3, 2, 80, 3},
        Stage{6, 5, 1, 112, 3}, Stage{6, 5, 2, 192, 4}, Stage{6, 3, 1, 320, 1}})
    for (int i = 0; i < blocks; ++i)
      x = inverted_residual(graph, x,
                            {kernel, expansion * x.channels, channels, i == 0 ? stride : 1, silu, x.channels / 4},
                            {silu, sigmoid});
  classify(graph, conv(graph, x, {1280, 1}, silu), size.classes);
}

} // namespace rtexec::tasks
