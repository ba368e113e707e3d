// Tests operations fused with a preceding sum of products: bias, residual and activation, for each kernel that computes
// the products.
#include "test/tasks/onnx_oracle/agreement.hpp"

#include <cmath>

namespace rtexec::test {
namespace {

using Names = std::vector<std::string>;

struct Layer {
  std::string name;
  Ints input;
  Index filters, kernel, stride, groups;
};

std::string conv(Model& m, const std::string& x, const Layer& layer) {
  const Index channels = layer.input[1] / layer.groups;
  const double scale = 1.7 / std::sqrt(static_cast<double>(channels * layer.kernel * layer.kernel));
  const Index pad = layer.kernel / 2;
  return m.node(
      "Conv",
      {x, m.constant({layer.filters, channels, layer.kernel, layer.kernel}, {-scale, scale}),
       m.constant({layer.filters}, {-0.5, 0.5})},
      {{"group", layer.groups}, {"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{layer.stride, layer.stride}}});
}

std::string product(Model& m, const std::string& x, Index columns) {
  const double scale = 1.7 / std::sqrt(static_cast<double>(m.value(x).extent(1)));
  return m.node("Gemm", {x, m.constant({m.value(x).extent(1), columns}, {-scale, scale}), m.constant({columns})});
}

std::string activated(Model& m, const std::string& kind, const std::string& x) {
  if (kind == "None") return x;
  if (kind == "Relu6") return m.node("Clip", {x, m.floats({}, {0}), m.floats({}, {0.6F})});
  if (kind == "Swish") return m.node("Mul", {x, m.node("Sigmoid", {x})});
  return m.node(kind, {x});
}

Cases ending_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, auto products) {
    for (const std::string kind : {"None", "Relu", "Relu6", "HardSwish", "Swish"})
      for (const bool residual : {false, true})
        cases.push_back({name + "_" + kind + (residual ? "_residual" : ""), [=] {
                           Model m(1, 14);
                           std::string y = products(m);
                           if (residual) y = m.node("Add", {y, m.input(m.value(y).shape)});
                           m.output(activated(m, kind, y));
                           return m;
                         }});
  };
  for (const Layer& layer : {
           Layer{"Depthwise", {2, 21, 14, 13}, 21, 3, 1, 21},
           Layer{"DepthwiseStrided", {1, 40, 15, 16}, 40, 5, 2, 40},
           Layer{"DepthwiseInBands", {1, 17, 60, 201}, 17, 7, 2, 17},
           Layer{"FewDepthwise", {2, 3, 14, 37}, 3, 3, 1, 3},
           Layer{"Winograd", {2, 32, 14, 15}, 33, 3, 1, 1},
           Layer{"Strided", {1, 24, 17, 19}, 35, 3, 2, 1},
           Layer{"Pointwise", {2, 19, 12, 13}, 29, 1, 1, 1},
           Layer{"PointwiseOfManyPixels", {1, 24, 20, 21}, 29, 1, 1, 1},
           Layer{"PointwiseOfFewPixels", {2, 40, 7, 7}, 70, 1, 1, 1},
           Layer{"PointwiseOfOnePixel", {1, 40, 1, 1}, 37, 1, 1, 1},
       })
    add(layer.name, [=](Model& m) { return conv(m, m.input(layer.input), layer); });
  for (const Index rows : {1, 5, 33})
    add("Product" + std::to_string(rows), [=](Model& m) { return product(m, m.input({rows, 40}), 45); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Ending, OnnxOperator, testing::ValuesIn(covering(ending_cases())), name_of);

} // namespace
} // namespace rtexec::test
