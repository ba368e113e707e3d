// Tests element-wise operators, matrix products, normalisations and means against the oracle.
#include "test/tasks/onnx_oracle/agreement.hpp"

#include <cmath>

namespace rtexec::test {
namespace {

Cases activation_cases() {
  struct Kind {
    std::string name, type;
    Attributes attributes;
    Range range;
    int opset;
  };
  const Kind kinds[] = {{"Relu", "Relu", {}, {-3, 3}, 11},
                        {"Relu17", "Relu", {}, {-3, 3}, 17},
                        {"Relu21", "Relu", {}, {-3, 3}, 21},
                        {"HardSwish22", "HardSwish", {}, {-5, 5}, 22},
                        {"HardSigmoid22", "HardSigmoid", {}, {-5, 5}, 22},
                        {"Dropout22", "Dropout", {}, {-3, 3}, 22},
                        {"Identity23", "Identity", {}, {-3, 3}, 23},
                        {"LeakyRelu", "LeakyRelu", {}, {-3, 3}, 11},
                        {"LeakyRelu_alpha", "LeakyRelu", {{"alpha", 0.1F}}, {-3, 3}, 13},
                        {"LeakyRelu_steep", "LeakyRelu", {{"alpha", 1.7F}}, {-3, 3}, 16},
                        {"LeakyRelu_negative", "LeakyRelu", {{"alpha", -0.5F}}, {-3, 3}, 13},
                        {"Sigmoid", "Sigmoid", {}, {-6, 6}, 13},
                        {"Sigmoid_far", "Sigmoid", {}, {-120, 120}, 13},
                        {"HardSigmoid", "HardSigmoid", {}, {-5, 5}, 13},
                        {"HardSigmoid_sixth", "HardSigmoid", {{"alpha", 1.0F / 6}}, {-5, 5}, 14},
                        {"HardSigmoid_both", "HardSigmoid", {{"alpha", 0.7F}, {"beta", -0.1F}}, {-5, 5}, 11},
                        {"HardSwish", "HardSwish", {}, {-5, 5}, 14},
                        {"HardSwish17", "HardSwish", {}, {-5, 5}, 17},
                        {"Exp", "Exp", {}, {-9, 4}, 13},
                        {"Exp_small", "Exp", {}, {-100, -80}, 13},
                        {"Exp_large", "Exp", {}, {60, 88}, 13},
                        {"Tanh", "Tanh", {}, {-4, 4}, 13},
                        {"Tanh_small", "Tanh", {}, {-1e-3, 1e-3}, 13},
                        {"Tanh_far", "Tanh", {}, {-100, 100}, 13},
                        {"Sqrt", "Sqrt", {}, {0, 9}, 13},
                        {"Identity", "Identity", {}, {-3, 3}, 13},
                        {"Dropout", "Dropout", {}, {-3, 3}, 13}};
  Cases cases;
  for (const Kind& kind : kinds)
    for (const Ints& shape :
         {Ints{1, 3, 7, 5}, Ints{2, 16, 8, 9}, Ints{1}, Ints{3, 11}, Ints{1, 1031}, Ints{2, 3, 2, 3, 2}})
      cases.push_back({kind.name + "_" + to_text(shape), [=] {
                         Model model(3, kind.opset);
                         model.output(model.node(kind.type, {model.input(shape, kind.range)}, kind.attributes));
                         return model;
                       }});
  cases.push_back({"Relu_scalar", [] {
                     Model model;
                     model.output(model.node("Relu", {model.input({}, {1, 2})}));
                     return model;
                   }});
  return cases;
}

Cases clip_cases() {
  Cases cases;
  for (const int opset : {11, 12, 13, 17, 20})
    for (const bool low : {false, true})
      for (const bool high : {false, true})
        for (const bool named : {false, true}) // an absent input may be named "" or left out
          cases.push_back(
              {"opset" + std::to_string(opset) + (low ? "_min" : "") + (high ? "_max" : "") + (named ? "_named" : ""),
               [=] {
                 Model model(5, opset);
                 std::vector<std::string> from{model.input({1, 4, 5, 6}, {-9, 9})};
                 if (low || high || named) from.push_back(low ? model.floats({}, {-0.75F}) : "");
                 if (high || named) from.push_back(high ? model.floats({}, {6}) : "");
                 model.output(model.node("Clip", from));
                 return model;
               }});
  return cases;
}

Cases dropout_cases() {
  Cases cases;
  cases.push_back({"RatioAttribute", [] {
                     Model model(1, 11);
                     model.output(model.node("Dropout", {model.input({2, 9})}, {{"ratio", 0.3F}}));
                     return model;
                   }});
  cases.push_back({"RatioInput", [] {
                     Model model(1, 13);
                     const std::string x = model.input({2, 9});
                     model.output(model.node("Dropout", {x, model.floats({}, {0.3F})}));
                     return model;
                   }});
  cases.push_back({"WithMask", [] {
                     Model model(1, 13);
                     const std::string y = model.node("Dropout", {model.input({2, 9})});
                     model.unread_output();
                     model.output(model.node("Relu", {y}));
                     return model;
                   }});
  return cases;
}

Cases binary_cases() {
  const std::pair<Ints, Ints> shapes[] = {{{1, 3, 5, 7}, {1, 3, 5, 7}},
                                          {{2, 16, 8, 8}, {2, 16, 8, 8}},
                                          {{1, 3, 5, 7}, {1, 3, 1, 1}},
                                          {{1, 3, 1, 1}, {1, 3, 5, 7}},
                                          {{1, 3, 5, 7}, {3, 1, 1}},
                                          {{1, 3, 5, 7}, {7}},
                                          {{1, 3, 5, 7}, {5, 1}},
                                          {{1, 3, 5, 7}, {}},
                                          {{}, {1, 3, 5, 7}},
                                          {{1, 3, 5, 7}, {1}},
                                          {{2, 3, 5, 7}, {1, 3, 5, 7}},
                                          {{2, 1, 5, 1}, {1, 3, 1, 7}},
                                          {{1, 3, 5, 1}, {1, 3, 1, 7}},
                                          {{4, 1}, {1, 9}},
                                          {{33}, {33}},
                                          {{5, 1, 4, 1, 3}, {2, 1, 6, 1}},
                                          {{1, 64, 13, 13}, {1, 64, 1, 1}},
                                          {{1, 1, 9, 9}, {1, 8, 9, 9}}};
  Cases cases;
  for (const std::string type : {"Add", "Sub", "Mul", "Div"})
    for (const auto& [a, b] : shapes)
      for (const std::string constant : {"neither", "left", "right"})
        cases.push_back({type + "_" + to_text(a) + "_with_" + to_text(b) + "_constant_" + constant, [=, a = a, b = b] {
                           Model model(11, 13);
                           const Range range{0.5, 2}; // avoids a division by zero
                           const std::string left =
                               constant == "left" ? model.constant(a, range) : model.input(a, range);
                           const std::string right =
                               constant == "right" ? model.constant(b, range) : model.input(b, range);
                           model.output(model.node(type, {left, right}));
                           return model;
                         }});
  for (const std::string type : {"Add", "Sub", "Mul", "Div"})
    cases.push_back({type + "_with_itself", [=] {
                       Model model(11, 14);
                       const std::string x = model.input({1, 3, 4, 5}, {0.5, 2});
                       model.output(model.node(type, {x, x}));
                       return model;
                     }});
  return cases;
}

Cases gemm_cases() {
  Cases cases;
  const Index sizes[][3] = {{1, 10, 7}, {1, 1000, 512}, {4, 33, 65},  {16, 16, 16},
                            {7, 1, 9},  {1, 1, 1},      {5, 8, 5000}, {3, 17, 1}};
  for (const auto& [rows, columns, inner] : sizes)
    for (const bool a_turned : {false, true})
      for (const bool b_turned : {false, true})
        for (const bool constant : {true, false})
          cases.push_back({to_text({rows, columns, inner}) + (a_turned ? "_transA" : "") + (b_turned ? "_transB" : "") +
                               (constant ? "" : "_variable"),
                           [=, m = rows, n = columns, k = inner] {
                             Model model(13, 13);
                             const Ints shape = b_turned ? Ints{n, k} : Ints{k, n};
                             const std::string a = model.input(a_turned ? Ints{k, m} : Ints{m, k});
                             const std::string b = constant ? model.constant(shape) : model.input(shape);
                             Attributes attributes;
                             if (a_turned) attributes["transA"] = Index{1};
                             if (b_turned) attributes["transB"] = Index{1};
                             model.output(model.node("Gemm", {a, b, model.constant({n})}, attributes));
                             return model;
                           },
                           inner > 4096 ? many_terms : one_operator});
  const Ints biases[] = {{6, 11}, {1, 11}, {11}, {6, 1}, {1, 1}, {1}, {}};
  for (const Ints& bias : biases)
    for (const float beta : {1.0F, -0.5F, 0.0F})
      for (const bool constant : {true, false})
        cases.push_back({"C" + to_text(bias) + "_rank" + std::to_string(bias.size()) + "_beta" +
                             std::to_string(static_cast<int>(beta * 10) + 10) + (constant ? "" : "_variable"),
                         [=] {
                           Model model(17, 11);
                           const std::string a = model.input({6, 5}), b = model.constant({5, 11});
                           const std::string c = constant ? model.constant(bias) : model.input(bias);
                           model.output(model.node("Gemm", {a, b, c}, {{"alpha", 0.7F}, {"beta", beta}}));
                           return model;
                         }});
  for (const float alpha : {1.0F, 0.0F, -2.5F})
    cases.push_back({"NoC_alpha" + std::to_string(static_cast<int>(alpha * 10) + 50), [=] {
                       Model model(19, 12);
                       const std::string a = model.input({6, 5}), b = model.constant({11, 5});
                       model.output(model.node("Gemm", {a, b}, {{"alpha", alpha}, {"transB", Index{1}}}));
                       return model;
                     }});
  for (const auto& [rows, columns, inner] : sizes)
    for (const bool constant : {true, false})
      cases.push_back(
          {"MatMul_" + to_text({rows, columns, inner}) + (constant ? "" : "_variable"),
           [=, m = rows, n = columns, k = inner] {
             Model model(23, 13);
             const std::string a = model.input({m, k});
             model.output(model.node("MatMul", {a, constant ? model.constant({k, n}) : model.input({k, n})}));
             return model;
           },
           inner > 4096 ? many_terms : one_operator});
  cases.push_back({"MatMul_constant_left", [] {
                     Model model(23, 13);
                     const std::string a = model.constant({9, 12});
                     model.output(model.node("MatMul", {a, model.input({12, 10})}));
                     return model;
                   }});
  cases.push_back(
      {"MatMul_plus_bias", [] {
         Model model(23, 13);
         const std::string x = model.input({3, 12}), y = model.node("MatMul", {x, model.constant({12, 10})});
         model.output(model.node("Relu", {model.node("Add", {y, model.constant({10})})}));
         return model;
       }});
  return cases;
}

std::string axis_name(Index axis) { return axis < 0 ? "minus" + std::to_string(-axis) : std::to_string(axis); }

Cases softmax_cases() {
  Cases cases;
  const Ints shapes[] = {{1, 1000}, {3, 7}, {2, 3, 4}, {2, 5, 3, 4}, {1, 85, 13, 13}, {9}};
  for (const int opset : {11, 12, 13, 17, 20})
    for (const Ints& shape : shapes) {
      const auto rank = static_cast<Index>(shape.size());
      for (Index axis = -rank; axis <= rank; ++axis) {
        const bool given = axis < rank; // the last round omits the axis
        if (!given && opset < 13 && rank == 1) continue;
        cases.push_back(
            {"opset" + std::to_string(opset) + "_" + to_text(shape) + "_axis_" + (given ? axis_name(axis) : "default"),
             [=] {
               Model model(29, opset);
               Attributes attributes;
               if (given) attributes["axis"] = axis;
               model.output(model.node("Softmax", {model.input(shape, {-8, 8})}, attributes));
               return model;
             }});
      }
    }
  cases.push_back({"FarApart", [] {
                     Model model;
                     model.output(model.node("Softmax", {model.input({4, 50}, {-3e4, 3e4})}));
                     return model;
                   }});
  return cases;
}

Cases mean_cases() {
  Cases cases;
  const Ints axes[] = {{2, 3}, {-1}, {0}, {1}, {2}, {-2, -1}, {1, 2, 3}, {0, 1, 2, 3}, {1, 3}, {0, 2}, {-1, 2}};
  for (const Ints& list : axes)
    for (const Index keep : {0, 1})
      for (const int opset : {11, 13, 17, 18, 20, 23}) {
        std::string name = "axes";
        for (const Index axis : list) name += "_" + axis_name(axis);
        cases.push_back({name + (keep == 1 ? "_kept" : "_dropped") + "_opset" + std::to_string(opset), [=] {
                           Model model(31, opset);
                           const std::string x = model.input({2, 5, 7, 9});
                           model.output(
                               opset < 18 ? model.node("ReduceMean", {x}, {{"axes", list}, {"keepdims", keep}})
                                          : model.node("ReduceMean", {x, model.integers(list)}, {{"keepdims", keep}}));
                           return model;
                         }});
      }
  for (const Index keep : {0, 1}) // from opset 18 on, an attribute determines the meaning of no axis
    for (const Index noop : {0, 1})
      for (const bool given : {false, true})
        cases.push_back(
            {std::string(given ? "empty" : "absent") + (keep == 1 ? "_kept" : "_dropped") + (noop == 1 ? "_noop" : ""),
             [=] {
               Model model(31, 18);
               std::vector<std::string> from{model.input({2, 5, 7, 9})};
               if (given) from.push_back(model.integers({}));
               model.output(model.node("ReduceMean", from, {{"keepdims", keep}, {"noop_with_empty_axes", noop}}));
               return model;
             }});
  for (const Index keep : {0, 1})
    cases.push_back(
        {"all" + std::to_string(keep), [=] {
           Model model(31, 13);
           model.output(model.node("ReduceMean", {model.input({2, 5, 7, 9}, {0, 1})}, {{"keepdims", keep}}));
           return model;
         }});
  cases.push_back(
      {"large",
       [=] {
         Model model(31, 13);
         model.output(model.node("ReduceMean", {model.input({1, 4, 150, 150}, {0, 1})}, {{"axes", Ints{2, 3}}}));
         return model;
       },
       many_terms});
  return cases;
}

std::string batch_normalization(Model& model, const std::string& x, Attributes attributes = {}) {
  const Ints channels{model.value(x).extent(1)};
  return model.node("BatchNormalization",
                    {x, model.constant(channels, {-1.5, 1.5}), model.constant(channels), model.constant(channels),
                     model.constant(channels, {0.2, 2})},
                    attributes);
}

Cases normalization_cases() {
  Cases cases;
  for (const int opset : {11, 13, 14, 15, 17, 20})
    for (const Ints& shape : {Ints{1, 3, 5, 7}, Ints{2, 17, 8, 8}, Ints{4, 9}, Ints{2, 3, 11}})
      for (const float epsilon : {1e-5F, 0.1F})
        cases.push_back(
            {"opset" + std::to_string(opset) + "_" + to_text(shape) + (epsilon > 0.01F ? "_epsilon" : ""), [=] {
               Model model(37, opset);
               model.output(batch_normalization(model, model.input(shape), {{"epsilon", epsilon}}));
               return model;
             }});
  for (const Index groups : {1, 2, 8})
    for (const bool bias : {false, true})
      for (const std::string then : {"", "Relu", "LeakyRelu", "Sigmoid", "HardSwish"})
        cases.push_back({"after_conv_groups" + std::to_string(groups) + (bias ? "_bias" : "") + "_" + then, [=] {
                           Model model(41, 14);
                           std::vector<std::string> from{model.input({1, 8, 9, 10}),
                                                         model.constant({16, 8 / groups, 3, 3}, {-0.3, 0.3})};
                           if (bias) from.push_back(model.constant({16}));
                           std::string y = model.node("Conv", from, {{"group", groups}, {"pads", Ints{1, 1, 1, 1}}});
                           y = batch_normalization(model, y);
                           if (!then.empty()) y = model.node(then, {y});
                           model.output(y);
                           return model;
                         }});
  cases.push_back({"before_conv", [] { // as in DenseNet: padding stays zero
                     Model model(43, 14);
                     const std::string x = model.node("Relu", {batch_normalization(model, model.input({1, 8, 9, 10}))});
                     model.output(model.node("Conv", {x, model.constant({16, 8, 3, 3}, {-0.3, 0.3})},
                                             {{"pads", Ints{1, 1, 1, 1}}}));
                     return model;
                   }});
  cases.push_back(
      {"twice_after_conv", [] {
         Model model(43, 14);
         const std::string x = model.node("Conv", {model.input({1, 8, 9, 10}), model.constant({16, 8, 1, 1})});
         model.output(batch_normalization(model, batch_normalization(model, x)));
         return model;
       }});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Activation, OnnxOperator, testing::ValuesIn(covering(activation_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Clip, OnnxOperator, testing::ValuesIn(covering(clip_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Dropout, OnnxOperator, testing::ValuesIn(covering(dropout_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Binary, OnnxOperator, testing::ValuesIn(covering(binary_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Gemm, OnnxOperator, testing::ValuesIn(covering(gemm_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Softmax, OnnxOperator, testing::ValuesIn(covering(softmax_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(ReduceMean, OnnxOperator, testing::ValuesIn(covering(mean_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(BatchNormalization, OnnxOperator, testing::ValuesIn(covering(normalization_cases())), name_of);

} // namespace
} // namespace rtexec::test
