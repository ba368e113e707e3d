// Small graphs that together contain every operation, every tensor layout, and the patterns of well-known networks. A
// GPU must compute the same results as the host device.
#pragma once

#include "test/tasks/dnn_test_graph.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace rtexec::tasks {

struct GpuCase {
  const char* name;
  void (*build)(TestGraph& g);
};
inline void PrintTo(const GpuCase& each, std::ostream* out) { *out << each.name; }

/// y = conv(x), with a bias.
inline TensorId conv(TestGraph& g, TensorId x, std::int64_t out, std::int64_t kernel, std::int64_t stride = 1,
                     std::int64_t groups = 1, std::int64_t dilation = 1) {
  const auto in = g.graph.tensors[x].shape;
  const auto pad = (kernel - 1) / 2 * dilation;
  const auto side = [&](std::int64_t size) { return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; };
  const Window window{kernel, kernel, stride, stride, pad, pad, pad, pad, dilation, dilation};
  return g.node(Conv{window, groups}, {x, g.random({out, in[1] / groups, kernel, kernel}), g.random({out})},
                {in[0], out, side(in[2]), side(in[3])});
}

inline TensorId activated(TestGraph& g, TensorId x, Activation activation) {
  return g.node(activation, {x}, g.graph.tensors[x].shape);
}

/// Returns a slice of the channels.
inline TensorId slice(TestGraph& g, TensorId x, std::int64_t first, std::int64_t count) {
  auto shape = g.graph.tensors[x].shape;
  View view{first * shape[2] * shape[3], dense_strides(shape)};
  shape[1] = count;
  return g.node(std::move(view), {x}, shape);
}

inline TensorId reshape(TestGraph& g, TensorId x, Shape shape) { return g.node(Reshape{}, {x}, std::move(shape)); }

/// [n, groups * c, h, w] -> [n, c * groups, h, w], the channel shuffle of ShuffleNet.
inline TensorId shuffle(TestGraph& g, TensorId x, std::int64_t groups) {
  const auto s = g.graph.tensors[x].shape;
  const auto c = s[1] / groups, plane = s[2] * s[3];
  const auto split = reshape(g, x, {s[0], groups, c, s[2], s[3]});
  const auto turned =
      g.node(View{0, {s[1] * plane, plane, c * plane, s[3], 1}}, {split}, {s[0], c, groups, s[2], s[3]});
  return reshape(g, turned, s);
}

inline TensorId pool(TestGraph& g, TensorId x, Pool::Kind kind, Window window, std::int64_t out,
                     bool count_padding = false) {
  const auto s = g.graph.tensors[x].shape;
  return g.node(Pool{kind, window, count_padding}, {x}, {s[0], s[1], out, out});
}

/// Adds layers of LSTM. Each has the states of the previous one, [steps, batch, width], as its input.
inline TensorId fused_lstm(TestGraph& g, TensorId x, const std::vector<std::int64_t>& widths) {
  using enum Activation::Kind;
  for (const auto width : widths) {
    const auto from = g.graph.tensors[x].shape;
    const auto rows = from[0] * from[1];
    const auto flat = g.node(Gemm{false, true, 0.3F, 1},
                             {reshape(g, x, {rows, from[2]}), g.random({4 * width, from[2]}), g.random({4 * width})},
                             {rows, 4 * width});
    const auto y =
        g.node(Recurrent{Recurrent::Kind::lstm, false, false, false, false, {}, {{{sigmoid}, {tanh}, {tanh}}}},
               {reshape(g, flat, {from[0], from[1], 4 * width}), g.random({4 * width, width}),
                g.random({from[1], width}), g.random({from[1], width})},
               {from[0] + 1, from[1], width});
    x = g.node(View{0, {from[1] * width, width, 1}}, {y}, {from[0], from[1], width});
  }
  return x;
}

