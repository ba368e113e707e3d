// Tests networks of quantized layers against the oracle, with the nodes that quantizers write around convolutions and
// products. Scales are powers of two, so that only the rounding of the networks themselves occurs.
#include "test/tasks/onnx_oracle/cases.hpp"

namespace rtexec::test {
namespace {

/// An 8-bit type with a zero point that is neither in the middle nor at a limit.
struct Numbers {
  Kind kind = Kind::uint8;
  Index zero = 121;
};
const std::vector<Numbers> numbers{{Kind::uint8, 121}, {Kind::uint8, 0}, {Kind::int8, -3}, {Kind::int8, 0}};
std::string name_of_numbers(const Numbers& n) {
  return (n.kind == Kind::uint8 ? "uint8" : "int8") + list_name({n.zero});
}

/// Returns an input that half precision represents exactly. Some values are between two levels.
std::string input_of(Model& m, const Ints& shape) {
  auto x = whole_floats(shape, -384, 384, seed_of(shape_name(shape)));
  for (double& value : x.values) value /= 128;
  return m.input(x);
}

struct Quantiser {
  std::string scale, zero;
};
Quantiser quantiser(Model& m, float scale, const Numbers& n) {
  return {m.floats({}, {scale}), m.constant(integers_of({}, {n.zero}, n.kind))};
}
std::string quantised(Model& m, const std::string& x, float scale, const Numbers& n) {
  const auto by = quantiser(m, scale, n);
  return m.node("QuantizeLinear", {x, by.scale, by.zero});
}
std::string through(Model& m, const std::string& x, float scale, const Numbers& n) {
  const auto by = quantiser(m, scale, n);
  return m.node("DequantizeLinear", {m.node("QuantizeLinear", {x, by.scale, by.zero}), by.scale, by.zero});
}

std::string scales(Model& m, Index count) {
  Floats all;
  for (Index i = 0; i < count; ++i) all.push_back(i % 3 == 0 ? 0x1p-7F : 0x1p-8F);
  return m.floats({count}, all);
}
std::string weights(Model& m, const Ints& shape, Index axis = 0) {
  const Index count = shape[static_cast<std::size_t>(axis)];
  return m.node("DequantizeLinear",
                {m.integer_constant(shape, {-127, 127}, Kind::int8), scales(m, count),
                 m.constant(integers_of({count}, Ints(static_cast<std::size_t>(count), 0), Kind::int8))},
                {{"axis", axis}});
}
/// Returns weights with one scale and a zero point that makes them smaller than their stored values.
std::string shifted_weights(Model& m, const Ints& shape) {
  return m.node("DequantizeLinear", {m.integer_constant(shape, {10, 250}, Kind::uint8), m.floats({}, {0x1p-8F}),
                                     m.constant(integers_of({}, {130}, Kind::uint8))});
}
std::string bias(Model& m, Index count) {
  return m.node("DequantizeLinear",
                {m.integer_constant({count}, {-3000, 3000}, Kind::int32), m.floats({}, {0x1p-12F})});
}

constexpr float fine = 0x1p-5F, coarse = 0x1p-3F;

struct Layer {
  std::string name;
  Ints input, weights;
  Attributes attributes;
};
const std::vector<Layer> layers{
    {"3x3", {1, 5, 9, 8}, {7, 5, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
    {"strided", {2, 16, 9, 8}, {20, 16, 3, 3}, {{"pads", Ints{0, 1, 2, 1}}, {"strides", Ints{2, 1}}}},
    {"dilated", {1, 4, 9, 9}, {8, 4, 3, 3}, {{"pads", Ints{2, 2, 2, 2}}, {"dilations", Ints{2, 2}}}},
    {"1x1", {1, 33, 6, 7}, {34, 33, 1, 1}, {}},
    {"groups", {1, 32, 5, 6}, {24, 16, 3, 3}, {{"group", Index{2}}, {"pads", Ints{1, 1, 1, 1}}}},
    {"thin_groups", {1, 6, 5, 6}, {9, 2, 2, 3}, {{"group", Index{3}}, {"pads", Ints{1, 0, 0, 1}}}},
    {"depthwise", {1, 24, 7, 6}, {24, 1, 3, 3}, {{"group", Index{24}}, {"pads", Ints{1, 1, 1, 1}}}},
    {"pixel", {1, 48, 1, 1}, {40, 48, 1, 1}, {}}};

std::string conv(Model& m, const std::string& x, const Layer& layer, const std::string& by) {
  return m.node("Conv", {x, by, bias(m, layer.weights[0])}, layer.attributes);
}

Cases conv_cases() {
  Cases cases;
  for (const Layer& l : layers)
    for (const Numbers& n : numbers) {
      const auto name = [&](const std::string& what) {
        return "Conv_" + l.name + "_" + name_of_numbers(n) + "_" + what;
      };
      cases.push_back(make_case(name("to_floats"), 13, [=](Model& m) {
        return conv(m, through(m, input_of(m, l.input), fine, n), l, weights(m, l.weights));
      }));
      cases.push_back(make_case(name("quantised"), 13, [=](Model& m) {
        const auto x = through(m, input_of(m, l.input), fine, n);
        return quantised(m, conv(m, x, l, shifted_weights(m, l.weights)), coarse, {Kind::int8, -3});
      }));
      cases.push_back(make_case(name("relu"), 13, [=](Model& m) {
        const auto x = through(m, input_of(m, l.input), fine, n);
        return through(m, m.node("Relu", {conv(m, x, l, weights(m, l.weights))}), coarse, {Kind::uint8, 0});
      }));
      cases.push_back(make_case(name("clip"), 13, [=](Model& m) {
        const auto x = through(m, input_of(m, l.input), fine, n);
        const auto y = conv(m, x, l, weights(m, l.weights));
        return through(m, m.node("Clip", {y, m.floats({}, {-1}), m.floats({}, {6})}), fine, n);
      }));
    }
  return cases;
}

/// Returns cases of two layers or more. Intermediate tensors stay bytes if possible.
Cases chain_cases() {
  Cases cases;
  const auto first = layers[0];
  for (const Numbers& n : numbers) {
    const auto add = [&](const std::string& what, auto make) {
      cases.push_back(make_case("Chain_" + what + "_" + name_of_numbers(n), 13, make));
    };
    const auto begin = [=](Model& m) {
      const auto x = through(m, input_of(m, {1, 5, 9, 8}), fine, n);
      return through(m, conv(m, x, first, weights(m, first.weights)), coarse, n);
    };
    const Layer second{"", {}, {12, 7, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
    add("of_two", [=](Model& m) { return conv(m, begin(m), second, weights(m, second.weights)); });
    add("relu_between", [=](Model& m) {
      const auto x = through(m, m.node("Relu", {begin(m)}), coarse, n);
      return conv(m, x, second, weights(m, second.weights));
    });
    add("swish", [=](Model& m) {
      const auto x = begin(m);
      const auto y = m.node("Mul", {x, m.node("Sigmoid", {x})});
      return conv(m, m.node("Clip", {y, m.floats({}, {-4}), m.floats({}, {4})}), second, weights(m, second.weights));
    });
    add("pool_between", [=](Model& m) {
      const auto x = m.node("MaxPool", {begin(m)}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}});
      return conv(m, through(m, x, coarse, n), second, weights(m, second.weights));
    });
    add("sum", [=](Model& m) {
      const auto x = begin(m);
      const Layer again{"", {}, {7, 7, 1, 1}, {}};
      const auto y = through(m, conv(m, x, again, weights(m, again.weights)), coarse, {Kind::int8, 5});
      const auto sum = through(m, m.node("Relu", {m.node("Add", {x, y})}), coarse, n);
      return conv(m, sum, second, weights(m, second.weights));
    });
    add("residual", [=](Model& m) {
      const auto x = begin(m);
      const Layer again{"", {}, {7, 7, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
      const auto y = m.node("Add", {conv(m, x, again, weights(m, again.weights)), x});
      return through(m, m.node("Relu", {y}), coarse, n);
    });
    add("residual_of_floats", [=](Model& m) {
      const Layer again{"", {}, {7, 7, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
      const auto y = conv(m, begin(m), again, weights(m, again.weights));
      return through(m, m.node("Add", {input_of(m, {1, 7, 9, 8}), y}), coarse, n);
    });
    add("concatenation", [=](Model& m) {
      const auto x = begin(m);
      const auto both = m.node("Concat", {x, m.node("Relu", {x})}, {{"axis", Index{1}}});
      const Layer wide{"", {}, {6, 14, 1, 1}, {}};
      return conv(m, through(m, both, coarse, n), wide, weights(m, wide.weights));
    });
    add("read_twice", [=](Model& m) {
      const auto x = begin(m);
      return Names{conv(m, x, second, weights(m, second.weights)), m.node("Sigmoid", {x})};
    });
    add("normalised", [=](Model& m) { // its weights are no longer integers
      const auto y = conv(m, begin(m), second, weights(m, second.weights));
      return m.node("BatchNormalization",
                    {y, m.constant({12}, {0.5, 2}), m.constant({12}), m.constant({12}), m.constant({12}, {0.5, 2})});
    });
    add("of_integers", [=](Model& m) {
      const Quantiser by = quantiser(m, fine, n), to = quantiser(m, coarse, n);
      const auto x = m.node("QuantizeLinear", {input_of(m, {1, 5, 9, 8}), by.scale, by.zero});
      const auto layer = [&](const std::string& from, const Quantiser& of, const Ints& shape) {
        return m.node("QLinearConv",
                      {from, of.scale, of.zero, m.integer_constant(shape, {-127, 127}, Kind::int8), scales(m, shape[0]),
                       m.constant(integers_of({shape[0]}, Ints(static_cast<std::size_t>(shape[0]), 0), Kind::int8)),
                       to.scale, to.zero, m.integer_constant({shape[0]}, {-3000, 3000}, Kind::int32)},
                      {{"pads", Ints{1, 1, 1, 1}}});
      };
      return layer(layer(x, by, {7, 5, 3, 3}), to, {12, 7, 3, 3});
    });
  }
  return cases;
}

Cases product_cases() {
  Cases cases;
  for (const Numbers& n : numbers) {
    const auto add = [&](const std::string& what, auto make) {
      cases.push_back(make_case(what + "_" + name_of_numbers(n), 13, make));
    };
    for (const Ints& shape : {Ints{1, 70}, Ints{9, 70}, Ints{2, 9, 70}}) {
      const auto matrix = [=](Model& m) { return through(m, input_of(m, shape), fine, n); };
      add("MatMul_" + shape_name(shape), [=](Model& m) {
        return m.node("MatMul", {matrix(m), weights(m, {70, 21}, 1)});
      });
      add("MatMul_quantised_" + shape_name(shape), [=](Model& m) {
        return quantised(m, m.node("Add", {m.node("MatMul", {matrix(m), weights(m, {70, 32}, 1)}), bias(m, 32)}),
                         coarse, n);
      });
    }
    for (const Index transposed : {0, 1})
      add("Gemm_" + std::to_string(transposed), [=](Model& m) {
        const auto x = through(m, input_of(m, {5, 70}), fine, n);
        const auto b = transposed ? weights(m, {21, 70}, 0) : weights(m, {70, 21}, 1);
        const auto y = m.node("Gemm", {x, b, bias(m, 21)}, {{"transB", transposed}, {"alpha", 0.5F}, {"beta", 2.0F}});
        return through(m, m.node("Relu", {y}), coarse, n);
      });
    add("MatMul_of_columns", [=](Model& m) { // scales per row, which no column shares
      return m.node("MatMul", {through(m, input_of(m, {5, 70}), fine, n), weights(m, {70, 21}, 0)});
    });
    add("Layers", [=](Model& m) {
      const auto x = through(m, input_of(m, {5, 70}), fine, n);
      const auto y = through(m, m.node("MatMul", {x, weights(m, {70, 33}, 1)}), coarse, n);
      return m.node("MatMul", {y, weights(m, {33, 10}, 1)});
    });
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(QuantisedConv, OnnxOperator, testing::ValuesIn(covering(conv_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(QuantisedChain, OnnxOperator, testing::ValuesIn(covering(chain_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(QuantisedProduct, OnnxOperator, testing::ValuesIn(covering(product_cases())), name_of);

} // namespace
} // namespace rtexec::test
