#include "tasks/engine/models/networks.hpp"

#include <array>
#include <span>

namespace rtexec::tasks {
namespace {

/// The output channels of an inception module's four branches. `reduced_a` and `reduced_b` are the output channels of
/// the 1x1 convolutions before the larger convolutions.
struct Inception {
  int direct;
  int reduced_a, a;
  int reduced_b, b;
  int pooled;
};

// The modules at each resolution. The name of each array is the resolution as a fraction of the input's resolution.
constexpr std::array kEighth{Inception{64, 96, 128, 16, 32, 32}, Inception{128, 128, 192, 32, 96, 64}};
constexpr std::array kSixteenth{Inception{192, 96, 208, 16, 48, 64}, Inception{160, 112, 224, 24, 64, 64},
                                Inception{128, 128, 256, 24, 64, 64}, Inception{112, 144, 288, 32, 64, 64},
                                Inception{256, 160, 320, 32, 128, 128}};
constexpr std::array kLast{Inception{256, 160, 320, 32, 128, 128}, Inception{384, 192, 384, 48, 128, 128}};

/// The differences between the two versions of the network.
struct Style {
  Value (*conv)(GraphWriter& graph, const Value& x, const ConvShape& shape);
  int largest_kernel; // largest kernel of an inception module
};

constexpr Style kNormalised{[](GraphWriter& graph, const Value& x, const ConvShape& shape) {
                              return graph.relu(graph.batch_norm(graph.conv(x, shape)));
                            },
                            3};
constexpr Style kOriginal{[](GraphWriter& graph, const Value& x, const ConvShape& shape) {
                            ConvShape biased = shape;
                            biased.bias = 0.125f;
                            return graph.relu(graph.conv(x, biased));
                          },
                          5};

Value inception(GraphWriter& graph, const Value& x, const Inception& to, const Style& style) {
  const auto conv = [&](const Value& from, int channels, int kernel) {
    return style.conv(graph, from, {channels, kernel});
  };
  return graph.concat({{conv(x, to.direct, 1), conv(conv(x, to.reduced_a, 1), to.a, 3),
                        conv(conv(x, to.reduced_b, 1), to.b, style.largest_kernel),
                        conv(graph.max_pool(x, {3, 1, 1, 1}), to.pooled, 1)}});
}

Value inceptions(GraphWriter& graph, Value x, std::span<const Inception> modules, const Style& style) {
  for (const Inception& module : modules) x = inception(graph, x, module, style);
  return x;
}

Value halve(GraphWriter& graph, const Value& x, int kernel = 3) { return graph.max_pool(x, {kernel, 2, 0, 0, true}); }

} // namespace

void googlenet(GraphWriter& graph, NetworkSize size) {
  const Style& style = kNormalised;
  Value x = halve(graph, style.conv(graph, graph.input(3, size.size), {64, 7, 2}));
  x = halve(graph, style.conv(graph, style.conv(graph, x, {64, 1}), {192, 3}));
  x = halve(graph, inceptions(graph, x, kEighth, style));
  x = halve(graph, inceptions(graph, x, kSixteenth, style), 2);
  classify(graph, inceptions(graph, x, kLast, style), size.classes);
}

void detectnet(GraphWriter& graph, NetworkSize size) {
  const Style& style = kOriginal;
  Value x = graph.lrn(halve(graph, style.conv(graph, graph.input(3, size.size), {64, 7, 2})));
  x = halve(graph, graph.lrn(style.conv(graph, style.conv(graph, x, {64, 1}), {192, 3})));
  x = halve(graph, inceptions(graph, x, kEighth, style));
  x = inceptions(graph, inceptions(graph, x, kSixteenth, style), kLast, style);
  const auto head = [&](int channels) { return graph.conv(x, {.channels = channels, .bias = 0.125f}); };
  graph.output(graph.sigmoid(head(size.classes)));
  graph.output(head(4));
}

} // namespace rtexec::tasks