inline const std::vector<GpuCase>& gpu_cases() {
  using Kind = Activation::Kind;
  static const std::vector<GpuCase> cases{
      {"typed_inputs", // all but the first are not images
       [](TestGraph& g) {
         const auto real = [&](Shape shape, ElementType type) {
           return g.cast(g.input(std::move(shape), type), ElementType::float32);
         };
         auto y = real({1, 3, 5, 7}, ElementType::uint8);
         for (const auto type : {ElementType::int32, ElementType::int64, ElementType::float16})
           y = g.add(y, reshape(g, real({105}, type), {1, 3, 5, 7}));
         g.output(y);
       }},
      {"typed_outputs", // exact in half precision, so that all devices round alike
       [](TestGraph& g) {
         const auto x = g.input({1, 4, 3, 11});
         const auto y = g.node(Binary{Binary::Kind::multiply}, {x, g.constant({1}, {0.5F})}, {1, 4, 3, 11});
         for (const auto type : {ElementType::uint8, ElementType::int32, ElementType::int64, ElementType::float16})
           g.output(y, type);
       }},
      {"conv_1x1",
       [](TestGraph& g) {
         g.output(conv(g, g.input({1, 16, 6, 6}), 24, 1));
       }},
      {"conv_3x3_odd_channels",
       [](TestGraph& g) {
         g.output(conv(g, conv(g, g.input({1, 3, 9, 7}), 5, 3), 7, 3, 2));
       }},
      {"conv_without_bias",
       [](TestGraph& g) {
         g.output(g.conv(g.input({1, 3, 4, 4}), 8));
       }},
      {"conv_grouped",
       [](TestGraph& g) {
         g.output(conv(g, conv(g, g.input({2, 8, 6, 6}), 32, 3, 1, 4), 24, 3, 2, 2));
       }},
      {"conv_dilated_batch",
       [](TestGraph& g) {
         g.output(conv(g, g.input({3, 4, 8, 8}), 8, 3, 1, 1, 2));
       }},
      {"conv_depthwise",
       [](TestGraph& g) {
         g.output(conv(g, conv(g, conv(g, g.input({1, 4, 8, 8}), 12, 1), 12, 3, 1, 12), 24, 5, 2, 12));
       }},
      {"conv_uneven_padding",
       [](TestGraph& g) {
         g.output(g.node(Conv{{2, 3, 2, 1, 1, 0, 0, 2, 1, 1}, 1},
                         {g.input({1, 4, 5, 5}), g.random({8, 4, 2, 3}), g.random({8})}, {1, 8, 3, 5}));
       }},
      {"conv_side_by_side", // with and without a bias; each operation that supports it reads a part
       [](TestGraph& g) {
         const auto x = conv(g, g.input({2, 3, 6, 6}), 11, 1);
         const auto a = g.relu(conv(g, x, 8, 3)), b = g.relu(conv(g, x, 16, 3));
         const auto c =
             g.relu(g.node(Conv{{3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 1}, {x, g.random({16, 11, 3, 3})}, {2, 16, 6, 6}));
         const auto sum = g.add(conv(g, a, 16, 1), c);
         const auto small = pool(g, b, Pool::Kind::max, {2, 2, 2, 2, 0, 0, 0, 0, 1, 1}, 3);
         g.output(g.concat({sum, activated(g, c, {Kind::sigmoid, 0, 0}), g.add(b, c)}));
         g.output(conv(g, small, 5, 3, 1));
         g.output(conv(g, b, 16, 3, 1, 16));
       }},
      {"conv_side_by_side_and_added",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 3, 7, 5}), 9, 1);
         const auto a = activated(g, conv(g, x, 8, 1), {Kind::swish, 0, 0});
         const auto b = activated(g, conv(g, x, 16, 1), {Kind::swish, 0, 0});
         g.output(g.add(activated(g, conv(g, a, 16, 3), {Kind::swish, 0, 0}), b));
       }},
      {"conv_residual_and_activation",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 4, 6, 6}), 16, 1);
         g.output(g.relu(g.add(conv(g, x, 16, 3), x)));
       }},
      {"conv_activations",
       [](TestGraph& g) {
         auto x = g.input({1, 4, 5, 5});
         for (const auto& activation :
              {Activation{Kind::leaky_relu, 0.1F, 0}, Activation{Kind::sigmoid, 0, 0},
               Activation{Kind::hard_sigmoid, 0.2F, 0.5F}, Activation{Kind::hard_swish, 0, 0},
               Activation{Kind::clip, -1, 2}, Activation{Kind::tanh, 0, 0}, Activation{Kind::swish, 0, 0}})
           x = activated(g, conv(g, x, 8, 1), activation);
         g.output(x);
       }},
      {"activations_alone",
       [](TestGraph& g) {
         const auto x = g.input({1, 6, 3, 3});
         g.output(activated(g, x, {Kind::relu, 0, 0}));
         g.output(activated(g, x, {Kind::exp, 0, 0}));
         g.output(activated(g, activated(g, x, {Kind::sigmoid, 0, 0}), {Kind::sqrt, 0, 0}));
         g.output(activated(g, g.input({7}), {Kind::tanh, 0, 0}));
         g.output(activated(g, g.input({2, 3, 5}), {Kind::hard_swish, 0, 0}));
         g.output(activated(g, g.input({2, 3, 5}), {Kind::swish, 0, 0}));
         g.output(activated(g, g.input({}), {Kind::relu, 0, 0}));
       }},
      {"scale_shift",
       [](TestGraph& g) {
         const auto shift = [&](TensorId x) {
           return g.node(ScaleShift{}, {x, g.random({6}), g.random({6})}, g.graph.tensors[x].shape);
         };
         g.output(g.relu(shift(g.input({2, 6, 3, 5}))));
         g.output(shift(g.input({2, 6})));
         g.output(shift(g.input({2, 6, 7})));
         g.output(shift(g.input({2, 6, 2, 3, 2})));
       }},
      {"pool_max",
       [](TestGraph& g) {
         g.output(pool(g, g.input({2, 5, 9, 9}), Pool::Kind::max, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, 5));
       }},
      {"pool_max_ceil_dilated",
       [](TestGraph& g) {
         g.output(pool(g, g.input({1, 8, 8, 8}), Pool::Kind::max, {3, 3, 2, 2, 0, 0, 0, 0, 1, 1}, 4));
         g.output(pool(g, g.input({1, 8, 9, 9}), Pool::Kind::max, {3, 3, 1, 1, 2, 2, 2, 2, 2, 2}, 9));
       }},
      {"pool_average",
       [](TestGraph& g) {
         const auto x = g.input({1, 6, 7, 7});
         g.output(pool(g, x, Pool::Kind::average, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 7, true));
         g.output(pool(g, x, Pool::Kind::average, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, 4, false));
         g.output(pool(g, x, Pool::Kind::average, {2, 2, 2, 2, 0, 0, 0, 0, 1, 1}, 4, true));
       }},
      {"means",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({2, 4, 20, 20}), 12, 1);
         g.output(g.node(Reduce{Reduce::Kind::mean, 24, 400, 1}, {x}, {2, 12, 1, 1}));
         g.output(g.node(Reduce{Reduce::Kind::mean, 24, 400, 1}, {x}, {2, 12}));
         g.output(g.node(Reduce{Reduce::Kind::mean, 2, 12, 400}, {x}, {2, 1, 20, 20}));
         g.output(g.node(Reduce{Reduce::Kind::mean, 48, 10, 20}, {x}, {48, 20}));
         g.output(g.node(Reduce{Reduce::Kind::mean, 1, 9600, 1}, {x}, {}));
       }},
      {"softmax",
       [](TestGraph& g) {
         g.output(g.node(Softmax{2, 10, 1}, {g.input({2, 10})}, {2, 10}));
         g.output(g.node(Softmax{2, 6, 9}, {g.input({2, 6, 3, 3})}, {2, 6, 3, 3}));
         g.output(g.node(Softmax{1, 54, 1}, {g.input({1, 6, 3, 3})}, {1, 6, 3, 3}));
         g.output(g.node(Softmax{3, 18, 2}, {g.input({2, 9, 3, 2})}, {2, 9, 3, 2}));
       }},
      {"lrn",
       [](TestGraph& g) {
         g.output(g.node(Lrn{5, 1e-2F, 0.75F, 2}, {g.input({1, 9, 4, 4})}, {1, 9, 4, 4}));
       }},
      {"gemm_with_constant",
       [](TestGraph& g) {
         const auto x = g.input({3, 10});
         auto y = g.node(Gemm{false, true, 0.5F, 2.0F}, {x, g.random({6, 10}), g.random({6})}, {3, 6});
         y = g.relu(g.node(Gemm{false, false, 1, 1}, {y, g.random({6, 9}), g.random({1})}, {3, 9}));
         g.output(g.node(Gemm{false, false, 1, 1}, {y, g.random({9, 4})}, {3, 4}));
       }},
      {"gemm_many_rows",
       [](TestGraph& g) {
         g.output(g.node(Gemm{false, false, 1, 1}, {g.input({40, 7}), g.random({7, 5}), g.random({1, 5})}, {40, 5}));
       }},
      {"gemm_of_two_results",
       [](TestGraph& g) {
         const auto a = g.input({4, 6}), b = g.input({6, 5});
         g.output(g.node(Gemm{false, false, 1, 1}, {a, b}, {4, 5}));
         g.output(g.node(Gemm{true, true, 2, 0.5F}, {b, a, g.random({5, 1})}, {5, 4}));
         const auto c = g.input({4, 5});
         g.output(g.relu(g.add(g.node(Gemm{false, false, 1, 1}, {a, b, g.random({4, 5})}, {4, 5}), c)));
       }},
      {"binaries",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 4, 3, 5}), 6, 1), y = conv(g, g.input({1, 4, 3, 5}), 6, 3);
         const auto combine = [&](Binary::Kind kind, TensorId a, TensorId b) {
           return g.node(Binary{kind}, {a, b}, {1, 6, 3, 5});
         };
         g.output(combine(Binary::Kind::subtract, x, y));
         g.output(combine(Binary::Kind::multiply, x, g.random({1, 6, 1, 1})));
         g.output(combine(Binary::Kind::divide, x, g.constant({}, {4})));
         g.output(combine(Binary::Kind::add, g.random({5}), y));
         g.output(g.relu(
             combine(Binary::Kind::multiply, g.node(Reduce{Reduce::Kind::mean, 6, 15, 1}, {x}, {1, 6, 1, 1}), y)));
         g.output(combine(Binary::Kind::add, x, x));
         g.output(g.node(Binary{Binary::Kind::multiply}, {g.input({3, 1}), g.input({1, 4})}, {3, 4}));
       }},
      {"concat_of_convolutions",
       [](TestGraph& g) {
         const auto x = g.input({2, 3, 5, 5});
         const auto both = g.concat({conv(g, x, 8, 1), conv(g, x, 16, 3), conv(g, x, 8, 5)});
         g.output(conv(g, both, 8, 1));
         g.output(both);
       }},
      {"concat_of_odd_parts",
       [](TestGraph& g) {
         const auto x = g.input({1, 3, 4, 4});
         g.output(g.concat({conv(g, x, 5, 1), x, g.random({1, 2, 4, 4}), conv(g, x, 6, 3)}));
       }},
      {"concat_of_the_same_twice",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 4, 3, 3}), 8, 1);
         const auto twice = g.concat({x, x});
         g.output(g.concat({twice, x, g.relu(twice)}));
       }},
      {"concat_other_axes",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 4, 3, 3}), 6, 1), y = g.relu(x);
         g.output(g.node(Concat{2}, {x, y}, {1, 6, 6, 3}));
         g.output(g.node(Concat{0}, {y, x, x}, {3, 6, 3, 3}));
         g.output(g.node(Concat{1}, {g.input({2, 3}), g.input({2, 5})}, {2, 8}));
       }},
      {"densenet",
       [](TestGraph& g) {
         std::vector<TensorId> features{conv(g, g.input({1, 3, 6, 6}), 16, 3)};
         for (int i = 0; i < 4; ++i) {
           const auto all = features.size() > 1 ? g.concat(features) : features[0];
           const auto channels = g.graph.tensors[all].shape[1];
           const auto normal = g.relu(
               g.node(ScaleShift{}, {all, g.random({channels}), g.random({channels})}, g.graph.tensors[all].shape));
           features.push_back(conv(g, g.relu(conv(g, normal, 16, 1)), 8, 3));
         }
         const auto last = g.concat(features);
         g.output(g.node(Reduce{Reduce::Kind::mean, 48, 36, 1}, {last}, {1, 48, 1, 1}));
       }},
      {"squeeze_and_excite",
       [](TestGraph& g) {
         const auto x = g.relu(conv(g, g.input({1, 3, 8, 8}), 24, 3, 2));
         const auto mean = g.node(Reduce{Reduce::Kind::mean, 24, 16, 1}, {x}, {1, 24, 1, 1});
         const auto gate =
             activated(g, conv(g, g.relu(conv(g, mean, 6, 1)), 24, 1), {Kind::hard_sigmoid, 1.0F / 6, 0.5F});
         g.output(conv(g, g.node(Binary{Binary::Kind::multiply}, {x, gate}, {1, 24, 4, 4}), 16, 1));
       }},
      {"shuffle",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 3, 6, 6}), 20, 1);
         const auto left = slice(g, x, 0, 10), right = slice(g, x, 10, 10);
         const auto worked = g.relu(conv(g, conv(g, right, 10, 3, 1, 10), 10, 1));
         const auto mixed = shuffle(g, g.concat({left, worked}), 2);
         g.output(conv(g, mixed, 8, 1));
         g.output(mixed);
       }},
      {"classifier",
       [](TestGraph& g) {
         auto x = g.relu(conv(g, g.input({1, 3, 8, 8}), 16, 3, 2));
         x = reshape(g, g.node(Reduce{Reduce::Kind::mean, 16, 16, 1}, {x}, {1, 16, 1, 1}), {1, 16});
         x = g.node(Gemm{false, true, 1, 1}, {x, g.random({10, 16}), g.random({10})}, {1, 10});
         g.output(g.node(Softmax{1, 10, 1}, {x}, {1, 10}));
       }},
      {"flatten_of_an_image",
       [](TestGraph& g) {
         const auto x = reshape(g, conv(g, g.input({2, 3, 4, 5}), 6, 1), {2, 120});
         g.output(g.node(Gemm{false, true, 1, 1}, {x, g.random({7, 120}), g.random({7})}, {2, 7}));
       }},
      {"reshapes",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 4, 4, 6}), 12, 1);
         g.output(reshape(g, x, {1, 3, 4, 24}));
         g.output(reshape(g, x, {288}));
         g.output(conv(g, reshape(g, x, {2, 6, 6, 4}), 4, 3));
         g.output(conv(g, reshape(g, g.input({96}), {1, 6, 4, 4}), 4, 1));
         g.output(reshape(g, g.random({2, 3}), {3, 2}));
       }},
      {"yolo_head",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 3, 6, 6}), 21, 1);
         const auto split = reshape(g, x, {1, 3, 7, 6, 6});
         g.output(g.node(View{0, {756, 252, 6, 1, 36}}, {split}, {1, 3, 6, 6, 7}));
       }},
      {"views",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 4, 4, 6}), 6, 1);
         g.output(g.node(View{0, {144, 1, 24, 6}}, {x}, {1, 6, 6, 4}));            // the same in NHWC
         g.output(g.node(View{3 * 24 + 5, {144, 24, 12, -2}}, {x}, {1, 3, 2, 3})); // with steps, and backwards
         g.output(g.node(View{0, {0, 24, 6, 0}}, {x}, {2, 6, 4, 3}));              // expanded
         /// The strides carry over from row to row.
         g.output(g.node(View{1, {7}}, {x}, {20}));
         /// Channels and rows are exchanged.
         g.output(conv(g, g.node(View{0, {144, 6, 24, 1}}, {x}, {1, 4, 6, 6}), 8, 3));
       }},
      {"gathers",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 4, 4, 6}), 6, 1);
         g.output(g.node(GatherConstant{1, {5, 0, 0, 2}}, {x}, {1, 4, 4, 6}));
         g.output(g.node(GatherConstant{3, {1, 3}}, {x}, {1, 6, 4, 2}));
         g.output(g.node(GatherConstant{0, {2, 0}}, {g.input({3, 5})}, {2, 5}));
       }},
      {"pads",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 4, 3, 4}), 6, 1);
         g.output(g.node(Pad{{0, 0, 1, 2}, -1}, {x}, {1, 6, 6, 8}));
         g.output(g.node(Pad{{0, 1, 0, 0}, 0}, {x}, {1, 8, 3, 4}));
         g.output(g.node(Pad{{2}, 0.5F}, {g.input({3})}, {7}));
       }},
      {"resizes",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 4, 3, 4}), 6, 1);
         const auto up = g.node(Resize{{{0, 0, 0}, {0, 0, 0}, {1, 1, 0}, {1, 1, 0}, {2, 2, 0}, {2, 2, 0}},
                                       {{0, 1, 0.25F}, {1, 2, 0.75F}, {3, 3, 0}}},
                                {x}, {1, 6, 6, 3});
         g.output(up);
         g.output(conv(g, g.concat({up, g.relu(up)}), 4, 1));
       }},
      {"recurrent_layers",
       [](TestGraph& g) {
         const auto x = reshape(g, g.relu(g.input({10, 6})), {5, 2, 6});
         const auto first = fused_lstm(g, x, {8});
         g.output(g.relu(first));
         const auto last = g.node(View{4 * 14, {14, 7, 1}}, {fused_lstm(g, first, {12, 7})}, {1, 2, 7});
         g.output(g.node(Gemm{}, {reshape(g, last, {2, 7}), g.random({7, 3})}, {2, 3}));
       }},
      {"outputs_of_all_kinds",
       [](TestGraph& g) {
         const auto x = g.input({1, 3, 2, 2});
         g.output(x);
         g.output(g.random({3}));
         const auto y = conv(g, x, 4, 1);
         g.output(y);
         g.output(y);
         g.output(g.relu(y));
       }},
      {"overwritten_inputs",
       [](TestGraph& g) {
         const auto x = conv(g, g.input({1, 4, 3, 3}), 8, 1);
         const auto flat = reshape(g, x, {72});
         const auto y = activated(g, x, {Kind::clip, -1, 1});
         const auto z = activated(g, y, {Kind::exp, 0, 0});
         g.output(g.add(z, g.relu(z)));
         g.output(flat);
       }},
  };
  return cases;
}

} // namespace rtexec::tasks
