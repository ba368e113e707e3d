#include "tasks/engine/models/networks.hpp"

#include <vector>

namespace rtexec::tasks {
namespace {

constexpr float kBranchGain = 0.125f; // makes residual branches weaker than their shortcut
constexpr float kHeadGain = 0.5f;     // keeps box sizes near the sizes of the anchors

Value conv(GraphWriter& graph, const Value& x, int channels, int kernel, int stride = 1, float gain = 1) {
  return graph.leaky_relu(graph.batch_norm(graph.conv(x, {channels, kernel, stride}), gain));
}

/// Adds the layer that computes the raw tx, ty, tw, th, objectness and class scores of each anchor (darknet's names).
/// The bias of objectness favours "no object", as in a trained network.
Value head(GraphWriter& graph, const Value& x, int classes, int anchors = 3) {
  std::vector<float> bias;
  for (int anchor = 0; anchor < anchors; ++anchor) {
    bias.insert(bias.end(), {0, 0, 0, 0, -0.3f});
    bias.insert(bias.end(), static_cast<std::size_t>(classes), 0.0f);
  }
  return graph.conv(x, {anchors * (5 + classes), 1, 1, 1, kHeadGain}, bias);
}

/// Reduces the channels of `x`, doubles its height and width, and concatenates it with an earlier layer of that height
/// and width.
Value join(GraphWriter& graph, const Value& x, int channels, const Value& earlier) {
  return graph.concat({{graph.upsample(conv(graph, x, channels, 1)), earlier}});
}

/// Adds a convolution that halves height and width, and then `blocks` residual blocks.
Value darknet53_stage(GraphWriter& graph, Value x, int channels, int blocks) {
  x = conv(graph, x, channels, 3, 2);
  for (int i = 0; i < blocks; ++i)
    x = graph.add(conv(graph, conv(graph, x, channels / 2, 1), channels, 3, 1, kBranchGain), x);
  return x;
}

/// Adds five convolutions, from which the head and the next scale branch off.
Value neck(GraphWriter& graph, Value x, int channels) {
  for (int i = 0; i < 2; ++i) x = conv(graph, conv(graph, x, channels, 1), 2 * channels, 3);
  return conv(graph, x, channels, 1);
}

void finish(GraphWriter& graph, std::span<const Value> heads, std::string_view anchors) {
  for (const Value& value : heads) graph.output(value);
  graph.metadata("rtexec.task", "detect");
  graph.metadata("rtexec.anchors", anchors);
}

} // namespace

void yolov2(GraphWriter& graph, NetworkSize size) {
  // Wide 3x3 convolutions alternate with narrow 1x1 convolutions.
  const auto stage = [&](Value x, int channels, int convolutions) {
    for (int i = 0; i < convolutions; ++i)
      x = i % 2 == 0 ? conv(graph, x, channels, 3) : conv(graph, x, channels / 2, 1);
    return x;
  };
  const auto halve = [&](const Value& x) { return graph.max_pool(x, {2, 2}); };
  Value x = halve(stage(graph.input(3, size.size), 32, 1));
  x = halve(stage(x, 64, 1));
  x = halve(stage(x, 128, 3));
  x = halve(stage(x, 256, 3));
  const Value sixteenth = stage(x, 512, 5);
  x = stage(halve(sixteenth), 1024, 5);
  x = conv(graph, conv(graph, x, 1024, 3), 1024, 3);
  x = graph.concat({{graph.reorg(conv(graph, sixteenth, 64, 1)), x}});
  // The original anchors, in cells of 32 pixels.
  finish(graph, {{head(graph, conv(graph, x, 1024, 3), size.classes, 5)}},
         "18.32736,21.67632 59.98272,66.00096 106.82976,175.17888 252.25024,112.88896 312.65664,293.38496");
}

void yolov3_tiny(GraphWriter& graph, NetworkSize size) {
  Value x = graph.input(3, size.size);
  for (const int channels : {16, 32, 64, 128}) x = graph.max_pool(conv(graph, x, channels, 3), {2, 2});
  const Value earlier = conv(graph, x, 256, 3);
  x = conv(graph, graph.max_pool(earlier, {2, 2}), 512, 3);
  x = conv(graph, graph.max_pool(x, {2, 1, 0, 1}), 1024, 3);
  const Value coarse = conv(graph, x, 256, 1);
  const Value fine = join(graph, coarse, 128, earlier);
  finish(
      graph,
      {{head(graph, conv(graph, coarse, 512, 3), size.classes), head(graph, conv(graph, fine, 256, 3), size.classes)}},
      "81,82 135,169 344,319; 10,14 23,27 37,58");
}

void yolov3(GraphWriter& graph, NetworkSize size) {
  Value x = conv(graph, graph.input(3, size.size), 32, 3);
  x = darknet53_stage(graph, x, 64, 1);
  x = darknet53_stage(graph, x, 128, 2);
  const Value eighth = darknet53_stage(graph, x, 256, 8);
  const Value sixteenth = darknet53_stage(graph, eighth, 512, 8);
  const Value coarse = neck(graph, darknet53_stage(graph, sixteenth, 1024, 4), 512);
  const Value middle = neck(graph, join(graph, coarse, 256, sixteenth), 256);
  const Value fine = neck(graph, join(graph, middle, 128, eighth), 128);
  std::vector<Value> heads;
  for (const Value& scale : {coarse, middle, fine})
    heads.push_back(head(graph, conv(graph, scale, 2 * scale.channels, 3), size.classes));
  finish(graph, heads, "116,90 156,198 373,326; 30,61 62,45 59,119; 10,13 16,30 33,23");
}

} // namespace rtexec::tasks
